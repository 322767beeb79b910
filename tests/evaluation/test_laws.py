"""Laws, grain and derived columns: measures that see what a person who knows the table sees."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.evaluation import evaluate
from tabtreeformer.evaluation.metrics.grain import roundings, similarity
from tabtreeformer.evaluation.report.verdict import verdicts


def invoices(seed, n=900):
    rng = np.random.default_rng(seed)
    net = np.round(rng.gamma(3, 40, n), 0)
    tax = np.round(net * rng.choice([0.07, 0.19], n), 2)
    city = rng.choice(["Rome", "Oslo", "Bern"], n)
    land = pd.Series(city).map({"Rome": "I", "Oslo": "N", "Bern": "CH"})
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s")
    stop = start + pd.to_timedelta(rng.integers(60, 9000, n), unit="s")
    columns = {"net": net, "tax": tax, "total": np.round(net + tax, 2), "city": city, "land": land}
    return pd.DataFrame({**columns, "start": start, "stop": stop})


def broken(df, seed=9):
    """The same rows, but the total a little off in each, and every number to the cent."""
    rng = np.random.default_rng(seed)
    off = df.copy()
    off["total"] = np.round(df["total"] + rng.normal(0, 0.6, len(df)), 2)
    off["net"] = np.round(df["net"] + rng.normal(0, 0.2, len(df)), 2)
    return off


def test_laws_are_found_in_training_rows_and_the_worst_is_named():
    train, test = invoices(0), invoices(1)
    fine = evaluate(train, test, invoices(2), metrics=["laws"]).scores["laws"]
    assert fine.value == pytest.approx(1.0)
    assert fine.ceiling == pytest.approx(1.0)
    assert fine.floor < 0.6
    texts = {record["law"] for record in fine.breakdown["laws"]}
    assert {"total = net + tax", "stop >= start"} <= texts
    assert "land from city" in texts or "city from land" in texts
    off = evaluate(train, test, broken(invoices(2)), metrics=["laws"]).scores["laws"]
    assert "total" in off.breakdown["worst"]["law"]
    assert off.breakdown["worst"]["synthetic"] < 0.1
    assert "worst: " in off.note


def test_a_table_without_laws_scores_nothing_and_says_so():
    rng = np.random.default_rng(0)
    train, new = (pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)}) for _ in range(2))
    score = evaluate(train, None, new, metrics=["laws"]).scores["laws"]
    assert np.isnan(score.value)
    assert "no law" in score.note


def test_derived_columns_tell_what_plain_ones_do_not():
    train, test = invoices(0), invoices(1)
    off = invoices(2)
    off["total"] = np.round(off["total"] + np.random.default_rng(3).choice([-0.03, -0.01, 0.01, 0.03], len(off)), 2)
    scores = evaluate(train, test, off, metrics=["detection", "detection_derived"]).scores
    assert scores["detection"].value < 0.62
    assert scores["detection_derived"].value > 0.95
    assert scores["detection_derived"].ceiling < 0.6


@pytest.mark.parametrize(
    ("value", "decimals", "same_as"),
    [(12_000, 0, 7_000), (12_500, 0, 7_500), (0.5, 2, 3.5), (1.25, 2, 9.75), (3.99, 2, 1.01)],
)
def test_numbers_that_are_rounded_alike_are_of_one_class(value, decimals, same_as):
    found = roundings(np.array([value, same_as], dtype=np.float64), decimals)
    assert found[0] == found[1]
    assert roundings(np.array([12_000.0, 12_500.0, 12_501.0, 12_501.3]), 0).tolist().count(found[0]) <= 1


def test_grain_sees_rounding_and_nothing_else():
    rng = np.random.default_rng(0)
    real = np.round(rng.gamma(4, 1e5, 4000), -3)
    same, chance = similarity(real, np.round(rng.gamma(2, 3e5, 4000), -3))
    assert chance - 0.03 < same
    assert similarity(real, np.round(rng.gamma(4, 1e5, 4000)))[0] < 0.1
    assert similarity(real, rng.gamma(4, 1e5, 4000))[0] < 1e-9
    assert similarity(rng.normal(size=500), rng.normal(size=500)) is None


def test_faithful_is_answered_by_the_worst_of_plain_test_laws_and_grain():
    train, test = invoices(0), invoices(1)
    names = ["shape", "detection", "laws", "grain", "detection_derived"]
    _, good, _ = verdicts(evaluate(train, test, invoices(2), metrics=names))
    assert good.level == "good"
    _, poor, _ = verdicts(evaluate(train, test, broken(invoices(2)), metrics=names))
    assert poor.level == "poor"
    assert "keep the worst law" in poor.sentence
    assert "rounded alike" in poor.sentence
