import json
import re
import uuid

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.config.presets import PRESETS
from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.schema import Column, Schema
from tabtreeformer.tokens import TableCodec
from tabtreeformer.tokens.codecs.patterns import Pattern
from tabtreeformer.tokens.codecs.row_numbers import RowNumbers
from tabtreeformer.tokens.codecs.unlearned import KeyCodec, TextCodec

CONFIG = TokenConfig()
TEXT = Column("name", "text", "object")


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("texts", "shape"),
    [
        ([f"C-{i:05d}" for i in range(100)], r"C-\d{5}"),
        ([f"C{i}" for i in range(100)], r"C\d{3}"),
        ([f"{'AB' if i % 2 else 'XY'}/{i:03d}/z" for i in range(100)], r"(AB|XY)/\d{3}/z"),
        ([str(uuid.UUID(int=i << 64, version=4)) for i in range(50)], r"[0-9a-f-]{14}4[0-9a-f-]{4}[89ab][0-9a-f-]{16}"),
        ([f"{i * 7919 % 2**32:08x}" for i in range(1, 500)], r"[0-9a-f]{8,9}"),
        ([f"{i:03d}" for i in range(1000)], r"1\d{3}"),
    ],
)
def test_new_keys_have_the_form_of_the_old_ones_and_none_of_their_values(texts, shape):
    pattern = Pattern.learn(texts, floor=5)
    pattern = Pattern.from_json(json.loads(json.dumps(pattern.to_json())))
    new = pattern.write(RowNumbers.first(300), rng())
    assert len(set(new)) == 300
    assert not set(new) & set(texts)
    assert all(re.fullmatch(shape, text) for text in new), new[:3]


def test_texts_of_several_forms_have_no_pattern():
    assert Pattern.learn(["Ann Lee", "Bo"], floor=5) is None
    assert Pattern.learn([], floor=5) is None


def test_a_word_that_few_keys_have_is_not_kept():
    pattern = Pattern.learn([f"smith{i}" if i < 2 else f"user{i}" for i in range(50)], floor=5)
    assert "smith" not in json.dumps(pattern.to_json())


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=40, unique=True))
def test_any_texts_give_new_ones_that_are_unique_and_unlike(texts):
    codec = KeyCodec.learn(pd.Series(texts, dtype=object), Column("k", "identifier", "object"), CONFIG)
    codec = KeyCodec.from_json(json.loads(json.dumps(codec.to_json())))
    new = codec.decode(np.empty((40, 0)), rng())
    assert len(set(new)) == 40
    assert not set(new) & set(texts)


@pytest.mark.parametrize(
    ("values", "dtype", "first"),
    [([5, 9, 7], "int64", 10), ([100, 127], "int8", 99), ([2**64 - 2], "uint64", 2**64 - 1), ([1, 2], "Int64", 3)],
)
def test_numbers_go_on_where_the_type_has_room(values, dtype, first):
    series = pd.Series(values, dtype=dtype).to_numpy(dtype=np.uint64 if dtype == "uint64" else np.int64)
    codec = KeyCodec.learn(pd.Series(series), Column("k", "identifier", dtype), CONFIG)
    new = codec.decode(np.empty((50, 0)), rng()).tolist()
    assert new[0] == first
    assert len(set(new)) == 50
    assert not set(new) & set(values)


def test_a_type_without_room_still_gives_rows():
    codec = KeyCodec.learn(pd.Series(range(-128, 128)), Column("k", "identifier", "int8"), CONFIG)
    assert len(codec.decode(np.empty((300, 0)), rng())) == 300


def test_keys_go_on_over_parts_of_a_table():
    codec = KeyCodec.learn(pd.Series([1, 2, 3]), Column("k", "identifier", "int64"), CONFIG)
    parts = [codec.decode(np.empty((5, 0)), rng(), RowNumbers(np.arange(5) + 5 * k)).tolist() for k in range(3)]
    assert [number for part in parts for number in part] == list(range(4, 19))


@pytest.mark.parametrize(
    ("texts", "longest"),
    [
        ([f"{i * 7919 % 2**32:08x}" for i in range(1, 500)], 9),
        (["ab-x", "cd-y", "ef-z", "gh-w"], 6),
        (list("abc"), 5),  # two letters hold 676 texts: some of 5,000 have to be longer
        ([str(uuid.UUID(int=i << 64, version=4)) for i in range(50)], 36),
    ],
)
def test_texts_without_a_number_do_not_repeat_over_parts_that_know_nothing_of_each_other(texts, longest):
    pattern = Pattern.learn(texts, floor=5)
    assert pattern.counter is None
    whole = [
        text
        for k in range(5)
        for text in pattern.write(RowNumbers(np.arange(1000) + 1000 * k, seed=3), np.random.default_rng(k))
    ]
    assert len(set(whole)) == 5000
    assert max(map(len, whole)) <= longest
    other = pattern.write(RowNumbers(np.arange(1000), seed=4), rng())
    assert other != whole[:1000]


@pytest.mark.parametrize("size", [1, 2, 5, 64, 1000])
def test_scattered_numbers_are_each_there_once(size):
    scattered = RowNumbers(np.arange(2 * size), seed=1).scattered(size)
    assert sorted(scattered[:size]) == list(range(size))
    assert np.array_equal(scattered[:size], scattered[size:])
    assert size < 64 or (np.diff(scattered[:size]) != 1).mean() > 0.9


def test_frequent_texts_are_kept_and_rare_ones_never():
    values = pd.Series(["none"] * 30 + ["called back"] * 5 + ["called"] * 4 + [f"note {i} on Ann" for i in range(20)])
    codec = TextCodec.learn(values, TEXT, CONFIG)
    assert codec.labels.values == ("called back", "none")
    codec = TextCodec.from_json(json.loads(json.dumps(codec.to_json())))
    back = codec.decode(codec.encode(values), rng())
    assert (back[:35] == values[:35]).all()
    assert not set(back[35:]) & set(values)
    assert "Ann" not in json.dumps(codec.to_json())
    assert "21 rare ones are replaced, e.g. by 'name 1'" in codec.note()


def test_the_placeholder_can_be_chosen():
    column = Column("name", "text", "object", placeholder="(withheld)")
    codec = TextCodec.learn(pd.Series([f"n {i} x" for i in range(30)]), column, CONFIG)
    assert set(codec.decode(np.zeros((5, 0)), rng())) == {"(withheld)"}


def test_a_text_never_seen_counts_as_rare():
    codec = TextCodec.learn(pd.Series(["a"] * 9 + ["b"] * 2), TEXT, CONFIG)
    assert codec.encode(pd.Series(["a", "zzz"])).tolist() == [[0], [1]]


def test_rare_texts_of_the_papers_presets_are_made_up_unless_the_column_is_called_categorical():
    names = pd.Series([f"{a} {b}" for a in ("often", "rare") for b in range(300)])
    names[:300] = "often"
    df = pd.DataFrame({"name": names})
    schema = Schema.infer(df)
    assert schema.column("name").kind == "text"
    tokens = PRESETS["S"].tokens
    as_text = TableCodec.learn(df, schema, tokens)
    written = as_text.decode(as_text.encode(df), rng())
    assert not set(written["name"]) - {"often"} & set(names)
    as_labels = TableCodec.learn(df, schema.with_kind("name", "categorical"), tokens)
    pd.testing.assert_frame_equal(as_labels.decode(as_labels.encode(df), rng()), df)
