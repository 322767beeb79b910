import numpy as np
import pytest

from tabtreeformer.config.presets import PRESETS
from tabtreeformer.config.settings import TrainConfig
from tabtreeformer.fitting import draw_masks
from tabtreeformer.tokens import Slot, SlotKind, TokenLayout

N = 4000


def layout(levels=1, n_trees=40, n_numbers=20):
    values = []
    for column in range(n_numbers):
        values += (
            [Slot(SlotKind.BIN, column, 3)]
            + [Slot(SlotKind.QUANTILE, column, 5)] * levels
            + [Slot(SlotKind.CATEGORY, column + 99, 2)]
        )
    return TokenLayout.build([4] * n_trees, values)


def masks(layout, **config):
    return draw_masks(N, layout, TrainConfig(**config), np.random.default_rng(0))


def test_shares_are_drawn_a_row_from_the_ranges_of_the_paper():
    table = layout()
    drawn = masks(table)
    leaves, values = drawn[:, 1:41].mean(axis=1), drawn[:, 41:-1].mean(axis=1)
    # A uniform share u has mean (a+b)/2 and variance (b-a)²/12; k independent tokens add E[u(1-u)]/k.
    for share, low, high, k in ((leaves, 0.5, 0.75, 40), (values, 0.25, 0.5, 60)):
        mean, spread = (low + high) / 2, (high - low) ** 2 / 12
        noise = (mean - mean**2 - spread) / k
        assert share.mean() == pytest.approx(mean, abs=0.01)
        assert share.var() == pytest.approx(spread + noise, rel=0.08)
    assert abs(np.corrcoef(leaves, values)[0, 1]) < 0.05  # two draws a row, not one


def test_begin_and_end_are_never_hidden():
    drawn = masks(layout(), leaf_mask=(1, 1), value_mask=(1, 1))
    assert not drawn[:, [0, -1]].any()
    assert drawn[:, 1:-1].all()


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_hidden_bin_hides_its_quantiles_and_the_number_of_hidden_tokens_stays(levels):
    table = layout(levels)
    (groups,) = table.numeric_groups
    drawn = masks(table)[:, groups]
    assert (drawn[..., 1:] >= drawn[..., :-1]).all()
    assert drawn[..., 0].any()
    assert drawn.mean() == pytest.approx(0.375, abs=0.01)


def test_the_model_without_masks_hides_nothing():
    assert not draw_masks(N, layout(), PRESETS["NM"].train, np.random.default_rng(0)).any()


def test_tables_of_categories_only_can_be_masked():
    table = TokenLayout.build([], [Slot(SlotKind.CATEGORY, 0, 2)])
    assert masks(table).mean() == pytest.approx(0.375 / 3, abs=0.02)
