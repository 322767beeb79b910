"""The paper's figures from our results, as SVG and PNG. Each returns whether there was anything to draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tabtreeformer.errors import import_extra

from ..tables import LARGE, SMALL
from . import numbers, printed

INK, GRID = "#2b3440", "#dfe3e8"
OURS = "#d9722e"
COLOURS = {
    "auto": OURS, "S": "#f0a878", "L": "#8a3b0c", "NM": "#f5d0b5", "arf": "#4674b8", "ctgan": "#2f7d4f",
    "tvae": "#8e5bb0", "tabularargn": "#b3322f", "forestdiffusion": "#94700a", "realtabformer": "#3c9aa8",
    "great": "#8d9199", "tabmt": "#d45c9c", "tabsyn": "#1d2a4d", "ctabgan_plus": "#86b82a", "ttvae": "#63c3e8",
    "tabula": "#e3b505",
}  # fmt: skip
"""A generator has the same colour in every figure; those that are not listed share what is left."""
SPARE = ("#5c6bc0", "#6d8b2f", "#c97b63", "#4d4d4d", "#a17fd1", "#2aa876")


class Book:
    """Where figures go, and how they look."""

    def __init__(self, folder: Path) -> None:
        import_extra("matplotlib", "bench").use("Agg")
        self.plots = import_extra("matplotlib.pyplot", "bench")
        self.plots.rcParams.update({
            "font.size": 10, "axes.edgecolor": GRID, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK,
            "ytick.color": INK, "axes.grid": True, "grid.color": GRID, "axes.axisbelow": True, "figure.dpi": 110,
            "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "tabtreeformer",
            "legend.frameon": False,
        })  # fmt: skip
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, name: str, figure: Any) -> bool:
        """Write both forms; no date, so that the same results make the same file."""
        figure.savefig(self.folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
        figure.savefig(self.folder / f"{name}.png", bbox_inches="tight", dpi=110)
        self.plots.close(figure)
        return True


def colours(names: Sequence[str]) -> dict[str, str]:
    """Name → colour."""
    others = [name for name in names if name not in COLOURS]
    return {name: COLOURS[name] if name in COLOURS else SPARE[others.index(name) % len(SPARE)] for name in names}


def few_ticks(axis: Any) -> None:
    """Write only 1, 2 and 5 of each power of ten on an axis with a logarithmic scale: the others would touch."""
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(lambda x, _: f"{x:.3g}" if f"{x:e}"[0] in "25" else "")


RADAR: Mapping[str, tuple[float, float]] = {
    **{f"utility {e}": (0.6, 1.0) for e in numbers.EVALUATORS},
    "Shape": (0.7, 1.0), "Trend": (0.7, 1.0), "DCR p": (0.0, 1.0), "fit speed": (-3.0, 0.0),
    "sample speed": (-2.0, 2.0),
}  # fmt: skip
"""What is at the centre and at the rim: shares of the real score, scores, a p-value, powers of ten of 1 / seconds."""


def radar(book: Book, frame: pd.DataFrame, names: Sequence[str]) -> bool:
    """Eight measures on fixed scales, over the tables that all finished: large and round is good."""
    frame, names = numbers.common(frame, names)
    if len(names) < 2 or frame.empty:
        return False
    errors, fidelity = numbers.relative_errors(frame), numbers.means
    axes: dict[str, pd.Series] = {f"utility {e}": 1 - errors[f"RE {e}"] for e in numbers.EVALUATORS}
    axes |= {"Shape": fidelity(frame, "shape").mean(), "Trend": fidelity(frame, "trend").mean()}
    axes["DCR p"] = fidelity(frame, "dcr").mean()
    for metric, title in (("fit_cpu_seconds", "fit speed"), ("sample_cpu_seconds", "sample speed")):
        axes[title] = -np.log10(fidelity(frame, metric).mean().clip(lower=1e-3))
    table = pd.DataFrame({n: ((v - RADAR[n][0]) / (RADAR[n][1] - RADAR[n][0])).clip(0, 1) for n, v in axes.items()})
    table = table.reindex(names).dropna()
    angles = np.linspace(0, 2 * np.pi, table.shape[1], endpoint=False)
    paint = colours(list(table.index))
    columns = min(4, len(table))
    rows = -(-len(table) // columns)
    figure, panels = book.plots.subplots(
        rows, columns, figsize=(3.2 * columns, 3.2 * rows), subplot_kw={"projection": "polar"}, squeeze=False
    )
    for panel, (name, line) in zip(panels.flat, table.iterrows(), strict=False):
        closed = np.append(line.to_numpy(), line.iloc[0])
        panel.plot(np.append(angles, angles[0]), closed, color=paint[name], linewidth=2)
        panel.fill(np.append(angles, angles[0]), closed, color=paint[name], alpha=0.25)
        panel.set_xticks(angles, [str(c).replace(" ", "\n") for c in table.columns], fontsize=7)
        panel.set_yticks([0.5, 1], ["", ""])
        panel.set_ylim(0, 1.05)
        panel.set_title(name, fontsize=11, color=paint[name], pad=14)
    for panel in panels.flat[len(table) :]:
        panel.set_visible(False)
    figure.tight_layout()
    return book.save("radar", figure)


def by_features(book: Book, frame: pd.DataFrame, names: Sequence[str]) -> bool:
    """What `auto` gains in Trend over each generator, and the cost per row, against the number of columns."""
    trend, seconds = numbers.means(frame, "trend"), numbers.means(frame, "sample_cpu_seconds")
    names = [n for n in names if n in trend]
    seconds = seconds.reindex(columns=names)  # runs made elsewhere have no processor times
    features = printed.n_features().reindex(trend.index)
    if "auto" not in names or len(trend["auto"].dropna()) < 2:
        return False
    paint = colours(names)
    figure, (left, right) = book.plots.subplots(1, 2, figsize=(11, 4.2))
    for name in names:
        gain = (trend["auto"] - trend[name]).dropna()
        x = features.reindex(gain.index)
        order = x.sort_values().index
        if name != "auto":
            left.plot(x[order], gain[order], "o-", color=paint[name], label=name, markersize=4)
        cost = (seconds[name] / _rows().reindex(seconds.index)).dropna()
        order = features.reindex(cost.index).sort_values().index
        right.plot(features[order], 1000 * cost[order], "o-", color=paint[name], label=name, markersize=4)
    left.axhline(0, color=INK, linewidth=0.8)
    left.set(xlabel="columns of the table", ylabel="Trend of auto − Trend of the rival")
    right.set(xlabel="columns of the table", ylabel="processor milliseconds per row", yscale="log")
    few_ticks(right.yaxis)
    right.legend(fontsize=8, bbox_to_anchor=(1.02, 1), loc="upper left")
    figure.tight_layout()
    return book.save("by_features", figure)


def pareto(book: Book, frame: pd.DataFrame, names: Sequence[str], name: str = "pareto") -> bool:
    """Quality against time: relative error and Trend over processor seconds of fit and sample; the best line below."""
    frame, names = numbers.common(frame, names)
    if len(names) < 2 or frame.empty:
        return False
    time = numbers.means(frame, "fit_cpu_seconds") + numbers.means(frame, "sample_cpu_seconds")
    paint = colours(names)
    figure, panels = book.plots.subplots(1, 2, figsize=(11, 4.2))
    for panel, (metric, title, sign) in zip(
        panels, (("utility", "relative utility error", 1), ("trend", "1 − Trend", -1)), strict=True
    ):
        score = numbers.means(frame, metric)
        points = []
        for one in names:
            both = pd.DataFrame({"t": time[one], "s": score.get(one)}).dropna()
            if both.empty:
                continue
            x, y = both["t"].mean(), both["s"].mean() if sign > 0 else 1 - both["s"].mean()
            points.append((x, y, one))
            panel.scatter(x, y, color=paint[one], s=60 if one == "auto" else 36, zorder=3)
        front, best = [], np.inf
        for x, y, _ in sorted(points):
            if y < best:
                front.append((x, y))
                best = y
        panel.step(*zip(*front, strict=True), where="post", color=INK, linewidth=0.8, linestyle="--", zorder=1)
        tables = frame["table"].nunique()
        panel.set(xscale="log", xlabel=f"processor seconds of fit and sample, mean over {tables} tables", ylabel=title)
        few_ticks(panel.xaxis)
        panel.tick_params(axis="x", which="minor", labelsize=7)
        panel.margins(x=0.15, y=0.1)
        _name(panel, points)
    figure.tight_layout()
    return book.save(name, figure)


def _name(panel: Any, points: Sequence[tuple[float, float, str]]) -> None:
    """Write names above their points, or below where another is in the way."""
    low, high = panel.get_ylim()
    above: list[tuple[float, float]] = []
    for x, y, text in sorted(points):
        touches = any(x < 1.6 * u and abs(y - v) < 0.05 * (high - low) for u, v in above)
        panel.annotate(text, (x, y), textcoords="offset points", xytext=(6, -12 if touches else 4), fontsize=8)
        if not touches:
            above.append((x, y))


CURVES = {
    "leaf mask": "share of the leaves that is masked", "value mask": "share of the values that is masked",
    "temperature": "temperature of numbers", "number of trees": "trees",
}  # fmt: skip
BASES = {"auto": OURS, "small S": SPARE[0], "small NM": SPARE[1]}
MEASURES = {"utility": "relative error", "shape": "Shape", "trend": "Trend", "dcr": "DCR p"}


def settings(book: Book, frame: pd.DataFrame) -> list[str]:
    """Quality and privacy over each setting, one figure per setting, `auto` next to small S and NM."""
    drawn = []
    for kind, label in CURVES.items():
        figure, panels = book.plots.subplots(1, len(MEASURES), figsize=(13, 3.2))
        found = False
        for panel, (metric, title) in zip(panels, MEASURES.items(), strict=True):
            for base, colour in BASES.items():
                line = numbers.curve(frame, base, kind, metric).sort_index()
                if len(line):
                    panel.plot(line.index, line, "o-", color=colour, label=base, markersize=4)
                    found = True
            panel.set(title=title, xlabel=label)
        if found:
            panels[0].legend(fontsize=8)
            figure.tight_layout()
            book.save(_slug(kind), figure)
            drawn.append(_slug(kind))
        else:
            book.plots.close(figure)
    if tree_models(book, frame):
        drawn.append("tree_model")
    return drawn


def tree_models(book: Book, frame: pd.DataFrame) -> bool:
    """Scores by downstream model for each tree library."""
    figure, panels = book.plots.subplots(1, 2, figsize=(11, 3.6), sharey=True)
    found = False
    for panel, base in zip(panels, ("auto", "small S"), strict=True):
        table = pd.DataFrame({e: numbers.curve(frame, base, "tree model", f"score_{e}") for e in numbers.EVALUATORS})
        if table.empty:
            panel.set_visible(False)
            continue
        found = True
        table.T.plot.bar(ax=panel, rot=0, color=[OURS, *SPARE][: len(table)], width=0.75)
        panel.set(title=base, ylabel="score of a model trained on the rows", ylim=(0.5, None))
        panel.legend(fontsize=8, ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.1))
    if not found:
        book.plots.close(figure)
        return False
    figure.tight_layout()
    return book.save("tree_model", figure)


def equal_time(book: Book, frame: pd.DataFrame) -> bool:
    """Quality reached in the same time, generator by generator; a row of panels for each table."""
    if frame.empty:
        return False
    names = numbers.ordered(frame["generator"].unique().tolist(), ["auto"])
    paint = colours(names)
    tables = numbers.ordered(frame["table"].unique().tolist(), (*SMALL, *LARGE))
    given = sorted(frame["budget_seconds"].unique() / 60)
    figure, grid = book.plots.subplots(
        len(tables), 3, figsize=(12, 0.6 + 3 * len(tables)), sharex=True, squeeze=False, layout="constrained"
    )
    for panels, table in zip(grid, tables, strict=True):
        for panel, metric in zip(panels, ("utility", "shape", "trend"), strict=True):
            part = frame[(frame["metric"] == metric) & (frame["table"] == table)]
            for name in names:
                line = part[part["generator"] == name].groupby("budget_seconds")["value"].mean()
                panel.plot(line.index / 60, line, "o-", color=paint[name], label=name, markersize=4)
            panel.set(title=f"{table}: {MEASURES[metric]}", xscale="log")
            panel.set_xticks(given, [f"{minutes:g}" for minutes in given])
            panel.minorticks_off()
    for panel in grid[-1]:
        panel.set_xlabel("minutes given")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), fontsize=8, loc="outside right upper")
    return book.save("equal_time", figure)


def _rows() -> pd.Series:
    """Training rows of each table, of which as many are drawn."""
    return printed.read("datasets").set_index("name")["rows"] * 0.8


def _slug(text: str) -> str:
    return text.replace(" ", "_")


Drawing = Callable[[Book, pd.DataFrame, Sequence[str]], bool]
FROM_RUNS: Mapping[str, Drawing] = {"radar": radar, "by_features": by_features, "pareto": pareto}
