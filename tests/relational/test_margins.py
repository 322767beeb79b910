import numpy as np
import pandas as pd

from tabtreeformer.relational.margins import learn_margin, with_margin


def test_frequent_numbers_are_kept_and_rare_ones_are_merged():
    counts = pd.Series([0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 7, 8, 9, 20, 100])
    margin = learn_margin(counts, floor=5)
    assert [round(level, 2) for level, _ in margin] == [0.0, 1.0, 2.0, 10.4]  # 20 and 100 count as 14
    assert sum(share for _, share in margin) == 1.0


def test_numbers_of_children_take_the_margin_and_keep_their_ranks():
    rng = np.random.default_rng(0)
    real = pd.Series(rng.negative_binomial(1, 0.2, 1000))
    drawn = pd.Series(rng.poisson(3, 1000))
    new = with_margin(drawn, learn_margin(real, floor=1), rng)
    assert np.abs(np.bincount(new, minlength=60)[:30] - np.bincount(real, minlength=60)[:30]).max() <= 1
    assert (new[drawn > drawn.median()].mean()) > new[drawn < drawn.median()].mean()
