"""The paper's figures of its equations, drawn from the functions that the networks start from and are trained with."""

from __future__ import annotations

import numpy as np
import torch

from tabtreeformer.model.embedding import CORES, quantile_embedding
from tabtreeformer.model.loss import ordinal_weights

from .figures import INK, OURS, SPARE, Book

QUANTILES = 1000
TARGET = 350
"""The token that weights and distances are drawn around, as in the paper."""
SHOWN = 16
"""Dimensions that are drawn of a wide embedding."""


def draw(book: Book) -> list[str]:
    """Draw all of them; return their names."""
    drawings = {"sigmoids": sigmoids, "embeddings": embeddings, "distances": distances, "ocel_weights": ocel_weights}
    return [name for name, drawing in drawings.items() if drawing(book)]


def positional_embedding(n: int, width: int) -> np.ndarray:
    """The sines and cosines of positions that the paper compares with, (n, width)."""
    position, d = np.arange(n)[:, None], np.arange(width)[None, :]
    angle = position / 10_000 ** ((d - d % 2) / width)
    return np.where(d % 2 == 0, np.sin(angle), np.cos(angle))


def sigmoids(book: Book) -> bool:
    """The core function with the range in which it changes, and the other functions that can take its place."""
    figure, (left, right) = book.plots.subplots(1, 2, figsize=(10, 3.4))
    x = torch.linspace(-8, 8, 400)
    left.plot(x, CORES["sigmoid"](x), color=OURS)
    for end in (-2, 2):
        left.axvline(end, color="#b3322f", linestyle="--", linewidth=1)
    left.set(title="sigmoid, and its core range", xlabel="x")
    for (name, core), colour in zip(CORES.items(), (OURS, *SPARE[:2], INK), strict=True):
        right.plot(x, core(x), color=colour, label=name)
    right.set(title="functions to start quantile embeddings from", xlabel="x")
    right.legend(fontsize=8)
    figure.tight_layout()
    return book.save("sigmoids", figure)


def embeddings(book: Book) -> bool:
    """Values of quantile and positional embeddings over the ids, for a narrow and a wide one."""
    figure, grid = book.plots.subplots(2, 2, figsize=(10, 5.6), sharex=True)
    for panels, width in zip(grid, (8, 128), strict=True):
        tables = {
            "quantile": quantile_embedding(QUANTILES, width).numpy(),
            "positional": positional_embedding(QUANTILES, width),
        }
        for panel, (name, table) in zip(panels, tables.items(), strict=True):
            some = np.unique(np.linspace(0, width - 1, min(width, SHOWN)).astype(int))
            for k, d in enumerate(some):
                panel.plot(table[:, d], linewidth=0.9, color=book.plots.cm.viridis(k / max(len(some) - 1, 1)))
            what = "all dimensions" if width <= SHOWN else f"{SHOWN} of {width} dimensions"
            panel.set_title(f"{name} embeddings, D = {width} ({what})", fontsize=9)
    for panel in grid[-1]:
        panel.set_xlabel("id")
    figure.tight_layout()
    return book.save("embeddings", figure)


def distances(book: Book) -> bool:
    """How far embeddings are from that of one id: in quantile embeddings the farther the id, the farther."""
    figure, panels = book.plots.subplots(1, 2, figsize=(10, 3.2))
    for panel, width in zip(panels, (8, 128), strict=True):
        tables = {
            "quantile": (quantile_embedding(QUANTILES, width).numpy(), OURS),
            "positional": (positional_embedding(QUANTILES, width), SPARE[0]),
        }
        for name, (table, colour) in tables.items():
            apart = np.linalg.norm(table - table[TARGET], axis=1)
            panel.plot(apart / apart.max(), color=colour, label=name, linewidth=1.2)
        panel.axvline(TARGET, color=INK, linewidth=0.6)
        panel.set(title=f"D = {width}", xlabel="id", ylabel=f"distance to id {TARGET}, scaled")
    panels[0].legend(fontsize=8)
    figure.tight_layout()
    return book.save("distances", figure)


def ocel_weights(book: Book) -> bool:
    """Weights of the ordinal loss around its target, scaled to norm 1 as in the paper, for several σ and m."""
    figure, (left, right) = book.plots.subplots(1, 2, figsize=(10, 3.2), sharey=True)
    settings = (
        (left, "σ", [{"sigma": s} for s in (0.005, 0.02, 0.1)]),
        (right, "m", [{"floor": m} for m in (0.5, 0.1, 1.0)]),
    )
    for panel, letter, changes in settings:
        for change, colour in zip(changes, (OURS, *SPARE), strict=False):
            weights = ordinal_weights(QUANTILES, **change)[TARGET]
            label = f"{letter} = {next(iter(change.values()))}"
            panel.plot(weights / weights.norm(), color=colour, label=label, linewidth=1.2)
        panel.set(title=f"weights for target {TARGET} of {QUANTILES}", xlabel="id", xlim=(200, 500))
        panel.legend(fontsize=8)
    figure.tight_layout()
    return book.save("ocel_weights", figure)
