import numpy as np

from tabtreeformer.generation import PromptBank

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
