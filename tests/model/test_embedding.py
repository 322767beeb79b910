import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.config.settings import ModelConfig
from tabtreeformer.errors import ConfigError
from tabtreeformer.model.embedding import CORES, offsets, quantile_embedding, scale_factors


@pytest.mark.parametrize("width", [1, 2, 7, 256, 768])
def test_closed_forms_equal_their_constructions(width):
    n = 40
    scales = np.repeat(np.arange(n) + 1, 2 * (np.arange(n) + 1))[:width]
    shifts = np.concatenate([np.linspace(-2 * x, 2 * x, 2 * x) for x in np.arange(n) + 1])[:width]
    np.testing.assert_array_equal(scale_factors(width).numpy(), scales)
    np.testing.assert_allclose(offsets(width).numpy(), shifts, atol=1e-9)


def test_values_agree_with_the_equation_worked_out_by_hand():
    # d=0: S=1, O=-2; d=1: S=1, O=2; d=2: S=2, O=-4; i/Q - 1/2 = -0.5 for i=0 and 0 for i=2 of Q=4.
    table = quantile_embedding(4, 3)
    expected = [
        [1 / (1 + math.exp(4)), 0.5, 1 / (1 + math.exp(8))],
        [1 / (1 + math.exp(2)), 1 / (1 + math.exp(-2)), 1 / (1 + math.exp(4))],
    ]
    torch.testing.assert_close(table[[0, 2]], torch.tensor(expected))


def test_row_norms_are_those_computed_for_the_sizes_of_the_paper():
    for width, low, high in ((256, 2.0, 15.5), (768, 2.7, 27.2)):
        norms = quantile_embedding(1000, width).norm(dim=1)
        assert norms.min().item() == pytest.approx(low, abs=0.05)
        assert norms.max().item() == pytest.approx(high, abs=0.05)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 60),
    st.integers(1, 40),
    st.sampled_from([1.0, 1.5, 2.0, 7.0, math.inf]),
    st.sampled_from(["sigmoid", "tanh", "softsign"]),
)
def test_distances_on_one_side_keep_the_order_of_the_ids(n, width, p, core):
    """The paper's theorem on quantile embeddings, and other strictly monotone functions."""
    table = quantile_embedding(n, width, core).double()
    distance = torch.cdist(table, table, p=p)
    for i in range(0, n, max(1, n // 6)):
        for j, k in itertools.pairwise(range(i, n)):
            assert distance[i, j] < distance[i, k]
        for j, k in itertools.pairwise(range(i, -1, -1)):
            assert distance[i, j] < distance[i, k]


@pytest.mark.parametrize("core", CORES)
def test_every_function_is_bounded_rises_and_changes_most_in_the_middle(core):
    x = torch.linspace(-40, 40, 2001, dtype=torch.float64)
    y = CORES[core](x)
    assert (y.diff() >= 0).all()
    assert y.abs().max() <= 1
    assert CORES[core](torch.tensor([-2.0, 2.0])).diff().item() > 0.4 * (y[-1] - y[0])
    table = quantile_embedding(50, 24, core)
    assert (table.diff(dim=0) >= 0).all()
    assert len(torch.unique(table, dim=0)) == 50


def test_functions_start_networks_that_differ_and_an_unknown_one_is_named():
    tables = [quantile_embedding(9, 8, core) for core in CORES]
    assert all(not torch.equal(a, b) for a, b in itertools.combinations(tables, 2))
    with pytest.raises(ConfigError, match="sigmoid, tanh, softsign, ramp, none"):
        ModelConfig(quantile_embedding="sine")
