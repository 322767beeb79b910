"""Fitting a table in parts: the same model as from memory, and all that occurs though only some rows are sampled."""

import dataclasses

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from tabtreeformer import OutputError, Schema, SchemaError, TabTreeFormer, open_chunks, read_table, write_table
from tabtreeformer._runtime.progress import Silent
from tabtreeformer.fitting.out_of_core import draw_sample
from tabtreeformer.fitting.out_of_core import novelty as news
from tabtreeformer.fitting.out_of_core import shards as shards_module
from tabtreeformer.laws import LawCheck

TINY = {
    "train": {"steps": 2, "validate_every": 2, "batch_size": 16},
    "privacy": "off",  # a verdict on two steps of training is chance
    "verbose": False,
    "random_state": 0,
}


@pytest.fixture(autouse=True)
def small_lists(monkeypatch):
    """Let what is rare be few of the rows of a small table, as it is of a large one."""
    monkeypatch.setattr(news, "FEW_NUMBERS", 25)
    monkeypatch.setattr(news, "FEW_TEXTS", 40)


def table(n=1200):
    """Columns of all kinds; what is rare comes late."""
    rng = np.random.default_rng(0)
    start = pd.Timestamp("2020-01-06") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    net = rng.integers(1, 500, n)
    city = rng.choice(["Ulm", "Bonn", "Kiel"], n)
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "net": net,
            "tax": rng.integers(1, 90, n),
            "price": rng.lognormal(3, 1, n).round(1),
            "city": city,
            "land": pd.Series(city).map({"Ulm": "BW", "Bonn": "NW", "Kiel": "SH"}),
            "start": start.normalize(),
            "flag": rng.random(n) < 0.3,
            "day": [f"2024-0{1 + i % 9}-{10 + i % 5}" for i in range(n)],
            "code": [f"C-{i % 997:05d}" for i in rng.permutation(n)],
        }
    )
    frame["total"] = frame["net"] + frame["tax"]
    frame["class"] = np.where(frame["net"] > 250, "high", "low")
    return frame


def fitted(source, **settings):
    return TabTreeFormer(target="class", **{**TINY, **settings}).fit(source).fitted_


@pytest.mark.parametrize("form", ["csv", "parquet", "folder", "dataset"])
def test_a_sample_of_all_rows_gives_the_same_model_as_memory(tmp_path, form):
    frame = table(400)
    frame.loc[frame.index % 7 == 0, "price"] = np.nan
    path = tmp_path / ("t.csv" if form == "csv" else "t.parquet")
    write_table(frame, path)
    source = path
    if form == "folder":
        source = tmp_path / "parts"
        source.mkdir()
        for i in range(4):
            write_table(frame.iloc[i * 100 : (i + 1) * 100], source / f"{i}.parquet")
    elif form == "dataset":
        source = ds.dataset(path)
    whole, parts = fitted(read_table(path)), fitted(open_chunks(source, rows=70))
    assert parts.schema == whole.schema
    for name, content in whole.to_members().items():
        if name not in ("record.json", "config.json"):
            assert parts.to_members()[name] == content, name
    limited = dataclasses.replace(parts.config.train, validation_rows=whole.config.train.validation_rows)
    assert dataclasses.replace(parts.config, train=limited) == whole.config


def sampled(frame, tmp_path, rows=100, sample=150, target=None):
    write_table(frame, tmp_path / "t.parquet")
    chunks = open_chunks(tmp_path / "t.parquet", rows=rows, sample=sample)
    return draw_sample(chunks, target, {}, 5, np.random.default_rng(42), Silent())


def test_the_drawn_rows_are_about_as_many_as_asked_and_from_everywhere(tmp_path):
    frame = pd.DataFrame({"x": np.random.default_rng(0).random(20_000)})
    sample = sampled(frame, tmp_path, rows=1000, sample=2000)
    drawn = sample.frame["x"][sample.drawn]
    assert abs(len(drawn) - 2000) < 200
    assert np.isin(sample.frame["x"], frame["x"]).all()
    edges = np.sqrt(np.log(2 / 0.001) / (2 * len(drawn)))  # what docs/scale.md promises of sample quantiles
    shares = np.searchsorted(np.sort(frame["x"]), np.quantile(drawn, np.linspace(0, 1, 101))) / len(frame)
    assert np.abs(shares - np.linspace(0, 1, 101)).max() <= edges + 1 / len(drawn)


LATE = 1100


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("city", "Rust"),
        ("city", None),
        ("price", None),
        ("price", 1e6),
        ("price", -5.0),
        ("price", 3.125),
        ("net", 10**6),
        ("start", pd.Timestamp("2030-05-05")),
        ("start", pd.Timestamp("2021-03-03 13:37")),
        ("day", "unknown"),
    ],
)
def test_what_a_single_late_row_shows_is_known_as_if_all_rows_had_been_looked_at(tmp_path, column, value):
    frame = table()
    frame.loc[LATE, column] = value
    sample = sampled(frame, tmp_path, target="class")
    assert len(sample.frame) < 0.7 * len(frame)
    whole, part = Schema.infer(read_table(tmp_path / "t.parquet"), "class"), sample.infer("class")
    assert [(c.name, c.kind, c.form, c.dtype) for c in part.columns] == [
        (c.name, c.kind, c.form, c.dtype) for c in whole.columns
    ]
    shown = sample.frame[column]
    assert shown.isna().any() if value is None else (shown == value).any()


def test_every_category_has_as_many_rows_in_the_sample_as_a_floor_asks_for(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"k": rng.permutation(["common"] * 3000 + [f"v{i}" for i in range(40) for _ in range(i % 9)])})
    counts, whole = sampled(frame, tmp_path).frame["k"].value_counts(), frame["k"].value_counts()
    assert len(counts) == 36
    assert set(counts.index) == set(whole.index)
    assert ((counts >= 5) == (whole >= 5).reindex(counts.index)).all()


def test_dates_of_a_long_column_of_text_are_doubted_by_one_late_row(tmp_path):
    days = pd.date_range("1990-01-01", periods=9000).strftime("%d/%m/%Y").to_series(index=range(9000))
    frame = pd.DataFrame({"d": days.where(days.index != 8000, "13/31/2001"), "x": range(9000)})
    sample = sampled(frame, tmp_path, rows=1000)
    assert sample.infer(None).column("d").form is None
    frame["d"] = days
    assert sampled(frame, tmp_path, rows=1000).infer(None).column("d").form == "%d/%m/%Y"


def test_a_running_number_is_a_key_though_a_sample_does_not_run(tmp_path):
    frame = pd.DataFrame({"n": np.arange(5000) + 7, "m": np.random.default_rng(0).permutation(5000), "x": 1.5})
    columns = {c.name: c.kind for c in sampled(frame, tmp_path).infer(None).columns}
    assert columns == {"n": "identifier", "m": "numeric", "x": "constant"}


def test_new_keys_go_on_after_the_largest_of_all_rows(tmp_path):
    frame = table(4000).assign(code=[f"C-{i}" for i in np.random.default_rng(3).permutation(4000)])
    write_table(frame, tmp_path / "t.parquet")
    model = TabTreeFormer(target="class", **TINY).fit(open_chunks(tmp_path / "t.parquet", rows=500, sample=300))
    assert not set(model.sample(50)["code"]) & set(frame["code"])
    assert 4000 <= model.sample(3)["id"].min() < 4100  # a floor may round the largest up


def test_a_law_that_late_rows_break_is_kept_in_new_rows_and_its_exceptions_are_counted(tmp_path):
    frame = table()
    write_table(frame, tmp_path / "t.parquet")
    laws = fitted(open_chunks(tmp_path / "t.parquet", rows=100, sample=150)).codec.laws
    assert "total = net + tax" in laws.texts
    assert "land from city" in laws.texts or "city from land" in laws.texts
    frame.loc[LATE, "total"] += 1
    check = LawCheck(laws, strict=False)
    for start in range(0, len(frame), 100):
        check.see(laws.schema.validate(frame.iloc[start : start + 100]), start)
    assert check.notes == [f"total = net + tax: 1 of {len(frame):,} rows break it; new rows keep it"]
    with pytest.raises(SchemaError, match=f"'total = net \\+ tax' does not hold in the table: row {LATE:,} breaks it"):
        LawCheck(laws, strict=True).see(laws.schema.validate(frame), 0)


def test_a_relation_of_the_user_that_late_rows_break_is_an_error(tmp_path):
    frame = table()
    frame.loc[LATE, ["net", "tax", "total"]] = [200, 40, 241]
    write_table(frame, tmp_path / "t.parquet")
    chunks = open_chunks(tmp_path / "t.parquet", rows=100, sample=60)
    with pytest.raises(SchemaError, match=r"'total = net \+ tax' does not hold"):
        fitted(chunks, constraints=["total = net + tax"])


def test_rows_in_parts_are_learned_and_sampled(tmp_path):
    frame = table()
    write_table(frame, tmp_path / "t.parquet")
    model = TabTreeFormer(target="class", **TINY).fit(open_chunks(tmp_path / "t.parquet", rows=100, sample=200))
    rows = model.sample(60)
    assert model.fitted_.record["rows"] == len(frame)
    assert (rows.dtypes == read_table(tmp_path / "t.parquet").dtypes).all()
    again = TabTreeFormer(target="class", **TINY).fit(open_chunks(tmp_path / "t.parquet", rows=100, sample=200))
    pd.testing.assert_frame_equal(again.sample(60), rows)


def test_a_reader_of_pyarrow_gives_tables_of_pyarrow(tmp_path):
    arrow = pa.Table.from_pandas(table(200))
    model = TabTreeFormer(target="class", **TINY)
    rows = model.fit(pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(50))).sample(5)
    assert rows.schema == arrow.schema.remove_metadata()


def test_kinds_of_columns_can_be_said(tmp_path):
    write_table(table(), tmp_path / "t.parquet")
    chunks = open_chunks(tmp_path / "t.parquet", rows=100, sample=200, kinds={"net": "categorical"})
    model = fitted(chunks)
    assert model.schema.column("net").kind == "categorical"
    schema = Schema.infer(table(), "class").with_kind("tax", "categorical")
    chunks = open_chunks(tmp_path / "t.parquet", rows=100, sample=200)
    assert (
        TabTreeFormer(target="class", **TINY).fit(chunks, schema=schema).fitted_.schema.column("tax").kind
        == "categorical"
    )


class Changing:
    """A table that is another one when it is read again."""

    def __init__(self, *frames):
        self.frames = list(frames)

    def __call__(self, rows):
        yield self.frames.pop(0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(city="Rust"), "'Rust', unseen when fitting; .*did the table change meanwhile"),
        (lambda f: f[:-1], "had 300 rows and now has 299: it changed meanwhile"),
        (lambda f: f.drop(columns="tax"), "tax.*did the table change meanwhile"),
    ],
)
def test_a_table_that_changes_between_the_passes_is_said_to(tmp_path, change, message):
    frame = table(300)
    write_table(frame, tmp_path / "t.parquet")
    chunks = open_chunks(tmp_path / "t.parquet", sample=200)
    chunks = dataclasses.replace(chunks, parts=Changing(frame, change(frame)))
    with pytest.raises(SchemaError, match=message):
        fitted(chunks)


def test_temporary_files_are_gone_however_fitting_ends(tmp_path, monkeypatch):
    write_table(table(300), tmp_path / "t.parquet")
    cache = tmp_path / "cache"
    cache.mkdir()
    fitted(open_chunks(tmp_path / "t.parquet", cache_dir=cache))
    assert not list(cache.iterdir())
    with pytest.raises(SchemaError):
        TabTreeFormer(target="nowhere", **TINY).fit(open_chunks(tmp_path / "t.parquet", cache_dir=cache))
    assert not list(cache.iterdir())
    monkeypatch.setattr(shards_module, "SPARE", 1e12)
    with pytest.raises(OutputError, match=r"MiB free; name another folder with cache_dir"):
        fitted(open_chunks(tmp_path / "t.parquet", cache_dir=cache))
    assert not list(cache.iterdir())


def test_a_list_of_too_many_categories_is_refused_with_a_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr(news, "MAX_CATEGORIES", 100)
    write_table(table(), tmp_path / "t.parquet")
    with pytest.raises(SchemaError, match=r"'code' has more than 100 categories.*kinds=\{'code': 'text'\}"):
        fitted(open_chunks(tmp_path / "t.parquet", sample=200, kinds={"code": "categorical"}))


def test_infinities_are_refused_with_their_row(tmp_path):
    frame = table()
    frame.loc[LATE, "price"] = np.inf
    write_table(frame, tmp_path / "t.parquet")
    with pytest.raises(SchemaError, match="'price' holds inf in row 1,100"):
        fitted(open_chunks(tmp_path / "t.parquet", rows=100, sample=200))


def test_a_path_is_fitted_as_the_table_it_names(tmp_path):
    write_table(table(200), tmp_path / "t.csv")
    named, given = fitted(tmp_path / "t.csv"), fitted(read_table(tmp_path / "t.csv"))
    assert named.to_members()["codec.json"] == given.to_members()["codec.json"]
