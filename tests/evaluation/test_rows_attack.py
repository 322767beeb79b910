"""The attack by density on released rows: what it finds, and that it agrees with its first version."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.data.schema import Schema
from tabtreeformer.evaluation import evaluate
from tabtreeformer.evaluation.attacks.rows import Calibration, Intervals, log_likelihood, outcome, shadow_table
from tabtreeformer.evaluation.encoding import Table, encode

TOOL = Path(__file__).parents[2].parent / "shared" / "tools" / "rows_attack.py"


def population(n: int = 800, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n).astype(float)
    wage = np.round(20 + age * rng.gamma(4, 0.3, n), 2)
    job = np.where(wage > 60, rng.choice(["a", "b"], n), rng.choice(["b", "c", "d"], n))
    return pd.DataFrame({"age": age, "job": job, "wage": wage, "weight": rng.normal(70, 12, n).round(1)})


def as_table(frame: pd.DataFrame, like: pd.DataFrame) -> Table:
    return encode({"training": like, "synthetic": frame}, Schema.infer(like))["synthetic"]


def test_numbers_come_back_inside_their_interval_and_missing_ones_stay_missing():
    frame = population()
    frame.loc[::7, "wage"] = np.nan
    table = as_table(frame, frame)
    intervals = Intervals.learn(table, 60)
    ids = intervals.encode(table)
    again = intervals.decode(ids, table, np.random.default_rng(0))
    np.testing.assert_array_equal(np.isnan(again.columns[2]), frame["wage"].isna())
    # A value at the very lower end of an interval may count as the end of the one before.
    assert (intervals.encode(again) == ids).mean() > 0.99


def test_rows_that_copy_the_training_rows_are_found_and_rows_of_others_are_not():
    frame = population()
    table = as_table(frame, frame)
    calibration = Calibration.learn(table, 400, np.random.SeedSequence(0))
    copied, fresh = (
        outcome(calibration.score(as_table(rows, frame)), 400) for rows in (frame[:400], population(400, 9))
    )
    assert copied["auc"] > 0.65
    assert copied["true_positives_at_10"] > 0.2
    low, high = fresh["auc_interval"]
    assert low < 0.5 < high


def test_half_of_the_shadows_lacked_any_one_row():
    """Of two shadows each row is in exactly one, so that none is left without a score to compare with."""
    frame = population(300)
    calibration = Calibration.learn(as_table(frame, frame), 150, np.random.SeedSequence(0), n_shadows=2)
    assert np.isfinite(calibration.mean).all()


def test_larger_leaves_leave_less_of_a_trace():
    frame = population()
    table = as_table(frame, frame)
    calibration = Calibration.learn(table, 400, np.random.SeedSequence(0))
    small, large = (
        np.mean(
            [
                outcome(calibration.score(shadow_table(table.take(slice(0, 400)), 400, leaf, seed)), 400)["auc"]
                for seed in np.random.SeedSequence(1).spawn(4)
            ]
        )
        for leaf in (5, 150)
    )
    assert small > large + 0.05


def test_the_same_seed_gives_the_same_attack():
    frame = population(200)
    scores = [evaluate(frame[:100], frame[100:], frame[:100], metrics=["membership_density"]) for _ in range(2)]
    assert scores[0].to_json()["scores"] == scores[1].to_json()["scores"]


def test_copies_gain_nothing_against_unseen_rows():
    frame = population()
    train, test = frame[:400], frame[400:].reset_index(drop=True)
    scores = evaluate(train, test, train, metrics=["shape", "shape_unseen", "trend_unseen", "detection_unseen"]).scores
    assert scores["shape"].value == 1
    assert scores["shape_unseen"].value == scores["shape_unseen"].ceiling < 1
    assert scores["trend_unseen"].value == scores["trend_unseen"].ceiling
    assert scores["detection_unseen"].value == pytest.approx(0.5, abs=0.1)


@pytest.mark.skipif(not TOOL.exists(), reason="the first version of the attack is not beside this project")
def test_the_attack_agrees_with_its_first_version():
    spec = importlib.util.spec_from_file_location("first_version", TOOL)
    first = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(first)
    frame, categorical = population(), {"job"}
    table, n = as_table(frame, frame), len(frame)
    released = first.shadow_table(frame[:400], categorical, 400, 20, 3)
    theirs = first.likelihood_under(released, frame, categorical, 0)
    ours = log_likelihood(as_table(released, frame), table, np.random.SeedSequence(0))
    # Splits that are equally good are broken by chance, and a missing value has an id of its own here.
    assert np.corrcoef(theirs, ours)[0, 1] > 0.98
    without, rng = [], np.random.default_rng(0)
    for k in range(12):
        rows = rng.permutation(n)[: n // 2]
        shadow = first.shadow_table(frame.iloc[rows].reset_index(drop=True), categorical, 400, 40, k)
        score = first.likelihood_under(shadow, frame, categorical, k)
        score[rows] = np.nan
        without.append(score)
    mean, spread = np.nanmean(without, axis=0), np.nanstd(without, axis=0)
    calibration = Calibration.learn(table, 400, np.random.SeedSequence(0))
    areas = [
        outcome(score, 400)["auc"]
        for score in (np.nan_to_num((theirs - mean) / (spread + 0.3)), calibration.score(as_table(released, frame)))
    ]
    assert areas[0] == pytest.approx(areas[1], abs=0.04)


def test_more_released_rows_than_were_learned_tell_more():
    frame = population(1200)
    train, test = frame[:600], frame[600:].reset_index(drop=True)
    model = TabTreeFormer("trees", privacy="off", forest={"leaf_rows": 5}, random_state=0, verbose=False).fit(train)
    score = evaluate(train, test, model.sample(6000, random_state=0), metrics=["membership_density"]).scores
    found = score["membership_density"].breakdown
    assert (found["released"], found["more_rows"]["released"]) == (600, 6000)
    assert found["more_rows"]["auc"] > found["auc"] + 0.05
