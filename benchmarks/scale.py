"""How time and memory grow: with the rows of the learned table (`in`), with its columns (`columns`), and with the rows
written and the number of workers (`out`).

    python -m benchmarks.scale in
    python -m benchmarks.scale in --rows 500000 --form csv
    python -m benchmarks.scale columns
    python -m benchmarks.scale out --table adult.csv --rows 10000000

Results are kept in benchmarks/results; `python -m benchmarks report --pages .` writes them into docs/lab/scale.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from . import scale_columns, scale_in, scale_out
from .pages import ROOT, as_table, put

RESULTS = ROOT / "benchmarks" / "results"
TABLES = {
    "in": "scale_in",
    "columns": "scale_columns",
    "out": "scale_out",
    "out 10m": "scale_out_10m",
    "recipes": "speed",
}
"""Marks of the page → file of results."""


def write_page(page: Path, folder: Path = RESULTS) -> None:
    """Put the tables of results between their marks."""
    for name, file in TABLES.items():
        frame = pd.read_csv(folder / f"{file}.csv", dtype=str, keep_default_na=False)
        put(page, name, as_table([title.replace("_", " ") for title in frame.columns], frame.to_numpy()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    scale_in.add_arguments(commands.add_parser("in", help=scale_in.__doc__))
    scale_columns.add_arguments(commands.add_parser("columns", help=scale_columns.__doc__))
    scale_out.add_arguments(commands.add_parser("out", help=scale_out.__doc__))
    arguments = parser.parse_args()
    arguments.main(arguments)


if __name__ == "__main__":
    main()
