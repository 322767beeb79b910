"""The paper's nine tables."""

from __future__ import annotations

from pathlib import Path

from tabtreeformer.compare import Table, from_folder

OPENML = {
    "adult": 179, "bank-marketing": 1461, "boston": 531, "breast-w": 15, "credit-g": 31, "diabetes": 37, "iris": 61,
    "qsar-biodeg": 1494, "wdbc": 1510,
}  # fmt: skip
"""Numbers on openml.org."""
SMALL = ("iris", "boston", "diabetes", "breast-w", "wdbc", "credit-g", "qsar-biodeg")
LARGE = ("bank-marketing", "adult")


def load(name: str, folder: Path | None) -> Table:
    """A table without its incomplete rows; without a folder it is downloaded from openml.org."""
    if folder is not None:
        return from_folder(folder, name)
    from sklearn.datasets import fetch_openml

    bunch = fetch_openml(data_id=OPENML[name], as_frame=True, parser="auto")
    frame = bunch.frame.dropna(ignore_index=True)
    labels = frame.select_dtypes(["category", "object", "string"]).columns
    return Table(name, frame.astype(dict.fromkeys(labels, str)), bunch.target_names[0])


def paper_name(table: str) -> str:
    """What the paper calls a table: breast-w is breast there, bank-marketing bank."""
    return table.split("-")[0]
