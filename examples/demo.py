"""Fit a small table, sample from it, show real and new rows side by side, write a report. Run by `make demo`.

The table is scikit-learn's iris, written to CSV.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_iris

OUT = Path("out")
NAMES = ("iris.tabtree", "iris.train.csv", "iris.holdout.csv", "iris-new.csv")
TIGHT = {"box": None, "pad_edge": False, "padding": (0, 1, 0, 0), "title_justify": "left"}


def main() -> None:
    OUT.mkdir(exist_ok=True)
    for name in (*NAMES, "report.html"):  # of the demo before
        (OUT / name).unlink(missing_ok=True)
    iris = load_iris(as_frame=True)
    table = iris.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
    table.assign(species=iris.target_names[iris.target]).to_csv(OUT / "iris.csv", index=False)
    model, train, holdout, new = (OUT / name for name in NAMES)
    ttf("fit", OUT / "iris.csv", "--target", "species", "-o", model, "--holdout", 0.2, "--seed", 0)
    ttf("inspect", model)
    ttf("sample", model, "-n", 2 * len(pd.read_csv(train)), "-o", new, "--seed", 0)
    compare(pd.read_csv(train), pd.read_csv(new))
    ttf("evaluate", train, new, "--holdout", holdout, "--target", "species", "--html", OUT / "report.html")
    print(f"\nOpen {OUT / 'report.html'} in a browser; the new rows are in {new}, the model is {model}.")


def ttf(*words: object) -> None:
    """Show a command as a user would type it, then run it."""
    shown = [str(word) for word in words]
    print(f"\n$ ttf {shlex.join(shown)}", flush=True)
    # Steps this small are slower on two threads than on one.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "tabtreeformer", *shown], check=True, env=environment)


def compare(real: pd.DataFrame, new: pd.DataFrame) -> None:
    """Rows and statistics of both tables, side by side."""
    console = Console(highlight=False)
    numbers = list(real.select_dtypes("number").columns)
    rows = Table(*(f"{side}\n{c}" for side in ("real", "new") for c in real.columns), title="rows", **TIGHT)
    for column in rows.columns:
        column.no_wrap = str(column.header).endswith("species")
    for left, right in zip(
        real.sample(5, random_state=0).itertuples(index=False), new.head().itertuples(index=False), strict=True
    ):
        rows.add_row(*(str(value) for value in (*left, *right)))

    statistics = Table("", "rows", *numbers, title="statistics, real | new", **TIGHT)
    for name in ("mean", "std", "min", "max"):
        cells = (f"{real[c].agg(name):.2f} | {new[c].agg(name):.2f}" for c in numbers)
        statistics.add_row(name, f"{len(real)} | {len(new)}", *cells)
    for species in sorted(real["species"].unique()):
        parts = [frame[frame["species"] == species] for frame in (real, new)]
        cells = (" | ".join(f"{part[c].mean():.2f}" for part in parts) for c in numbers)  # the means of a species
        statistics.add_row(species, " | ".join(str(len(part)) for part in parts), *cells)
    console.print("", rows, "", statistics, "")

    copies = len(new.merge(real.drop_duplicates(), how="inner"))
    console.print(
        f"{copies} of {len(new)} new rows equal a real one; in tenths of a centimetre iris has few possible rows."
    )


if __name__ == "__main__":
    main()
