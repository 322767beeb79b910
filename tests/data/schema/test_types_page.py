"""Every dtype comes back, and the page that says so is the one that the code writes."""

import runpy
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("pyarrow", reason="needs the parquet extra")
ROOT = Path(__file__).parents[3]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "types_page.py"))
EXAMPLES = SCRIPT["examples"]()
WRITTEN_ANEW = ("a key", "names", "running number")


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in WRITTEN_ANEW])
def test_a_column_comes_back_value_by_value_in_the_very_same_dtype(name):
    series = EXAMPLES[name]
    _, back = SCRIPT["round_trip"](series)
    pd.testing.assert_series_equal(back, series.rename("x"))
    if series.dtype == object:
        assert [type(value) for value in back] == [type(value) for value in series]


@pytest.mark.parametrize("name", WRITTEN_ANEW)
def test_keys_and_rare_text_come_back_in_the_same_dtype_and_never_as_they_were(name):
    _, back = SCRIPT["round_trip"](EXAMPLES[name])
    assert back.dtype == EXAMPLES[name].dtype
    assert not set(back) & set(EXAMPLES[name])
    assert back.is_unique


@pytest.mark.skipif(int(pd.__version__.split(".")[0]) < 3, reason="the page shows pandas 3")
def test_the_page_is_the_one_that_the_code_writes():
    assert (ROOT / "docs" / "types.md").read_text(encoding="utf-8") == SCRIPT["page"]()
