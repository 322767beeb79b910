import numpy as np
import pytest

from tabtreeformer.artifact.prompt_bank import PromptBank
from tabtreeformer.sampling.prompts import protected_bank

LEAVES = np.arange(40).reshape(10, 4)


def bank(hidden=None, seed=0):
    hidden = np.zeros((10, 4), dtype=bool) if hidden is None else hidden
    return PromptBank.build(LEAVES, hidden, np.random.default_rng(seed))


def test_hidden_leaves_are_forgotten_and_the_order_is_random():
    hidden = np.random.default_rng(1).random((10, 4)) < 0.5
    built = bank(hidden).leaf_ids
    assert sorted(built.tolist()) == sorted(np.where(hidden, -1, LEAVES).tolist())
    assert built.tolist() != np.where(hidden, -1, LEAVES).tolist()


def test_prompts_do_not_repeat_while_there_are_enough():
    drawn = bank().draw(10, np.random.default_rng(2))
    assert sorted(drawn.tolist()) == LEAVES.tolist()


def test_beyond_the_number_of_rows_they_repeat():
    assert bank().draw(1000, np.random.default_rng(2)).shape == (1000, 4)


def test_a_model_without_trees_has_empty_prompts():
    empty = PromptBank.build(np.empty((5, 0), dtype=np.int64), np.empty((5, 0), dtype=bool), np.random.default_rng(0))
    assert empty.draw(9, np.random.default_rng(0)).shape == (9, 0)


@pytest.mark.parametrize("all_real", [True, False])
def test_a_protected_prompt_fits_nobody_or_a_crowd(all_real):
    rng, floor, n_trees = np.random.default_rng(3), 4, 7
    real, written = rng.integers(0, 3, (200, n_trees)), rng.integers(0, 4, (300, n_trees))  # no real row is in leaf 3
    hidden = rng.random(written.shape) < 0.2
    built = protected_bank(written, hidden, real, floor, np.random.default_rng(4), all_real=all_real).leaf_ids

    def crowd(prompt):
        return int(((prompt < 0) | (prompt == real)).all(axis=1).sum())

    crowds = np.array([crowd(prompt) for prompt in built])
    assert set(crowds[crowds < floor]) == ({0} if all_real else set())
    assert np.sum(crowds >= floor) > 50  # both kinds are common here, so that neither claim is empty
    assert not all_real or np.sum(crowds == 0) > 50

    again, expected = np.random.default_rng(4), []
    for leaves, mask in zip(written, hidden, strict=True):
        shown = again.permutation(np.flatnonzero(~mask))[:4]  # half of seven, rounded up
        whole = np.full(n_trees, -1)
        whole[shown] = leaves[shown]
        prompt = np.full(n_trees, -1)
        for tree in shown:
            tried = prompt.copy()
            tried[tree] = leaves[tree]
            prompt = tried if crowd(tried) >= floor else prompt
        expected.append(whole if all_real and crowd(whole) == 0 else prompt)
    np.testing.assert_array_equal(built, np.array(expected)[again.permutation(len(expected))])
