from __future__ import annotations

import logging
import types
import warnings

import numpy as np
import optuna
import pytest

from tabtreeformer._runtime.progress import Silent
from tabtreeformer.config.settings import TreeConfig
from tabtreeformer.trees import Features, Target
from tabtreeformer.trees.decision_tree import DecisionTree
from tabtreeformer.trees.spaces import DECISION_TREE_SPACE, Parameter
from tabtreeformer.trees.tuning import FOLDS, score, split, tune

SPACE = {"size": Parameter(low=0, high=100, step=5, default=0, aliases=("extent",))}
SPACE |= {"rate": Parameter(low=0.1, high=0.9, default=0.5)}


class Guess:
    """Predicts the more wrongly, the farther `size` is from 40; notes what it was built with."""

    clock = 0.0
    """Seconds that all fits so far have taken."""

    def __init__(self, params, seed):
        self.params = dict(params)
        self.built.append(self.params)

    def fit(self, features, target):
        type(self).clock += 1.0
        return self

    def predict(self, features):
        return np.full(features.n_rows, abs(self.params["size"] - 40.0))


@pytest.fixture
def guess() -> type:
    return type("FreshGuess", (Guess,), {"built": []})


@pytest.fixture
def zeros() -> tuple[Features, Target]:
    return Features(np.zeros((12, 1))), Target(np.zeros(12), None)


class Recorder:
    """A progress that remembers what it was told."""

    def __init__(self):
        self.stages, self.units, self.facts, self.closed = [], 0, [], 0

    def task(self, name, total):
        self.stages.append((name, total))
        return self

    def note(self, message):
        raise AssertionError(message)

    def advance(self, units=1, **facts):
        self.units += units
        self.facts.append(facts)

    def close(self):
        self.closed += 1


def test_as_many_trials_are_made_as_asked_each_on_every_fold(guess, zeros):
    tune(guess, SPACE, *zeros, TreeConfig(trials=7), 0, Silent())
    assert len(guess.built) == 7 * FOLDS


def test_the_best_of_the_trials_is_returned(guess, zeros):
    best = tune(guess, SPACE, *zeros, TreeConfig(trials=25), 0, Silent())
    assert best in guess.built
    assert abs(best["size"] - 40) == min(abs(params["size"] - 40) for params in guess.built)
    assert abs(best["size"] - 40) < max(abs(params["size"] - 40) for params in guess.built)


def test_what_is_tried_lies_in_the_space(guess, zeros):
    tune(guess, SPACE, *zeros, TreeConfig(trials=25), 0, Silent())
    assert all(0 <= params["size"] <= 100 and params["size"] % 5 == 0 for params in guess.built)
    assert all(0.1 <= params["rate"] <= 0.9 for params in guess.built)
    assert len({params["rate"] for params in guess.built}) == 25


def test_the_time_limit_ends_the_search(guess, zeros, monkeypatch):
    monkeypatch.setattr("tabtreeformer.trees.tuning.time", types.SimpleNamespace(monotonic=lambda: guess.clock))
    tune(guess, SPACE, *zeros, TreeConfig(trials=1000, timeout_seconds=90), 0, Silent())
    assert len(guess.built) == 90  # thirty trials of three folds, a second each


def test_a_time_limit_that_is_over_at_once_leaves_what_is_fixed(guess, zeros):
    config = TreeConfig(timeout_seconds=1e-9, params={"size": 5})
    assert tune(guess, SPACE, *zeros, config, 0, Silent()) == {"size": 5}


@pytest.mark.parametrize("name", ["size", "extent"])
def test_fixed_parameters_are_used_and_not_searched(guess, zeros, name):
    best = tune(guess, SPACE, *zeros, TreeConfig(trials=5, params={name: 33, "other": "x"}), 0, Silent())
    assert all((params["size"], params["other"]) == (33, "x") for params in guess.built)
    assert set(best) == {"size", "rate", "other"}
    assert (best["size"], best["other"]) == (33, "x")


@pytest.mark.parametrize(("n_rows", "params"), [(2 * FOLDS - 1, {}), (None, {"size": 1, "rate": 0.5})])
def test_too_few_rows_or_nothing_free_means_no_search(guess, zeros, n_rows, params):
    progress, rows = Recorder(), np.arange(zeros[0].n_rows)[:n_rows]
    few = [part.take(rows) for part in zeros]
    assert tune(guess, SPACE, *few, TreeConfig(params=params), 0, progress) == params
    assert not guess.built
    assert not progress.stages


def test_progress_counts_trials_and_shows_the_best_score(guess, zeros):
    progress = Recorder()
    best = tune(guess, SPACE, *zeros, TreeConfig(trials=6), 0, progress)
    assert progress.stages == [("tune trees", 6)]
    assert (progress.units, progress.closed) == (6, 1)
    assert progress.facts[-1] == {"best": f"MSE {(best['size'] - 40.0) ** 2:.4g}"}


def test_classes_are_scored_by_f1(make):
    progress = Recorder()
    config = TreeConfig(trials=1, params={"min_samples_leaf": 5, "max_depth": 6})
    tune(DecisionTree, DECISION_TREE_SPACE, *make("three classes"), config, 0, progress)
    kind, value = progress.facts[-1]["best"].split()
    assert kind == "F1"
    assert 0.5 < float(value) <= 1


def test_the_seed_decides_the_search(make):
    config = TreeConfig(trials=4)
    found = [tune(DecisionTree, DECISION_TREE_SPACE, *make("number"), config, seed, Silent()) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


@pytest.fixture
def optuna_log():
    """Turn Optuna's log all the way up, and collect it."""
    records, before, logger = [], optuna.logging.get_verbosity(), logging.getLogger("optuna")
    handler = logging.Handler()
    handler.emit = records.append
    logger.addHandler(handler)
    optuna.logging.set_verbosity(optuna.logging.DEBUG)
    yield records
    optuna.logging.set_verbosity(before)
    logger.removeHandler(handler)


def test_optuna_is_silent_only_during_the_search(guess, zeros, optuna_log):
    tune(guess, SPACE, *zeros, TreeConfig(trials=2), 0, Silent())
    assert not optuna_log
    assert optuna.logging.get_verbosity() == optuna.logging.DEBUG


def test_optuna_may_speak_again_after_a_search_that_failed(guess, zeros, optuna_log):
    guess.predict = None
    with pytest.raises(TypeError):
        tune(guess, SPACE, *zeros, TreeConfig(trials=2), 0, Silent())
    assert optuna.logging.get_verbosity() == optuna.logging.DEBUG


@pytest.mark.parametrize(
    ("counts", "n_folds", "expected"),
    [((9, 6), 3, 3), ((9, 2), 3, 2), ((9, 1), 3, 3), ((1,) * 6, 3, 3)],
)
def test_classes_with_few_rows_mean_fewer_or_unstratified_folds(counts, n_folds, expected):
    target = Target(np.repeat(np.arange(len(counts)), counts), len(counts))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folds = split(target, n_folds, seed=0)
    assert len(folds) == expected
    scored = np.concatenate([rows for _, rows in folds])
    np.testing.assert_array_equal(np.sort(scored), np.arange(sum(counts)))
    assert all(not set(fitted) & set(rows) for fitted, rows in folds)


def test_folds_have_their_share_of_each_class():
    target = Target(np.repeat([0, 1], [30, 6]), 2)
    for _, rows in split(target, 3, seed=0):
        np.testing.assert_array_equal(np.bincount(target.values[rows]), [10, 2])


def test_folds_are_shuffled_by_seed():
    target = Target(np.arange(20.0), None)
    first, same, other = (split(target, 2, seed)[0][1].tolist() for seed in (0, 0, 1))
    assert first == same != other
    assert first != list(range(10))


@pytest.mark.parametrize(
    ("values", "predicted", "n_classes", "expected"),
    [
        ([1.0, 2.0], [1.0, 4.0], None, -2.0),
        # Class 0: precision 2/3, recall 1, F1 0.8 on two rows; class 1: F1 2/3 on two rows.
        ([0, 0, 1, 1], [0, 0, 0, 1], 2, (0.8 * 2 + 2 / 3 * 2) / 4),
        ([0, 0, 0, 1], [0, 0, 0, 0], 2, 6 / 7 * 3 / 4),
    ],
)
def test_scores_are_negative_squared_error_and_weighted_f1(values, predicted, n_classes, expected):
    assert score(Target(np.array(values), n_classes), np.array(predicted)) == pytest.approx(expected)
