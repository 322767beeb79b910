"""Dates as people write them: without leading zeros, packed, day or month first; they come back to the letter."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import Schema
from tabtreeformer.data.schema.forms import DATE_FORMS, read_dates, write_dates


@pytest.mark.parametrize(
    ("texts", "form", "said"),
    [
        (["1/5/2024", "13/12/2023"], "%-d/%-m/%Y", "day first"),
        (["1/5/2024", "12/13/2023"], "%-m/%-d/%Y", "month first"),
        (["1/5/2024", "2/3/2024"], "%-d/%-m/%Y", "day first; month and day may be the other way round"),
        (["01/05/2024", "13/12/2023"], "%d/%m/%Y", "day first"),
        (["1/5/2024 9:05", "12/13/2023 17:30"], "%-m/%-d/%Y %-H:%M", "month first"),
        (["1.5.2024", "12.11.2023"], "%-d.%-m.%Y", "day first"),
        (["20141013T000000", "20150101T120000"], "%Y%m%dT%H%M%S", "dates written as text"),
        (["6/5/2024 7:34 PM", "3/31/2024 12:05 AM"], "%-m/%-d/%Y %-I:%M %p", "month first"),
        (["06/05/2024 07:34:10 PM", "03/31/2024 12:05:00 PM"], "%m/%d/%Y %I:%M:%S %p", "month first"),
        (["9:05 AM", "12:30 PM"], "%-I:%M %p", "dates written as text"),
        (["29.9.23 16:03", "5.2.24 9:44"], "%-d.%-m.%y %-H:%M", "day first"),
        (["Aug 1 2004", "Sep 12 2004"], "%b %-d %Y", "dates written as text"),
        (["1-Jan-24", "12-Feb-23"], "%-d-%b-%y", "dates written as text"),
        (["5 May 2024", "12 Jun 2023"], "%-d %b %Y", "dates written as text"),
    ],
)
def test_the_form_of_a_date_is_found_by_the_whole_column_and_said(texts, form, said):
    column = Schema.infer(pd.DataFrame({"d": texts * 5, "b": 1})).columns[0]
    assert (column.kind, column.form) == ("datetime", form)
    assert column.why.endswith(said) or said in column.why
    assert ("other way round" in column.why) == ("other way round" in said)
    series = pd.Series(texts * 5)
    assert column.write(column.read(series).to_numpy()).tolist() == texts * 5


@pytest.mark.parametrize("form", DATE_FORMS)
def test_every_form_reads_what_it_writes(form):
    times = pd.Series(pd.date_range("2021-01-09 00:00", periods=30, freq="29h7min")).astype("datetime64[us]")
    texts = write_dates(times.to_numpy().astype(np.int64), form)
    again = read_dates(texts, form)
    assert again is not None
    assert write_dates(again, form) == texts


@pytest.mark.parametrize("texts", [["6/41/2024", "1/5/2024"], ["1/5/2024", "01/5/2024"], ["1/5/2024", "soon"]])
def test_a_column_that_is_not_all_dates_of_one_form_is_no_date(texts):
    assert Schema.infer(pd.DataFrame({"d": texts * 5, "b": 1})).columns[0].kind != "datetime"
