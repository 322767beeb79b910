"""Kinds are those that a careful analyst would choose."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.data.schema import (
    BOOLEAN,
    CATEGORICAL,
    CONSTANT,
    DATETIME,
    IDENTIFIER,
    NUMERIC,
    TEXT,
    TIMEDELTA,
    Schema,
)
from tabtreeformer.errors import SchemaError

N = 60
RNG = np.random.default_rng(0)
SCATTERED = RNG.permutation(np.arange(N) ** 2 + 1000)
"""Whole numbers that never repeat, in no order."""


def spread(values):
    return [values[i % len(values)] for i in range(N)]


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("age", RNG.integers(18, 80, N), NUMERIC),
        ("rooms", spread([1, 2, 3]), NUMERIC),
        ("amount", SCATTERED, NUMERIC),
        ("ratio", RNG.random(N), NUMERIC),
        ("year", RNG.integers(1990, 2024, N), NUMERIC),
        ("year", np.arange(1960, 1960 + N), NUMERIC),
        ("Unnamed: 0", SCATTERED, IDENTIFIER),
        ("rownames", SCATTERED, IDENTIFIER),
        ("zip", RNG.integers(10000, 99999, N), CATEGORICAL),
        ("PLZ", RNG.integers(10000, 99999, N), CATEGORICAL),
        ("day", spread([20240131, 20240201, 20231224]), DATETIME),
        ("not days", spread([20249931, 20240201, 20231224]), NUMERIC),
        ("id", SCATTERED, IDENTIFIER),
        ("customerId", SCATTERED, IDENTIFIER),
        ("account_key", SCATTERED, IDENTIFIER),
        ("paid", SCATTERED, NUMERIC),
        ("row", np.arange(N), IDENTIFIER),
        ("row", np.delete(np.arange(N + 7), [3, 9, 10, 20, 33, 40, 41]), IDENTIFIER),
        ("yes", [True, False] * (N // 2), BOOLEAN),
        ("share", [f"{v}%" for v in spread([5, 10, 12])], NUMERIC),
        ("price", [f"€ {v:,.2f}" for v in RNG.random(N) * 1e4], NUMERIC),
        ("weight", [f"{v} kg" for v in RNG.integers(40, 99, N)], NUMERIC),
        ("number as text", [str(v) for v in RNG.integers(1, 5000, N)], NUMERIC),
        ("code", spread(["01", "02", "13"]), CATEGORICAL),
        ("code", [f"{v:03d}" for v in spread(range(18))], CATEGORICAL),
        ("Kundennr.", SCATTERED, IDENTIFIER),
        ("order_id", [str(v) for v in SCATTERED], IDENTIFIER),
        ("ref", [f"AB-{v}" for v in SCATTERED], IDENTIFIER),
        ("ref", [f"a{v:07x}" for v in SCATTERED], IDENTIFIER),
        ("when", [f"2024-01-{d:02d}" for d in spread(range(1, 29))], DATETIME),
        ("when", [f"2024-01-{d:02d}T08:30:00Z" for d in spread(range(1, 29))], DATETIME),
        ("when", [f"{d:02d}/01/2024" for d in spread(range(1, 29))], DATETIME),
        ("when", [f"01/{d:02d}/2024" for d in spread(range(1, 29))], DATETIME),
        ("when", [f"{h:02d}:30" for h in spread(range(24))], DATETIME),
        ("city", spread(["Köln", "Ulm", "Bern"]), CATEGORICAL),
        ("name", [f"{a}nna {b}ohr" for a in "ABCDEFGHIJ" for b in "UVWXYZ"], TEXT),
        ("note", spread([f"the {w} was late again today" for w in "abcdefghijklmnopqrstuvwxyzäöüßéèñ"]), TEXT),
        ("mail", [f"p{v}@example.org" for v in SCATTERED], TEXT),
        ("same", ["x"] * N, CONSTANT),
        ("same", [7] * N, CONSTANT),
        ("nothing", [None] * N, CONSTANT),
        ("stay", pd.to_timedelta(RNG.integers(0, 9, N), unit="D"), TIMEDELTA),
        ("born", pd.to_datetime("2000-01-01") + pd.to_timedelta(RNG.integers(0, 9, N), unit="D"), DATETIME),
    ],
)
def test_a_column_is_of_the_kind_that_a_careful_analyst_would_choose(name, values, kind):
    column = Schema.infer(pd.DataFrame({name: values})).columns[0]
    assert column.kind == kind, column.why
    assert column.why


def test_few_rows_do_not_make_a_key():
    assert Schema.infer(pd.DataFrame({"id": [3, 1, 2]})).columns[0].kind == NUMERIC


def test_the_target_is_never_a_key():
    df = pd.DataFrame({"id": SCATTERED, "y": range(N)})
    assert Schema.infer(df, "y").column("y").kind == NUMERIC


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (["a", "b"], DATETIME, "'x' has dtype .* cannot be datetime; .*pd.to_datetime, or give its form"),
        (["a", "b"], TIMEDELTA, "cannot be timedelta"),
        ([1.5, 2.5], TEXT, "cannot be text; use kind 'categorical'"),
        ([1.5, 2.5], IDENTIFIER, "cannot be identifier"),
        (pd.Categorical(["a", "b"]), TEXT, "has dtype category and cannot be text"),
    ],
)
def test_a_kind_that_cannot_be_says_why(values, kind, message):
    with pytest.raises(SchemaError, match=message):
        Schema.infer(pd.DataFrame({"x": values})).with_kind("x", kind)


def test_a_schema_file_can_be_edited_and_read_back(tmp_path):
    df = pd.DataFrame(
        {"zone": spread([1, 2, 3]), "when": spread(["01/02/2024", "03/04/2024"]), "t": spread(["a", "b"])}
    )
    Schema.infer(df).save(tmp_path / "schema.json")
    text = (tmp_path / "schema.json").read_text()
    assert '"why": "whole numbers with 3 values, each kept exactly"' in text
    text = text.replace('"numeric"', '"categorical"').replace("%d/%m/%Y", "%m/%d/%Y")
    (tmp_path / "schema.json").write_text(text)
    schema = Schema.load(tmp_path / "schema.json").matched(df)
    assert schema.column("zone").kind == CATEGORICAL
    assert schema.column("when").form == "%m/%d/%Y"
    assert schema.column("t") == Schema.infer(df).column("t")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "is not a schema: it lists no columns"),
        ('{"columns": [{"name": "a", "kind": "odd", "dtype": "int64"}]}', "column 'a' cannot be of kind 'odd'; known"),
        (
            '{"columns": [{"name": "a", "kind": "numeric", "dtype": "object"}]}',
            "column 'a' has dtype object and cannot",
        ),
        ('{"columns": [{"name": "a", "kind": "numeric", "dtyp": "object"}]}', "column 'a' has no field 'dtyp'; known"),
        ('{"columns": [{"name": "a", "kind": "numeric", "dtype": "int65"}]}', "there is no dtype 'int65'"),
        ('{"format": 99, "columns": []}', "written by a newer version"),
    ],
)
def test_a_schema_file_that_cannot_be_used_says_why(tmp_path, text, message):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(SchemaError, match=message):
        Schema.load(tmp_path / "s.json")
    with pytest.raises(SchemaError, match="there is no file"):
        Schema.load(tmp_path / "none.json")


def test_a_schema_takes_the_dtypes_of_the_table_at_hand():
    df = pd.DataFrame({"a": spread([1, 2, 3]), "b": spread(["x", "y"])})
    schema = Schema.infer(df).with_kind("a", CATEGORICAL).matched(df.astype({"a": "float32", "b": "category"}))
    assert [(c.kind, c.dtype) for c in schema.columns] == [(CATEGORICAL, "float32"), (CATEGORICAL, "category")]


def test_a_column_without_any_value_must_be_constant():
    schema = Schema.infer(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(SchemaError, match="'a' has no value at all, and is numeric in the schema; make it constant"):
        schema.validate(pd.DataFrame({"a": [np.nan, np.nan]}))
