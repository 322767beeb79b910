"""Copies among many rows: more members than others are repeated, and where nothing leaks as many."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import Schema, evaluate
from tabtreeformer.evaluation import findings, repeats
from tabtreeformer.evaluation.attacks.repeated import nearest, repeated
from tabtreeformer.evaluation.encoding import Table, both, encode


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    pay = np.round(1500 + 40 * age + rng.normal(0, 400, n))
    return pd.DataFrame({"age": age, "town": rng.choice(["Ulm", "Bern", "Graz"], n), "pay": pay, "tax": pay // 9})


def coarse(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.integers(0, 3, n).astype(str) for name in "abcd"})


def tables(train: pd.DataFrame, test: pd.DataFrame, new: pd.DataFrame) -> dict[str, Table]:
    return encode({"training": train, "test": test, "new": new}, Schema.infer(train))


def found(train: pd.DataFrame, test: pd.DataFrame, new: pd.DataFrame) -> dict:
    sides = tables(train, test, new)
    return repeated(both(sides["training"], sides["test"]), len(train), sides["new"], len(train))


def with_copies(train: pd.DataFrame, n: int, share: float, noise: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(9)
    copied = train.iloc[rng.integers(0, len(train), round(share * n))].copy()
    copied["pay"] = copied["pay"] + np.round(noise * rng.normal(size=len(copied)))
    return pd.concat([people(n - len(copied), 8), copied]).sample(frac=1, random_state=0)


@pytest.mark.parametrize("noise", [0.0, 3.0])
def test_three_copies_in_a_hundred_rows_are_found_on_five_hundred_rows(noise):
    train, test = people(250, 0), people(250, 1)
    counts = found(train, test, with_copies(train, 2500, 0.03, noise))
    assert counts["copies"] == pytest.approx(0.03, abs=0.01)
    assert repeats(counts, 0.997).leak


@pytest.mark.parametrize("draw", [people, coarse])
def test_rows_of_others_repeat_members_no_more_often(draw):
    """Exact at 5 %: of 40 draws more than 6 alarms would be beyond chance (p < 0.01)."""
    alarms = [repeats(found(draw(150, k), draw(150, 100 + k), draw(1500, 200 + k)), 0.95).leak for k in range(40)]
    assert sum(alarms) <= 6


def test_rows_with_a_twin_are_nobodys_own_and_do_not_count():
    train = coarse(300, 0)
    counts = found(train, coarse(300, 1), train)
    assert counts["members"] + counts["others"] < 30
    pairs = pd.concat([people(50, 0), people(50, 0)])
    assert found(pairs, people(100, 1), people(100, 2))["members"] == 0


def test_the_nearest_rows_are_those_of_all_pairs():
    sides = tables(people(90, 0), people(70, 1), people(60, 2))
    own, theirs = sides["training"], sides["new"]
    total = np.zeros((90, 60))
    for feature, left, right in zip(own.features, own.columns, theirs.columns, strict=True):
        if feature.categorical:
            total += left[:, None] != right[None]
        else:
            ranks = [np.searchsorted(np.sort(left), values) / 90 for values in (left, right)]
            total += abs(ranks[0][:, None] - ranks[1][None])
    np.testing.assert_allclose(nearest(own, theirs, 3), np.sort(total, axis=1)[:, :3], atol=1e-5)


def test_an_evaluation_calls_repeated_rows_a_leak():
    train, test = people(400, 0), people(400, 1)
    for share, leak in ((0.0, False), (0.1, True)):
        new = with_copies(train, 2000, share)
        told = findings(evaluate(train, test, new, metrics=["dcr", "membership", "copies"], random_state=0))
        (one,) = [finding for finding in told if finding.measure == "repeated"]
        assert one.leak is leak
        assert "held-out rows" in one.text
