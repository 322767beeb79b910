"""Figures that need the rows themselves: marginal densities, correlations and their error."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.signal import find_peaks
from scipy.stats import gaussian_kde

from tabtreeformer.evaluation.compare import Table, from_folder

from .figures import INK, Book, colours

POINTS = 200
ERROR_CAP = 0.4
"""Errors beyond this are drawn alike, as in the paper."""


def samples_of(folder: Path, table: str, names: list[str], seed: int = 0) -> dict[str, pd.DataFrame]:
    """The rows that each generator drew, where they were kept."""
    found = {}
    for name in names:
        path = folder / table / f"{name}-{seed}.csv"
        if path.exists():
            found[name] = pd.read_csv(path, keep_default_na=False)
    return found


def marginals(book: Book, folder: Path, data: Path, names: list[str], tables: list[str]) -> bool:
    """The most multimodal number of each table: real as an area, generators as lines."""
    panels_of = []
    for name in tables:
        drawn = samples_of(folder, name, names)
        if drawn:
            table = from_folder(data, name)
            column, modes = most_modes(table)
            panels_of.append((table, column, modes, drawn))
    panels_of = [p for p in panels_of if p[2] >= 2][:4]
    if not panels_of:
        return False
    figure, panels = book.plots.subplots(1, len(panels_of), figsize=(4 * len(panels_of), 3.4), squeeze=False)
    paint = colours(names)
    for panel, (table, column, modes, drawn) in zip(panels.flat, panels_of, strict=True):
        real = table.split(0)[0][column].to_numpy(np.float64)
        grid = np.linspace(real.min(), real.max(), POINTS)
        panel.fill_between(grid, density(real, grid), color="#c9cfd8", label="real")
        for name, rows in drawn.items():
            values = pd.to_numeric(rows[column], errors="coerce").dropna().to_numpy(np.float64)
            if len(np.unique(values)) > 1:
                panel.plot(grid, density(values, grid), color=paint[name], linewidth=1.4, label=name)
        panel.set(title=f"{table.name}: {column} ({modes} modes)", yticks=[])
    lines = {text: line for panel in panels.flat for line, text in zip(*panel.get_legend_handles_labels(), strict=True)}
    panels.flat[-1].legend(lines.values(), lines, fontsize=8, bbox_to_anchor=(1.02, 1), loc="upper left")
    figure.tight_layout()
    return book.save("marginals", figure)


def density(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """A kernel estimate narrow enough to show modes."""
    return gaussian_kde(values, bw_method=0.12)(grid)


def most_modes(table: Table) -> tuple[str, int]:
    """The number column whose density has most clear peaks, among those with many values."""
    best = ("", 0)
    for name in table.frame.columns:
        values = table.frame[name]
        if not pd.api.types.is_numeric_dtype(values.dtype) or values.nunique() < 20:
            continue
        real = values.to_numpy(np.float64)
        curve = gaussian_kde(real, bw_method=0.2)(np.linspace(real.min(), real.max(), POINTS))
        modes = len(find_peaks(curve, prominence=0.05 * curve.max())[0])
        best = max(best, (name, modes), key=lambda pair: pair[1])
    return best


def correlation(book: Book, folder: Path, data: Path, names: list[str], table_name: str) -> bool:
    """Absolute correlations of the real rows, and the error of each generator's."""
    drawn = samples_of(folder, table_name, names)
    if not drawn:
        return False
    table = from_folder(data, table_name)
    real, split = absolute(table.split(0)[0], table)
    columns = min(5, len(drawn) + 1)
    lines = -(-(len(drawn) + 1) // columns)
    figure, panels = book.plots.subplots(
        lines, columns, figsize=(2.6 * columns, 3.1 * lines), squeeze=False, layout="constrained"
    )
    pictures: Mapping[str, np.ndarray] = {"real": real} | {
        name: np.abs(absolute(rows, table)[0] - real) for name, rows in drawn.items()
    }
    for panel in panels.flat[len(pictures) :]:
        panel.set_visible(False)
    for panel, (name, matrix) in zip(panels.flat, pictures.items(), strict=False):
        top = 1.0 if name == "real" else ERROR_CAP
        panel.imshow(matrix, cmap="Blues" if name == "real" else "Reds", vmin=0, vmax=top)
        if 0 < split < len(matrix):
            panel.axhline(split - 0.5, color="#d9b44a")
            panel.axvline(split - 0.5, color="#d9b44a")
        title = "real, 0 to 1" if name == "real" else f"{name}\nmean error {matrix.mean():.3f}"
        panel.set_title(title, fontsize=9, color=INK)
        panel.set(xticks=[], yticks=[])
        panel.grid(False)
    title = f"{table_name}: correlations, and their error (0 to {ERROR_CAP}); labels before the line"
    figure.suptitle(title, fontsize=10)
    return book.save("correlation", figure)


def absolute(rows: pd.DataFrame, table: Table) -> tuple[np.ndarray, int]:
    """Absolute correlations, labels first as codes ordered by the real rows; and how many labels there are."""
    plan = table.plan()["columns"]
    labels = [c["name"] for c in plan if c["kind"] != "numeric"]
    numbers = [c["name"] for c in plan if c["kind"] == "numeric"]
    codes = [pd.Index(sorted(table.frame[n].unique())).get_indexer(rows[n].astype(str)) for n in labels]
    values = [pd.to_numeric(rows[n], errors="coerce").fillna(0).to_numpy(np.float64) for n in numbers]
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = np.abs(np.nan_to_num(np.corrcoef(np.stack([*codes, *values]))))
    return matrix, len(labels)
