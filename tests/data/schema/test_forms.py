import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.data.schema.forms import NumberForm, find_date_form, find_number_form, read_dates, write_dates


@pytest.mark.parametrize(
    ("texts", "form", "numbers"),
    [
        (["$1,200.50", "$3.00", "-$0.25"], "$1,000.00", [1200.5, 3, -0.25]),
        (["12%", "3%"], "1000%", [12, 3]),
        (["12.5%", "3%"], "1000.#%", [12.5, 3]),
        (["1.234,50 €", "2,00 €"], "1.000,00 €", [1234.5, 2]),
        (["1'000", "20"], "1'000", [1000, 20]),
        (["USD 5", "USD 1000"], "USD 1000", [5, 1000]),
        (["7", "12"], "1000", [7, 12]),
    ],
)
def test_numbers_in_one_form_are_found_read_and_written(texts, form, numbers):
    found = find_number_form(texts)
    assert str(found) == form
    assert NumberForm.parse(form) == found
    assert found.read(texts).tolist() == numbers
    assert found.write(np.array(numbers, dtype=float)) == texts


@pytest.mark.parametrize(
    "texts",
    [
        *(["007", "12"], ["1", "x"], ["$1", "€1"], ["1.5", "1,5"], [""], []),
        *(["C12", "C13"], ["A-12", "A-13"], ["#12", "#13"]),
    ],
)
def test_what_would_not_come_back_to_the_letter_is_no_number(texts):
    assert find_number_form(texts) is None


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=5),
    st.sampled_from(["$1,000.00", "1000%", "1.000,0 €", "1000.000 kg"]),
)
def test_every_form_reads_what_it_writes(counts, text):
    form = NumberForm.parse(text)
    numbers = np.array(counts) / 10.0**form.decimals
    assert np.allclose(form.read(form.write(numbers)), numbers, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["2024-02-29", "1999-12-31"], "%Y-%m-%d"),
        (["13/01/2024"], "%d/%m/%Y"),
        (["01/13/2024"], "%m/%d/%Y"),
        (["2024-02-29T08:00:00.250000Z"], "%Y-%m-%dT%H:%M:%S.%fZ"),
        (["Feb 29, 2024"], "%b %d, %Y"),
        (["31.12.2024 23:59"], "%d.%m.%Y %H:%M"),
        (["2024-13-01"], None),
        (["2024-02-29", "tomorrow"], None),
        (["1/2/2024"], "%-d/%-m/%Y"),
        (["1/2/24 o'clock"], None),
        (["12345"], None),
    ],
)
def test_dates_in_one_form_are_found(texts, form):
    assert find_date_form(texts) == form
    if form is not None:
        assert write_dates(read_dates(texts, form), form) == texts
