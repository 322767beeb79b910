import numpy as np
import pytest

from tabtreeformer.tokens import BOS, EOS, MASK, Slot, SlotKind, TokenLayout


def paper_example() -> TokenLayout:
    """The paper's worked example: T=200 trees of up to 200 leaves, 10 categories of up to 20 values, 10 numbers."""
    values = [Slot(SlotKind.CATEGORY, c, 20 if c == 3 else 5) for c in range(10)]
    for c in range(10, 20):
        values += [Slot(SlotKind.BIN, c, 10), Slot(SlotKind.QUANTILE, c, 1000 if c == 12 else 40)]
    return TokenLayout.build([200 if k == 5 else 30 for k in range(200)], values)


@pytest.fixture
def small() -> TokenLayout:
    """Two trees, then a category, then a number."""
    return TokenLayout.build(
        [2, 3], [Slot(SlotKind.CATEGORY, 0, 4), Slot(SlotKind.BIN, 1, 5), Slot(SlotKind.QUANTILE, 1, 6)]
    )


def test_sizes_follow_the_formulas_of_the_paper():
    layout = paper_example()
    assert layout.n_vocab == 1233 == 200 + 20 + 10 + 1000 + 3
    assert layout.length == 232 == 2 + 200 + 10 + 2 * 10  # printed as 222, which the formula does not give


def test_kinds_stand_one_after_the_other_with_quantiles_last(small):
    assert [small.offset(kind) for kind in SlotKind] == [3, 6, 10, 15]
    assert small.quantile_tokens == range(15, 21)
    assert small.n_vocab == 21


def test_only_ids_of_the_slot_itself_are_allowed(small):
    assert [small.allowed(slot) for slot in range(5)] == [
        range(3, 5),
        range(3, 6),
        range(6, 10),
        range(10, 15),
        range(15, 21),
    ]
    mask = small.allowed_mask
    assert mask.shape == (7, 21)
    assert mask[0].nonzero()[0].tolist() == [BOS]
    assert mask[-1].nonzero()[0].tolist() == [EOS]
    assert [row.sum() for row in mask] == [1, 2, 3, 4, 5, 6, 1]
    assert not mask[:, MASK].any()


def test_ids_become_tokens_and_come_back(small):
    leaves, values = np.array([[1, 2], [0, 0]]), np.array([[3, 4, 5], [0, 0, 0]])
    tokens = small.to_tokens(leaves, values)
    assert tokens.tolist() == [[BOS, 4, 5, 9, 14, 20, EOS], [BOS, 3, 3, 6, 10, 15, EOS]]
    assert small.value_ids(tokens).tolist() == values.tolist()
    assert small.allowed_mask[np.arange(7), tokens].all()


def test_a_masked_leaf_of_a_prompt_is_the_mask_token(small):
    assert small.prompt_tokens(np.array([[-1, 2]])).tolist() == [[BOS, MASK, 5]]


def test_quantiles_know_their_column(small):
    assert [g.tolist() for g in small.numeric_groups] == [[[4, 5]]]
    assert small.quantile_positions.tolist() == [5]


def test_a_table_without_trees_or_numbers_has_a_layout():
    layout = TokenLayout.build([], [Slot(SlotKind.CATEGORY, 0, 2)])
    assert (layout.length, layout.n_vocab, layout.n_trees) == (3, 5, 0)
    assert len(layout.numeric_groups) == layout.quantile_positions.size == len(layout.quantile_tokens) == 0
    assert layout.to_tokens(np.empty((1, 0), dtype=int), np.array([[1]])).tolist() == [[BOS, 4, EOS]]
