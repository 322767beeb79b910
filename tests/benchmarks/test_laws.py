"""The measures of the benchmarks about laws, on rows whose figures are known."""

import numpy as np
import pandas as pd

from benchmarks import law_cost, law_search
from benchmarks import laws as bench
from tabtreeformer import Schema
from tabtreeformer.laws import given_laws


def test_shares_of_multiples_and_of_rows_that_belong_together():
    real = pd.DataFrame({"a": [10, 20, 25, 0], "k": list("xxyy"), "v": list("ppqq")})
    rows = pd.DataFrame({"a": [10, 15, 5, 0], "k": list("xyyz"), "v": list("ppqq")})
    assert bench.multiples("a", 10)(real, real) == 2 / 3
    assert bench.multiples("a", 10)(rows, real) == 1 / 3
    assert bench.belongs("v", "k")(rows, real) == 2 / 3


def test_a_goal_is_missed_by_one_broken_row_of_an_exact_law():
    assert bench.reached("exact", 1.0, 1.0)
    assert not bench.reached("exact", 1.0, 0.9999)
    assert bench.reached("dependence", 0.5, 0.52)
    assert not bench.reached("grain", 0.5, 0.53)


def test_a_law_that_fresh_rows_break_is_false():
    df = pd.DataFrame({"a": np.arange(100) // 2 * 3, "b": np.arange(100) % 7})
    df["c"] = df["a"] + df["b"]
    schema = Schema.infer(df)
    laws = given_laws(["c = a + b"], schema.validate(df), schema, floor=1)
    assert law_search.false_laws(laws, df) == {}
    assert law_search.false_laws(laws, df.assign(c=df["c"] + (np.arange(100) == 3))) == {"c = a + b": 0.01}


def test_the_wide_table_has_sums():
    df = law_search.wide(100, 200)
    assert df.shape == (200, 100)


def test_means_put_with_and_without_beside_each_other():
    line = dict.fromkeys(law_cost.NUMBERS, 0.5) | {"table": "t", "seed": 0, "writer": "trees", "n_laws": 2}
    text = law_cost.means(pd.DataFrame([{**line, "laws": "found"}, {**line, "laws": "none", "n_laws": 0}]))
    assert "0.500 / 0.500" in text
