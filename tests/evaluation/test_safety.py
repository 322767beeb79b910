"""Which gaps between training and held-out rows are leaks."""

from __future__ import annotations

import pytest

from tabtreeformer.evaluation.attacks.risk import Risk
from tabtreeformer.evaluation.safety import _attack, _traced
from tabtreeformer.evaluation.score import Score

ALPHA = 0.05 / 7


def inferred(train: int, n_train: int, control: int, n_control: int) -> Score:
    """The score of an attack on one of five columns that succeeded as often as this."""
    risk = Risk.of(train=train, control=control, baseline=0, attacks=(n_train, n_control), confidence=0.99)
    facts = {**risk.to_json(), "column": "species", "columns": [{}] * 5}
    return Score(name="inference", value=risk.value, goal="lower", breakdown=facts)


@pytest.mark.parametrize(
    ("train", "n_train", "control", "n_control", "leak"),
    [
        (116, 120, 25, 30, False),  # thirty rows cannot prove it
        (1160, 1200, 250, 300, True),  # the same shares of ten times as many rows do
        (120, 120, 15, 30, True),  # few rows prove a large gap
        (1190, 1200, 1150, 1200, False),  # proven, and small
    ],
)
def test_a_gap_is_a_leak_if_it_is_large_and_as_many_rows_prove_it(train, n_train, control, n_control, leak):
    found = _attack(inferred(train, n_train, control, n_control), "attribute inference", 1.0, ALPHA)
    assert found.leak == leak
    assert f"of {n_control:,} on held-out rows" in found.text


def test_the_interval_of_a_risk_reaches_zero_where_few_rows_prove_no_gap():
    assert inferred(116, 120, 25, 30).breakdown["interval"][0] == 0
    assert inferred(1160, 1200, 250, 300).breakdown["interval"][0] > 0.3


@pytest.mark.parametrize(("others", "leak"), [(30, False), (3000, True)])
def test_members_beyond_the_threshold_are_traced_if_enough_held_out_rows_set_it(others, leak):
    rows = {"members": 120, "others": others}
    sure = {"true_positives": 8 / 120, "true_positives_interval": [0.035, 0.13], "false_positives": 0.01}
    attack = {"auc": 0.58, "auc_interval": [0.47, 0.70], "rows": rows, **sure}
    assert _traced(attack, 0.95).leak == leak
