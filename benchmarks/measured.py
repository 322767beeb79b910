"""Measurements that go to a CSV: their common options, reading what is already there, and adding to it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.pages import put

RESULTS = Path(__file__).parent / "results"
KEYS = ("table", "seed", "writer")


def parser(doc: str | None, results: str, tables: Iterable[str] = (), seeds: int = 3) -> argparse.ArgumentParser:
    """The options of a measurement; `results` is the name of its CSV."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with datasets.json")
    if tables:
        made.add_argument("--tables", type=names, default=list(tables), help="names, separated by commas")
    made.add_argument("--seeds", type=int, default=seeds)
    made.add_argument("--results", type=Path, default=RESULTS / results)
    made.add_argument("--page", type=Path, help="write the results into this page, and stop")
    return made


def asked(made: argparse.ArgumentParser, tables: Mapping[str, Callable[[pd.DataFrame], str]]) -> argparse.Namespace:
    """The options that were given; with `--page` the tables are made from the CSV and written there, and nothing else.

    `tables` are functions of the results, by the name of their marks in the page.
    """
    options = made.parse_args()
    if options.page is not None:
        results = pd.read_csv(options.results)
        for name, table in tables.items():
            put(options.page, name, table(results))
        raise SystemExit
    return options


def unmeasured(options: argparse.Namespace, writers: Sequence[str]) -> Iterator[tuple[str, int, list[str]]]:
    """Table, seed, and those of the writers that the CSV has no line of yet."""
    known = known_in(options.results, KEYS)
    for table in options.tables:
        for seed in range(options.seeds):
            if left := [writer for writer in writers if (table, seed, writer) not in known]:
                yield table, seed, left


def names(text: str) -> list[str]:
    """The names in a list separated by commas."""
    return text.split(",")


def known_in(results: Path, keys: Sequence[str]) -> set[tuple[Any, ...]]:
    """The keys of the lines of a CSV: what need not be measured again."""
    if not results.exists():
        return set()
    return set(pd.read_csv(results)[list(keys)].itertuples(index=False, name=None))


def append(results: Path, *rows: Mapping[str, Any]) -> None:
    """Add rows to a CSV, their numbers with five decimals, and print them."""
    before = [pd.read_csv(results)] if results.exists() else []
    rounded = [{k: round(v, 5) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    for row in rounded:
        print(row, flush=True)
    pd.concat([*before, pd.DataFrame(rounded)], ignore_index=True).to_csv(results, index=False)
