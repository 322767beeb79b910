"""Measurements that end in a CSV: the options they share, what is known already, and adding to it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

RESULTS = Path(__file__).parent / "results"


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
