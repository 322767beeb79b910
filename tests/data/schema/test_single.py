"""Floats of 64 bits that have passed through 32, as statistics packages store them."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.data.schema import Column, Schema
from tabtreeformer.data.schema.infer import describe
from tabtreeformer.data.schema.values import SINGLE


def stored(decimals):
    """Decimals as they come back from 32 bits: 3.1 is 3.0999999046325684."""
    return pd.Series(np.array(decimals, dtype=np.float32).astype(np.float64))


def test_numbers_that_passed_through_32_bits_are_read_as_their_decimals_and_written_as_they_were():
    series = stored([3.1, 24.98, 0.07, -1.5])
    column = describe(series, "wage")
    assert column.form == SINGLE
    assert column.single
    assert column.read(series).tolist() == [3.1, 24.98, 0.07, -1.5]
    pd.testing.assert_series_equal(column.write(column.read(series).to_numpy()), series, check_names=False)


@pytest.mark.parametrize("values", [[0.5, 0.25, 3.0], [3.1, 24.98, 0.07], [0.1, np.float64(np.float32(0.1))]])
def test_other_floats_are_plain_numbers(values):
    column = describe(pd.Series(values), "wage")
    assert column.form is None
    assert not column.single


@pytest.mark.parametrize("dtype", ["float32", "Float32"])
def test_a_dtype_of_32_bits_is_short_by_itself(dtype):
    column = describe(pd.Series([3.1, 24.98, 0.07], dtype=dtype), "wage")
    assert column.form is None
    assert column.single


def test_the_form_is_kept_in_a_schema_file_and_gaps_stay(tmp_path):
    df = pd.DataFrame({"wage": stored([3.1, 24.98, np.nan, 0.07] * 10), "job": list("abcd") * 10})
    schema = Schema.infer(df)
    assert Column.from_json(schema.column("wage").to_json()) == schema.column("wage")
    assert schema.validate(df)["wage"].isna().sum() == 10


def test_new_rows_have_the_decimals_of_the_table():
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"wage": stored(rng.gamma(2, 5, 400).round(1)), "job": rng.choice(["nurse", "cook"], 400)})
    rows = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(df).sample(200, random_state=0)
    wages = rows["wage"].to_numpy()
    assert (wages.astype(np.float32) == wages).all()
    assert (stored(wages.round(1)) == wages).all()


def test_a_reader_that_rounds_the_last_bit_hides_no_32_bits():
    series = stored([15.1, 3.1, 24.98, 0.07])
    series[0] = np.nextafter(series[0], 99)  # as pandas reads 15.100000381469727 by default
    column = describe(series, "points")
    assert column.form == SINGLE
    assert column.read(series).tolist() == [15.1, 3.1, 24.98, 0.07]
