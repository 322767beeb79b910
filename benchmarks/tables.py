"""The paper's nine tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tabtreeformer.evaluation.compare import Table, from_folder

OPENML = {
    "adult": 179, "bank-marketing": 1461, "boston": 531, "breast-w": 15, "credit-g": 31, "diabetes": 37, "iris": 61,
    "qsar-biodeg": 1494, "wdbc": 1510,
}  # fmt: skip
"""Numbers on openml.org. adult is its version 1, whose age, capital gain and loss and hours are binned into 0 to 4."""
SMALL = ("iris", "boston", "diabetes", "breast-w", "wdbc", "credit-g", "qsar-biodeg")
LARGE = ("bank-marketing", "adult")


def load(name: str, folder: Path | None) -> Table:
    """Return a table without its incomplete rows; without a folder it is downloaded from openml.org."""
    if folder is not None:
        return from_folder(folder, name)
    from sklearn.datasets import fetch_openml

    bunch = fetch_openml(data_id=OPENML[name], as_frame=True, parser="auto")
    frame = bunch.frame.dropna(ignore_index=True)
    labels = frame.select_dtypes(["category", "object", "string"]).columns
    return Table(name, frame.astype(dict.fromkeys(labels, str)), bunch.target_names[0])


def split(folder: Path | None, name: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Return the training rows and held-out rows of a table, four to one by the seed, and its target."""
    table = load(name, folder)
    return *table.split(seed), table.target
