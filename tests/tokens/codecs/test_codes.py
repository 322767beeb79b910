import json
import re

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.schema import Column
from tabtreeformer.tokens.codecs.codes import Codes
from tabtreeformer.tokens.codecs.patterns import Pattern
from tabtreeformer.tokens.codecs.row_numbers import RowNumbers
from tabtreeformer.tokens.codecs.unlearned import TextCodec


def tickets(n=300):
    r = np.random.default_rng(0)
    made = {
        "PC": [f"PC {k}" for k in r.integers(17000, 18000, n // 3)],
        "6": [str(k) for k in r.integers(230_000, 390_000, n // 3)],
        "A/5": [f"A/5 {k}" for k in r.integers(2000, 4000, n // 3)],
    }
    return sorted({text for texts in made.values() for text in texts}), made


def test_tickets_of_several_patterns_are_written_in_them_and_none_comes_back():
    texts, made = tickets()
    codes = Codes.learn(texts, floor=5)
    assert codes is not None
    forms = np.array([codes.form_of(text) for text in (made["PC"][0], made["6"][0], made["A/5"][0])] * 100)
    assert len(set(forms)) == 3
    new = codes.write(RowNumbers.first(300), np.random.default_rng(1), forms)
    assert pd.Series(new[0::3]).str.fullmatch(r"PC \d{5}").all()
    assert pd.Series(new[1::3]).str.fullmatch(r"\d{6}").all()
    assert pd.Series(new[2::3]).str.fullmatch(r"A/5 \d{4}").all()
    assert not set(new) & set(texts)
    assert len(set(new)) == 300


def test_what_is_written_has_the_pattern_that_was_asked_for():
    texts, _ = tickets()
    codes = Codes.from_json(json.loads(json.dumps(Codes.learn(texts, floor=5).to_json())))
    forms = np.random.default_rng(2).integers(0, codes.n_forms, 200)
    assert [
        codes.form_of(text) for text in codes.write(RowNumbers.first(200), np.random.default_rng(3), forms)
    ] == list(forms)


def test_numbers_come_again_where_all_are_used_up_but_never_a_learned_one():
    texts = [f"X{k}" for k in range(100, 180)] + [f"Y-{k}" for k in range(1000, 1080)]
    codes = Codes.learn(texts, floor=5)
    new = codes.write(RowNumbers.first(5000), np.random.default_rng(0), np.arange(5000) % codes.n_forms)
    assert not set(new) & set(texts)
    assert {len(text) for text in new} == {4, 6}


def tail_numbers(n=1500):
    """Like those of aircraft: all three-digit numbers occur, so that none is left above the largest."""
    r = np.random.default_rng(0)
    numbers, letters = r.integers(100, 1000, n), r.choice([*"ABU"], (n, 2))
    two = {f"N{k}{a}{b}" for k, (a, b) in zip(numbers, letters, strict=True)}
    one = {f"N{k}{a}" for k, (a, _) in zip(numbers[: n // 9], letters, strict=False)}
    return sorted(two | one | {f"N{k}" for k in r.integers(10_000, 100_000, n // 3)})


def test_codes_whose_numbers_are_used_up_keep_their_form_and_none_comes_back():
    texts = tail_numbers()
    codes = Codes.from_json(json.loads(json.dumps(Codes.learn(texts, floor=5).to_json())))
    forms = np.array([codes.form_of(text) for text in texts])
    new = codes.write(RowNumbers.first(len(texts)), np.random.default_rng(1), forms)
    assert not set(new) & set(texts)
    assert len(set(new)) > 0.9 * len(new)
    shapes = [[re.sub("(?<!^)[A-Z]", "A", re.sub(r"\d", "0", text)) for text in own] for own in (new, texts)]
    assert shapes[0] == shapes[1]
    assert not any(text.startswith("N0") for text in new)


@pytest.mark.parametrize(
    "damaged",
    [
        {"template": "N" * 99, "part": [2, 0]},
        {"template": "\\N?0", "part": [2, 0]},
        {"template": "\\N0", "part": [20, 3]},
    ],
)
def test_forms_of_a_damaged_file_are_refused(damaged):
    with pytest.raises(ValueError, match="form of a code"):
        Codes.from_json({"patterns": [damaged]})


def test_language_is_no_code():
    names = [f"{first} {last}" for first in ("Ann", "Bob", "Eve", "Tim") for last in ("Lee", "Poe", "Ray", "Fox")] * 3
    assert Codes.learn(sorted(set(names)), floor=2) is None
    assert Codes.learn([f"see chapter number {k} of the book" for k in range(50)], floor=2) is None


def test_which_pattern_fits_a_row_is_learned():
    texts, made = tickets()
    column = Column("ticket", "text", "object")
    values = pd.Series(made["PC"] + made["6"] + made["A/5"])
    codec = TextCodec.learn(values, column, TokenConfig(scheme="atoms", rare_floor=5))
    assert codec.slots(0)[0].size >= 3
    ids = codec.encode(values)
    assert len({*ids[:100, 0]} & {*ids[100:200, 0]}) == 0
    back = TextCodec.from_json(json.loads(json.dumps(codec.to_json()))).decode(ids, np.random.default_rng(0))
    assert pd.Series(back[:100]).str.startswith("PC ").all()
    assert not set(back) & set(texts)


def test_a_number_of_any_length_is_above_those_of_all_texts_like_it():
    texts = [f"rare {k}" for k in range(300)]
    codes = Codes.learn(texts, floor=5)
    forms = np.arange(600) % codes.n_forms
    assert not set(codes.write(RowNumbers.first(600), np.random.default_rng(0), forms)) & set(texts)


@pytest.mark.parametrize(
    ("make", "form"),
    [
        (lambda rng: ":".join(f"{byte:02x}" for byte in rng.bytes(6)), r"([0-9a-f]{2}:){5}[0-9a-f]{2}"),
        (lambda rng: "-".join(f"{n:04d}" for n in rng.integers(10_000, size=4)), r"(\d{4}-){3}\d{4}"),
    ],
)
def test_keys_of_fields_keep_the_length_of_each(make, form):
    rng = np.random.default_rng(0)
    real = [make(rng) for _ in range(500)]
    new = Pattern.learn(real, 5).write(RowNumbers.first(2000), rng)
    assert all(re.fullmatch(form, text) for text in new)
    assert len(set(new)) == 2000
    assert not set(new) & set(real)
