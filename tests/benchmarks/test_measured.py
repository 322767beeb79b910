"""Measurements that are completed by a second call."""

import re
from importlib.util import find_spec

import pandas as pd
import pytest
from benchmarks.measured import append, asked, known_in, parser

from benchmarks import __main__ as entry
from benchmarks import ceiling


def test_what_is_in_the_csv_is_known_and_not_measured_again(tmp_path, monkeypatch):
    results, measured = tmp_path / "results.csv", []

    def measure(data, table, seed):
        measured.append((table, seed))
        return {"rows": 3, "auc": 1 / 3}

    monkeypatch.setattr(ceiling, "measure", measure)
    for seeds in (1, 1, 2):
        command = ["ceiling", "--tables", "iris,boston", "--seeds", str(seeds), "--results", str(results)]
        monkeypatch.setattr("sys.argv", command)
        ceiling.main()
    assert measured == [("iris", 0), ("boston", 0), ("iris", 1), ("boston", 1)]
    assert pd.read_csv(results)["auc"].tolist() == [0.33333] * 4


def test_rows_with_new_columns_are_added_too(tmp_path):
    append(tmp_path / "r.csv", {"table": "a", "seed": 0}, {"table": "b", "seed": 0, "auc": 0.5})
    assert known_in(tmp_path / "r.csv", ("table", "seed")) == {("a", 0), ("b", 0)}
    assert known_in(tmp_path / "none.csv", ("table", "seed")) == set()


def test_tables_are_names_separated_by_commas():
    arguments = parser("what it does", "some.csv", ("iris", "adult"))
    assert arguments.parse_args([]).tables == ["iris", "adult"]
    assert arguments.parse_args(["--tables", "boston,wdbc"]).tables == ["boston", "wdbc"]


def test_a_page_gets_the_tables_and_nothing_is_measured(tmp_path, monkeypatch):
    page, results = tmp_path / "page.md", tmp_path / "r.csv"
    page.write_text("before\n<!-- sizes: begin --><!-- sizes: end -->\nafter\n")
    append(results, {"table": "a", "seed": 0})
    monkeypatch.setattr("sys.argv", ["some", "--page", str(page), "--results", str(results)])
    with pytest.raises(SystemExit) as ended:
        asked(parser("what it does", "some.csv"), {"sizes": lambda lines: f"{len(lines)} line"})
    assert not ended.value.code
    assert "1 line" in page.read_text()
    assert page.read_text().endswith("after\n")


def test_the_measurements_that_the_help_names_exist():
    named = re.findall(r"`([a-z_]+)`", entry.__doc__.split("modules of their own")[1])
    assert "unseen" in named
    assert [name for name in named if find_spec(f"benchmarks.{name}") is None] == []
