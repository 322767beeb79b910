"""Trees that write: shares, rows, likelihoods, conditions, gaps and state, on small tables of ids."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tabtreeformer.errors import ConditionError
from tabtreeformer.forest import (
    BLOCK,
    Forest,
    ForestSettings,
    Target,
    chances,
    complete,
    draw_rows,
    from_state,
    grow,
    log_prob,
    to_state,
    write_within,
)
from tabtreeformer.forest.boost import Boosted, fit_boosted

SLOTS = [Target(3, False), Target(5, True), Target(4, False), Target(2, False)]
"""Few enough ids that all 120 rows can be listed."""
EVERY_ROW = np.array(list(itertools.product(*(range(s.size) for s in SLOTS))), dtype=np.int32)


def rows_of_ids(n: int = 600, seed: int = 0) -> np.ndarray:
    """Rows in which later slots depend on earlier ones."""
    rng = np.random.default_rng(seed)
    a = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    b = (rng.binomial(4, 0.2 + 0.3 * (a == 1))).clip(0, 4)
    c = (a + b + rng.integers(0, 2, n)) % 4
    d = (rng.random(n) < np.where(c == 2, 0.8, 0.1 + 0.1 * b)).astype(int)
    return np.column_stack([a, b, c, d]).astype(np.int32)


def forest_of(n_context: int = 0, **settings) -> Forest:
    return grow(rows_of_ids(), SLOTS, ForestSettings(**settings), np.random.SeedSequence(0), n_context)


def frequencies(rows: np.ndarray) -> np.ndarray:
    """How often each of all possible rows comes."""
    sizes = [s.size for s in SLOTS]
    keys = np.ravel_multi_index(tuple(rows.T), sizes)
    return np.bincount(keys, minlength=len(EVERY_ROW)) / len(rows)


def distance(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.abs(first - second).sum() / 2)


def two_trees() -> Forest:
    """A forest of two trees per slot, as earlier versions could write it."""
    one, other = forest_of(scores=False), forest_of(scores=False, leaf_rows=60)
    pairs = zip(one.slots, other.slots, strict=True)
    return replace(one, slots=tuple(replace(a, trees=a.trees + b.trees, counts=a.counts + b.counts) for a, b in pairs))


@pytest.fixture(
    scope="module",
    params=[forest_of, two_trees, lambda: forest_of(smoothing=0.0, scores=False)],
    ids=["one tree", "two trees", "unsmoothed"],
)
def forest(request) -> Forest:
    return request.param()


def test_shares_of_every_leaf_sum_to_one(forest):
    for slot in forest.slots:
        for shares in slot.shares:
            np.testing.assert_allclose(shares.table.sum(1), 1.0)
            assert (shares.table >= 0).all()


def test_probabilities_of_all_rows_sum_to_one(forest):
    assert np.exp(log_prob(forest, EVERY_ROW)).sum() == pytest.approx(1.0)


def test_rows_come_as_often_as_their_probability_says(forest):
    rows = draw_rows(forest, 40 * BLOCK, np.random.default_rng(0))
    assert distance(frequencies(rows), np.exp(log_prob(forest, EVERY_ROW))) < 0.01


def test_every_leaf_describes_at_least_so_many_rows():
    forest = forest_of(leaf_rows=50)
    rows = rows_of_ids()
    for j, slot in enumerate(forest.slots):
        assert np.bincount(slot.trees[0].leaves(slot.read(rows[:, :j]))).min() >= 50
    assert max(slot.trees[0].n_leaves for slot in forest.slots) > 2


def test_rows_drawn_together_are_closer_to_the_shares_than_independent_ones():
    forest = forest_of()
    truth = np.exp(log_prob(forest, EVERY_ROW))
    together = [distance(frequencies(draw_rows(forest, BLOCK, np.random.default_rng(k))), truth) for k in range(8)]
    alone = [distance(np.random.default_rng(k).multinomial(BLOCK, truth) / BLOCK, truth) for k in range(8)]
    assert np.mean(together) < 0.6 * np.mean(alone)


def test_fewer_rows_are_the_first_of_more():
    forest = forest_of()
    more = draw_rows(forest, BLOCK + 500, np.random.default_rng(5))
    fewer = draw_rows(forest, 700, np.random.default_rng(5))
    np.testing.assert_array_equal(fewer, more[:700])


@pytest.mark.parametrize(
    "allowed",
    [
        {3: [1]},
        {1: [3, 4]},
        {0: [2], 2: [0, 1], 3: [0]},
        {1: [3], 2: [1], 3: [1]},
    ],
)
def test_rows_under_conditions_come_as_a_filter_over_free_rows_would_leave_them(forest, allowed):
    masks = {j: np.isin(np.arange(SLOTS[j].size), ids) for j, ids in allowed.items()}
    fits = np.all([mask[EVERY_ROW[:, j]] for j, mask in masks.items()], axis=0)
    truth = np.exp(log_prob(forest, EVERY_ROW)) * fits
    rng = np.random.default_rng(1)
    rows = np.concatenate([write_within(forest, BLOCK, masks, rng) for _ in range(8)])
    assert all(mask[rows[:, j]].all() for j, mask in masks.items())
    assert distance(frequencies(rows), truth / truth.sum()) < 0.03


def test_conditions_that_no_row_can_meet_are_an_error():
    forest = forest_of(smoothing=0.0)
    masks = {0: np.zeros(3, dtype=bool)}
    with pytest.raises(ConditionError, match="no row"):
        write_within(forest, 10, masks, np.random.default_rng(0))


@pytest.mark.parametrize("known", [[1, 3], [3], [2, 3], [0, 1], [0, 1, 2]])
def test_gaps_are_filled_from_what_the_forest_says_given_the_rest(forest, known):
    row = rows_of_ids()[0]
    ids = np.tile(row, (12_000, 1))
    given = np.zeros(ids.shape, dtype=bool)
    given[:, known] = True
    filled = complete(forest, ids, given, np.random.default_rng(2))
    fits = (EVERY_ROW[:, known] == row[known]).all(1)
    truth = np.exp(log_prob(forest, EVERY_ROW)) * fits
    assert (filled[:, known] == row[known]).all()
    assert distance(frequencies(filled), truth / truth.sum()) < 0.03


def test_what_is_filled_in_is_allowed():
    forest, allowed = forest_of(), {1: np.array([False, True, True, False, False])}
    ids, given = np.tile(np.array([1, 0, 2, 1], dtype=np.int32), (500, 1)), np.ones((500, 4), dtype=bool)
    given[:, [1, 2]] = False
    filled = complete(forest, ids, given, np.random.default_rng(0), allowed)
    assert set(filled[:, 1]) <= {1, 2}


@pytest.mark.parametrize("slot", [0, 1, 3])
def test_chances_of_a_slot_are_those_of_enumeration(forest, slot):
    rows = rows_of_ids(50, seed=3)
    known = np.ones(rows.shape, dtype=bool)
    known[:, slot] = False
    found = chances(forest, rows, known, slot, np.random.default_rng(0))
    for k in range(5):
        every = np.tile(rows[k], (SLOTS[slot].size, 1))
        every[:, slot] = np.arange(SLOTS[slot].size)
        truth = np.exp(log_prob(forest, every))
        if truth.sum() > 0:
            np.testing.assert_allclose(found[k], truth / truth.sum(), atol=1e-9)


def test_chances_average_over_what_else_is_missing():
    forest = forest_of()
    rows = np.tile(np.array([0, 0, 2, 0], dtype=np.int32), (400, 1))
    known = np.zeros(rows.shape, dtype=bool)
    known[:, 2] = True
    found = chances(forest, rows, known, 3, np.random.default_rng(0)).mean(0)
    joint = np.exp(log_prob(forest, EVERY_ROW)) * (EVERY_ROW[:, 2] == 2)
    truth = np.bincount(EVERY_ROW[:, 3], joint) / joint.sum()
    np.testing.assert_allclose(found, truth, atol=0.02)


def test_context_is_read_and_never_written():
    rows = rows_of_ids()
    forest = grow(rows, SLOTS, ForestSettings(), np.random.SeedSequence(0), n_context=2)
    assert forest.n_values == 2
    context = np.tile(np.array([[1, 4], [0, 0]], dtype=np.int32), (BLOCK // 2, 1))
    written = draw_rows(forest, BLOCK, np.random.default_rng(0), context)
    whole = np.column_stack([context, written])
    truth = np.exp(log_prob(forest, EVERY_ROW))
    for start in (0, 1):
        given = (EVERY_ROW[:, :2] == context[start]).all(1)
        assert truth[given].sum() == pytest.approx(1.0)
        assert distance(frequencies(whole[start::2]), truth * given) < 0.05


def test_the_same_seed_grows_and_writes_the_same():
    first, second = (forest_of() for _ in range(2))
    rows = [draw_rows(f, 100, np.random.default_rng(0)) for f in (first, second)]
    np.testing.assert_array_equal(*rows)


def test_a_forest_comes_back_from_its_state(forest):
    again = from_state(*to_state(forest))
    rows = [draw_rows(f, 1000, np.random.default_rng(0)) for f in (forest, again)]
    np.testing.assert_array_equal(*rows)
    np.testing.assert_array_equal(log_prob(forest, EVERY_ROW), log_prob(again, EVERY_ROW))


@pytest.mark.parametrize("name", ["slots", "right", "sets", "margins", "leaf_entries", "ids", "counts"])
@pytest.mark.parametrize("how", ["cut", "longer", "large", "negative"])
def test_a_state_whose_parts_do_not_fit_is_refused_or_still_a_forest(name, how):
    facts, arrays = to_state(forest_of())
    array = arrays[name].copy()
    if how == "cut":
        array = array[:-1]
    elif how == "longer":
        array = np.append(array, array[-1:])
    elif array.dtype == np.uint8:
        return  # any bits are sets
    else:
        array[len(array) // 2] = 10_000 if how == "large" else -7
    if name in ("margins", "counts") and how == "large":
        return  # any counts are counts
    with pytest.raises(ValueError, match="forest"):
        from_state(facts, {**arrays, name: array})


def test_a_tree_of_many_rows_grows_on_some_and_counts_all():
    rows = rows_of_ids(3000)
    forest = grow(rows, SLOTS, ForestSettings(leaf_rows=60, grown_rows=300), np.random.SeedSequence(0))
    for j, slot in enumerate(forest.slots):
        assert slot.counts[0].counts.sum() == 3000
        assert np.bincount(slot.trees[0].leaves(slot.read(rows[:, :j]))).min() >= 60
    assert forest.slots[3].trees[0].n_leaves > 3


def test_a_score_lets_a_tree_follow_a_slope_that_its_leaves_are_too_few_for():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 40, (2, 800))
    rows = np.column_stack([first, second, (first + second + rng.integers(0, 3, 800)) // 2]).astype(np.int32)
    slots = [Target(40, True), Target(40, True), Target(41, True)]
    errors = []
    for scores in (False, True):
        forest = grow(rows, slots, ForestSettings(leaf_rows=40, scores=scores), np.random.SeedSequence(0))
        drawn = draw_rows(forest, BLOCK, np.random.default_rng(0))
        errors.append(np.abs(drawn[:, 2] - (drawn[:, 0] + drawn[:, 1] + 1) / 2).mean())
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize("name", ["score_values", "score_edges"])
@pytest.mark.parametrize("wrong", [lambda a: a[:-1], lambda a: np.append(a, a[-1:]), lambda a: np.full_like(a, np.nan)])
def test_a_state_with_a_score_that_does_not_fit_is_refused(name, wrong):
    facts, arrays = to_state(forest_of())
    with pytest.raises(ValueError, match="forest"):
        from_state(facts, {**arrays, name: wrong(arrays[name])})


def interacting(n: int, seed: int) -> np.ndarray:
    """Two slots of 40 ids each, and a third that follows their product, which no sum of one number per slot does."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 40, n), rng.integers(0, 40, n)
    c = np.clip(20 + (a - 20) * (b - 20) / 20 + rng.normal(0, 1, n), 0, 39).astype(int)
    return np.column_stack([a, b, c]).astype(np.int32)


@pytest.fixture(scope="module")
def boosted() -> Forest:
    slots = [Target(40, True)] * 3
    return grow(interacting(2500, 0), slots, ForestSettings(boost=True), np.random.SeedSequence(0))


def test_a_boosted_score_follows_what_no_sum_does(boosted):
    assert isinstance(boosted.slots[2].score, Boosted)
    plain = grow(interacting(2500, 0), [Target(40, True)] * 3, ForestSettings(), np.random.SeedSequence(0))
    new = interacting(1500, 1)
    assert log_prob(boosted, new).mean() > log_prob(plain, new).mean() + 0.05


def test_a_boosted_score_is_none_where_a_sum_explains_as_much():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 40, 2_500)
    rows = np.column_stack([a, np.clip(a + rng.integers(-3, 4, 2_500), 0, 39)]).astype(np.int32)
    forest = grow(rows, [Target(40, True)] * 2, ForestSettings(boost=True), np.random.SeedSequence(0))
    assert not isinstance(forest.slots[1].score, Boosted)


def test_lookups_of_boosted_trees_add_up_what_walking_down_each_tree_finds(boosted):
    score, rows = boosted.slots[2].score, interacting(200, 2)[:, :2]
    walked, start = np.zeros(200), 0
    for tree in score.trees:
        walked += score.values[start + tree.leaves(rows)]
        start += tree.n_leaves
    np.testing.assert_allclose(score.total(rows), walked, rtol=1e-4, atol=1e-5)


def test_boosted_scores_come_back_from_their_state_and_broken_ones_are_refused(boosted):
    facts, arrays = to_state(boosted)
    again = from_state(facts, arrays)
    rows = [draw_rows(f, 300, np.random.default_rng(0)) for f in (boosted, again)]
    np.testing.assert_array_equal(*rows)
    for name, wrong in (
        ("score_leaves", arrays["score_leaves"][:-1]),
        ("boost_slots", arrays["boost_slots"] + 5),
        ("boost_sets", arrays["boost_sets"][:-9]),
        ("boost_right", np.zeros_like(arrays["boost_right"])),
    ):
        with pytest.raises(ValueError, match="forest"):
            from_state(facts, {**arrays, name: wrong})
    with pytest.raises(ValueError, match="boosted trees"):
        from_state({**facts, "boosted": [[], [], [1] * 1000]}, arrays)


def test_an_answer_that_is_certain_stays_so_though_folds_differ_by_rounding():
    r = np.random.default_rng(0)
    year, label = r.integers(0, 150, 2400), r.integers(0, 2, 2400)
    answer = np.where((year >= 100) | (label * year > 60), r.integers(1, 3, 2400), 0)
    before = np.column_stack([year, label]).astype(np.int32)
    places = (answer > 0).astype(float)
    found = fit_boosted(before, [True, False], [150, 2], places, 0.0, np.random.default_rng(0))
    assert found is not None
    boosted, totals = found
    learned = np.searchsorted(boosted.edges, totals)
    drawn = boosted.beside(before)[:, -1]
    for value in (0, 1):
        assert set(drawn[places == value]) <= set(learned[places == value])
