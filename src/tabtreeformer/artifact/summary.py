"""A description of a fitted model, as plain data, for people and programs."""

from __future__ import annotations

from typing import Any

from ..laws.laws import EVERY_ROW
from .fitted import Fitted


def summary_of(fitted: Fitted) -> dict[str, Any]:
    """Columns, sizes, settings and the course of training."""
    layout = fitted.layout
    return {
        "networks": len(fitted.models),
        **fitted.record,
        "columns": [
            {**c.to_json(), "ids": s} for c, s in zip(fitted.schema.columns, fitted.ids_per_column, strict=True)
        ],
        "constraints": list(fitted.codec.texts),
        "laws": [*fitted.codec.laws.announced(), *(f"{EVERY_ROW}: {text}" for text in fitted.codec.rules.texts)],
        "tree_target": fitted.tree_target,
        "tree_model": fitted.config.tree.model if fitted.tree_encoder else "none",
        "trees": layout.n_trees,
        "vocabulary": layout.n_vocab,
        "length": layout.length,
        "parameters": fitted.models[0].n_parameters if fitted.models else 0,
        "config": fitted.config.to_json(),
    }
