import numpy as np
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
