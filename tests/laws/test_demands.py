"""Sentences with constants, with conditions and with a tolerance: read, kept in every row, in files and schemas."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tabtreeformer import TabTreeFormer
from tabtreeformer.cli import app
from tabtreeformer.data.schema import Schema
from tabtreeformer.errors import SchemaError
from tabtreeformer.laws import Laws, given_laws, parse

N = 400
SENTENCES = (
    "fare > 0",
    "0 <= share <= 1",
    "if payment = 'cash' then tip = 0",
    "if payment = 'card' and fare > 20 then tip > 0.5",
    "if note is missing then payment != 'other'",
    "start >= '2024-01-01'",
    "total = fare + tip ± 0.05",
)


def trips() -> pd.DataFrame:
    """Rows that keep all sentences; in most rows the total is a few cents off."""
    r = np.random.default_rng(0)
    payment = r.choice(["cash", "card", "other"], N, p=[0.5, 0.4, 0.1])
    fare = r.uniform(1, 40, N).round(2)
    tip = np.where(payment == "cash", 0, r.uniform(0.6, 9, N).round(2))
    return pd.DataFrame(
        {
            "payment": payment,
            "fare": fare,
            "tip": tip,
            "total": (fare + tip + r.integers(-5, 6, N) / 100).round(2),
            "share": r.uniform(0, 1, N).round(3),
            "note": np.where((payment != "other") & (r.random(N) < 0.5), None, "seen"),
            "start": pd.Timestamp("2024-01-01") + pd.to_timedelta(r.integers(0, 300, N), unit="D"),
        }
    )


def broken(rows: pd.DataFrame) -> dict[str, int]:
    """How many rows break each sentence, computed by hand."""
    cash, card = rows["payment"] == "cash", rows["payment"] == "card"
    return {
        "fare": int((rows["fare"] <= 0).sum()),
        "share": int((~rows["share"].between(0, 1)).sum()),
        "cash": int((cash & (rows["tip"] != 0)).sum()),
        "card": int((card & (rows["fare"] > 20) & (rows["tip"] <= 0.5)).sum()),
        "note": int((rows["note"].isna() & (rows["payment"] == "other")).sum()),
        "start": int((rows["start"] < "2024-01-01").sum()),
        "total": int(((rows["total"] - rows["fare"] - rows["tip"]).abs() > 0.05 + 1e-9).sum()),
    }


def shuffled(df: pd.DataFrame) -> pd.DataFrame:
    """The same columns, each in an order of its own: what a writer that learned nothing would write."""
    r = np.random.default_rng(1)
    table = pd.DataFrame({name: df[name].to_numpy()[r.permutation(len(df))] for name in df})
    return table.assign(fare=table["fare"] - 5, share=table["share"] * 1.5)


def test_rows_that_break_a_sentence_are_put_right():
    df = trips()
    schema = Schema.infer(df)
    laws = given_laws(SENTENCES, df, schema, floor=5)
    again = Laws.from_json(json.loads(json.dumps(laws.to_json())), schema)
    before = broken(shuffled(df))
    assert min(count for name, count in before.items() if name != "start") > 5
    for own in (laws, again):
        after = own.restore(own.express(shuffled(df)), np.random.default_rng(0))
        assert broken(after) == dict.fromkeys(before, 0)
        assert list(after.dtypes) == list(df.dtypes)
    off = (after["total"] - after["fare"] - after["tip"]).round(2)
    assert off.nunique() > 5  # as far off as totals of the table, and not all equal


def test_every_new_row_keeps_what_is_demanded(tmp_path):
    df = trips()
    model = TabTreeFormer(preset="trees", constraints=SENTENCES, privacy="off", random_state=0, verbose=False).fit(df)
    model.save(tmp_path / "trips.tabtree")
    rows = TabTreeFormer.load(tmp_path / "trips.tabtree", verbose=False).sample(1000, random_state=0)
    assert broken(rows) == dict.fromkeys(broken(rows), 0)
    assert {"fare > 0", "total = fare + tip ± 0.05"} <= set(model.fitted_.codec.laws.texts)


@pytest.mark.parametrize("by", ["schema", "option"])
def test_sentences_come_from_a_schema_file_or_the_command_line_too(tmp_path, by):
    trips().to_csv(tmp_path / "trips.csv", index=False)
    words = ["fit", str(tmp_path / "trips.csv"), "--preset", "trees", "-o", str(tmp_path / "m.tabtree"), "--quiet"]
    if by == "schema":
        replace(Schema.infer(trips()), constraints=("fare > 0",)).save(tmp_path / "schema.json")
        words += ["--schema", str(tmp_path / "schema.json")]
    else:
        words += ["--constraint", "fare > 0", "--constraint", "if payment = 'cash' then tip = 0"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    texts = TabTreeFormer.load(tmp_path / "m.tabtree", verbose=False).fitted_.codec.laws.texts
    assert "fare > 0" in texts
    assert (len(texts) > 1) == (by == "option")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("fare>0", "fare > 0"),
        ("0 < fare", "fare > 0"),
        ("0 <= share <= 1", "share >= 0 and share <= 1"),
        ('if payment == "cash" then tip == 0', "if payment = 'cash' then tip = 0"),
        ("if payment = 'cash' and fare > 10 then tip = 0", "if payment = 'cash' and fare > 10 then tip = 0"),
        ("if note is missing then tip >= 0", "if note is missing then tip >= 0"),
        ("fare + tip = total ± 0.01", "total = fare + tip ± 0.01"),
        ("total = fare + tip +- 0.01", "total = fare + tip ± 0.01"),
        ("fare + tip = total", "total = fare + tip"),
        ("fare > 0, nearly always", "fare > 0, nearly always"),
    ],
)
def test_sentences_are_read_and_written(written, read):
    schema = Schema.infer(trips())
    assert parse(written, schema).text == read
    assert parse(read, schema) == parse(written, schema)


@pytest.mark.parametrize(
    ("sentence", "error"),
    [
        ("fair > 0", "'fair', which is not a column"),
        ("payment > 'cash'", "has no order"),
        ("if payment = 'cash' tip = 0", "cannot be read; write it as"),
        ("if tip = 0 then tip > 1", "names 'tip' on both sides"),
        ("start > 'soon'", "cannot be the end of a range"),
        ("fare > 20", "does not hold in the table"),
    ],
)
def test_a_sentence_that_cannot_be_kept_is_an_error_with_its_reason(sentence, error):
    df = trips()
    with pytest.raises(SchemaError, match=error):
        given_laws([sentence], df, Schema.infer(df), floor=5)


def test_a_demand_of_a_computed_column_says_where_to_demand_it():
    df = trips().assign(total=lambda t: (t["fare"] + t["tip"]).round(2))
    with pytest.raises(SchemaError, match="'total' is computed; restrict fare, tip instead"):
        given_laws(["total = fare + tip", "total > 0"], df, Schema.infer(df), floor=5)
