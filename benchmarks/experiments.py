"""What `python -m benchmarks run` can measure: which generators, on which tables, with which budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabtreeformer.cli.generators import OURS_FILE
from tabtreeformer.evaluation.compare import COMPARISON, GeneratorSpec

from .generators import GENERATORS

SMALL_S = (
    "model.width=64", "model.feed_forward=256", "model.heads=4", "model.layers=2",
    "tree.trials=0", "tree.params={\"n_estimators\": 20, \"num_leaves\": 15}",
    "tokens.quantiles=100", "train.steps=600", "train.batch_size=64", "train.learning_rate=0.003",
)  # fmt: skip
"""S, but narrower and shallower, with fewer quantiles, trees and steps: minutes instead of hours, the same parts."""
BASES = {"auto": ("auto", ()), "small S": ("S", SMALL_S)}

PARTS = {
    "small S": {
        "whole": (),
        "generated without trees": ("sampling.leaf_prompts=false",),
        "without OCEL": ("train.ordinal_loss=false",),
        "without quantile embeddings": ("model.quantile_embedding=false",),
        "trained without trees": ("tree.model=none",),
    },
    "auto": {
        "whole": (),
        "generated without trees": ("sampling.leaf_prompts=false",),
        "trained without trees": ("tree.model=none",),
        "without pooled prompts": ("model.pool=1",),
        "table order only": ("train.table_orders=1",),
        "any order only": ("train.table_orders=0",),
        "prompts of trained rows": ("train.prompts=trained",),
        "dropout 0.1": ("model.dropout=0.1",),
        "the size of large tables": ("model.width=64", "model.feed_forward=256", "model.layers=3"),
    },
}
"""What is removed or replaced, one part at a time. `auto` has neither OCEL nor quantile embeddings.

Parts that were worse, or no better, and are gone from the code keep their measurements in the file of results.
"""
ORDERS = {"table": ("train.table_orders=1",), "any": ("train.table_orders=0",), "half and half": ()}
TREES = ("lightgbm", "xgboost", "catboost", "decision_tree")
N_TREES = (5, 10, 20, 50, 100)
MASKS = (0.0, 0.2, 0.4, 0.6, 0.8)
TEMPERATURES = (0.2, 0.5, 1.0, 1.5, 2.0)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One question to the grid of tables, generators and seeds."""

    name: str
    about: str
    generators: Sequence[GeneratorSpec]
    tables: str = "small"
    budgets: str = "10m"
    told: bool = False
    """Whether generators know their budget and fill it."""


def variant(base: str, kind: str, value: object, settings: tuple[str, ...]) -> GeneratorSpec:
    """Return a model with some settings changed; its name says which, e.g. `auto | number of trees | 10`."""
    preset, shape = BASES[base]
    return GeneratorSpec(
        name=f"{base} | {kind} | {value}",
        family="ours",
        file=OURS_FILE,
        options={"preset": preset, "settings": (*shape, *settings)},
    )


def ablations() -> list[GeneratorSpec]:
    """Return models without one of their parts."""
    return [variant(b, "part", name, changes) for b, parts in PARTS.items() for name, changes in parts.items()]


def curves() -> list[GeneratorSpec]:
    """Return models with one setting varied over a range: tree model, number of trees, masks, temperature."""
    made = []
    for base in BASES:
        made += [variant(base, "tree model", name, tree_settings(base, name)) for name in TREES]
        made += [variant(base, "number of trees", n, (f'tree.params={{"n_estimators": {n}}}',)) for n in N_TREES]
        for share in MASKS:
            masks = tuple(f"train.{part}_mask=[{share}, {share}]" for part in ("leaf", "value"))
            made.append(variant(base, "mask ratio", share, masks))
        for heat in TEMPERATURES:
            both = tuple(f"sampling.temperature_{part}={heat}" for part in ("category", "numeric"))
            made.append(variant(base, "temperature", heat, both))
    return made


def tree_settings(base: str, name: str) -> tuple[str, ...]:
    """Return settings that give each tree library about the same size; `auto` sizes them itself."""
    if base == "auto":
        return (f"tree.model={name}",)
    sizes = {
        "lightgbm": '{"n_estimators": 20, "num_leaves": 15}',
        "xgboost": '{"n_estimators": 20, "max_depth": 4}',
        "catboost": '{"iterations": 20, "depth": 4}',
        "decision_tree": '{"max_leaf_nodes": 30}',
    }
    return (f"tree.model={name}", f"tree.params={sizes[name]}")


EXPERIMENTS = {
    e.name: e
    for e in (
        Experiment(name=COMPARISON, about="every generator with its defaults", generators=GENERATORS),
        Experiment(
            name="equal-time",
            about="every generator fills the same budget",
            generators=tuple(g for g in GENERATORS if g.family != "control"),
            tables="diabetes,credit-g",
            budgets="1m,5m,20m",
            told=True,
        ),
        Experiment(
            name="ablations",
            about="parts removed and settings varied, for auto and a small S",
            generators=(*ablations(), *curves()),
            tables="diabetes,credit-g",
        ),
        Experiment(
            name="orders",
            about="column orders that rows are learned in",
            generators=tuple(variant("auto", "order", name, changes) for name, changes in ORDERS.items()),
        ),
        Experiment(
            name="strict",
            about="what `--privacy strict` costs in quality",
            generators=(variant("auto", "gap limit", 0.5, ("train.gap_limit=0.5",)),),
            tables="iris,diabetes,boston",
        ),
    )
}
