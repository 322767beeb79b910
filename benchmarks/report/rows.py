"""Figures that need the rows themselves: marginal densities, correlations and their error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.signal import find_peaks
from scipy.stats import gaussian_kde

from tabtreeformer.evaluation.compare import Table

from .figures import INK, Book, colours
from .kept import Kept

POINTS = 200
ERROR_CAP = 0.4
"""Errors beyond this are drawn alike, as in the paper."""


def describe(table: Table) -> dict[str, Any]:
    """What the figures show of the real rows: a density curve, and correlations; no row of them."""
    train = table.split(0)[0]
    column, modes = most_modes(table)
    plan = table.plan()["columns"]
    labels = [c["name"] for c in plan if c["kind"] != "numeric"]
    shown: dict[str, Any] = {
        "levels": {name: sorted(table.frame[name].unique()) for name in labels},
        "numbers": [c["name"] for c in plan if c["kind"] == "numeric"],
    }
    shown["correlation"] = np.round(absolute(train, shown), 4).tolist()
    if column:
        real = train[column].to_numpy(np.float64)
        grid = np.linspace(real.min(), real.max(), POINTS)
        curve = [float(f"{value:.4g}") for value in density(real, grid)]
        shown |= {"column": column, "modes": modes, "range": [float(real.min()), float(real.max())], "density": curve}
    return shown


def marginals(book: Book, tables: Sequence[Kept], names: list[str]) -> bool:
    """The most multimodal number of each table: real as an area, generators as lines."""
    chosen = [kept for kept in tables if kept.real.get("modes", 0) >= 2 and kept.drawn][:4]
    if not chosen:
        return False
    figure, panels = book.plots.subplots(1, len(chosen), figsize=(4 * len(chosen), 3.4), squeeze=False)
    paint = colours(names)
    for panel, kept in zip(panels.flat, chosen, strict=True):
        column = kept.real["column"]
        grid = np.linspace(*kept.real["range"], POINTS)
        panel.fill_between(grid, kept.real["density"], color="#c9cfd8", label="real")
        for name, rows in kept.drawn.items():
            values = pd.to_numeric(rows[column], errors="coerce").dropna().to_numpy(np.float64)
            if len(np.unique(values)) > 1:
                panel.plot(grid, density(values, grid), color=paint[name], linewidth=1.4, label=name)
        panel.set(title=f"{kept.table}: {column} ({kept.real['modes']} modes)", yticks=[])
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


def correlation(book: Book, kept: Kept) -> bool:
    """Absolute correlations of the real rows, and the error of each generator's."""
    if not kept.drawn:
        return False
    real, split = np.array(kept.real["correlation"]), len(kept.real["levels"])
    columns = min(5, len(kept.drawn) + 1)
    lines = -(-(len(kept.drawn) + 1) // columns)
    figure, panels = book.plots.subplots(
        lines, columns, figsize=(2.6 * columns, 3.1 * lines), squeeze=False, layout="constrained"
    )
    pictures: Mapping[str, np.ndarray] = {"real": real} | {
        name: np.abs(absolute(rows, kept.real) - real) for name, rows in kept.drawn.items()
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
    title = f"{kept.table}: correlations, and their error (0 to {ERROR_CAP}); labels before the line"
    figure.suptitle(title, fontsize=10)
    return book.save("correlation", figure)


def absolute(rows: pd.DataFrame, shown: Mapping[str, Any]) -> np.ndarray:
    """Absolute correlations, labels first as codes ordered by the real rows."""
    codes = [pd.Index(levels).get_indexer(rows[name].astype(str)) for name, levels in shown["levels"].items()]
    values = [pd.to_numeric(rows[n], errors="coerce").fillna(0).to_numpy(np.float64) for n in shown["numbers"]]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.abs(np.nan_to_num(np.corrcoef(np.stack([*codes, *values]))))
