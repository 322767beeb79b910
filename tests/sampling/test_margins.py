import numpy as np
import pandas as pd
import pytest
import torch

from tabtreeformer import TabTreeFormer
from tabtreeformer.sampling.margins import margin_shift


@pytest.mark.parametrize("temperature", [1.0, 1.3])
def test_shifted_logits_have_the_shares_of_the_counts(temperature):
    logits = 2 * torch.randn(500, 6, generator=torch.Generator().manual_seed(0))
    counts = torch.tensor([50.0, 10.0, 5.0, 200.0, 0.0, 35.0])
    shift = margin_shift(logits, counts, temperature)
    shares = torch.softmax((logits + shift) / temperature, dim=1).mean(0)
    known = counts > 0
    np.testing.assert_allclose(shares[known] / shares[known].sum(), counts[known] / counts.sum(), atol=1e-3)
    assert shift[4] == 0


def test_rows_of_a_network_that_learned_little_have_the_margins_of_the_table(mixed):
    steps = {"steps": 5, "batch_size": 16, "learning_rate": 0.1}

    def distance(**train):
        model = TabTreeFormer(target="income", train={**steps, **train}, random_state=0, verbose=False).fit(mixed)
        rows = model.sample(4000, random_state=0)
        shares = [frame["income"].value_counts(normalize=True) for frame in (mixed, rows)]
        return float((shares[0] - shares[1]).abs().sum() / 2)

    assert distance() < 0.015 < distance(margins=False)


@pytest.mark.parametrize("n_rows", [120, 700])
def test_every_slot_is_corrected_once_however_many_rows_are_drawn_for_it(mixed, n_rows):
    """Shifts that are found twice, the second time on few rows, spoil the margins."""
    table = pd.concat([mixed] * (n_rows // len(mixed) + 1), ignore_index=True).head(n_rows)
    steps = {"steps": 5, "batch_size": 16, "learning_rate": 0.1}
    model = TabTreeFormer(target="income", train=steps, random_state=0, verbose=False).fit(table)
    ids, drawn = (model.fitted_.codec.encode(frame) for frame in (table, model.sample(4096, random_state=0)))
    for slot, facts in enumerate(model.fitted_.layout.value_slots):
        if facts.size <= 5:
            shares = [np.bincount(rows[:, slot], minlength=facts.size) / len(rows) for rows in (ids, drawn)]
            assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.03
