"""What `python -m benchmarks run` can measure: which generators, on which tables, with which budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabtreeformer.cli.generators import OURS_FILE
from tabtreeformer.evaluation.compare import COMPARISON, GeneratorSpec

from .generators import GENERATORS

QUANTILES, REACH = 100, 5
"""Quantiles of the small models, and how many of them the ordinal loss reaches, as many as in the paper."""
LEAVES = 15
SMALL = (
    "model.width=64", "model.feed_forward=256", "model.heads=4", "model.layers=2",
    "tree.trials=0", f'tree.params={{"n_estimators": 20, "num_leaves": {LEAVES}}}',
    f"tokens.quantiles={QUANTILES}", f"train.ordinal_loss={REACH / QUANTILES}",
    "train.steps=600", "train.batch_size=64", "train.learning_rate=0.003",
)  # fmt: skip
"""S and NM, narrower and shallower, with fewer quantiles, trees and steps: the same parts, minutes, not hours.

The ordinal loss keeps the paper's reach of 5 tokens; with its σ and 100 quantiles it would reach half a token.
"""
BASES = {"auto": ("auto", ()), "small S": ("S", SMALL), "small NM": ("NM", SMALL)}

PARTS = {
    "small S": {
        "whole": (),
        "generated without trees": ("sampling.leaf_prompts=false",),
        "without OCEL": ("train.ordinal_loss=0",),
        "without quantile embeddings": ("model.quantile_embedding=none",),
        "trained without trees": ("tree.model=none",),
        **{f"embeddings by {name}": (f"model.quantile_embedding={name}",) for name in ("tanh", "softsign", "ramp")},
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
        "raw values beside the ids": ("model.quantile_embedding=raw",),
        "masked decoding": ("model.softmax=masked",),
        "the size of large tables": ("model.width=64", "model.feed_forward=256", "model.layers=3"),
    },
}
"""What is removed or replaced, one part at a time. `auto` has neither OCEL nor quantile embeddings.

Parts that were worse, or no better, and are gone from the code keep their measurements in the file of results.
"""
ORDERS = {"table": ("train.table_orders=1",), "any": ("train.table_orders=0",), "half and half": ()}
TREES = ("lightgbm", "xgboost", "catboost", "decision_tree", "adversarial", "none")
N_TREES = (5, 10, 20, 50, 100)
MASKS = (0.0, 0.2, 0.4, 0.6, 0.8)
TEMPERATURES = {"auto": (0.2, 0.5, 1.0, 1.5, 2.0), "small NM": (0.1, 0.2, 0.5, 1.0, 2.0)}
"""Of numbers. That of categories is the same in `auto`, and twice as high in NM, as the paper has it."""


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
    """Return models with one setting varied over a range: tree model, number of trees, masks, temperature.

    The paper varies trees in S, masks and temperature in NM. Masks of leaves are varied in NM alone: in half of the
    rows that `auto` learns all leaves are hidden whatever the ratio, which its ratio then does not show.
    """
    made = []
    for base in ("auto", "small S"):
        made += [variant(base, "tree model", name, tree_settings(base, name)) for name in TREES]
        made += [variant(base, "number of trees", n, (_n_trees(n),)) for n in N_TREES]
    for base, part in (("auto", "value"), ("small NM", "value"), ("small NM", "leaf")):
        made += [variant(base, f"{part} mask", m, (f"train.{part}_mask=[{m}, {m}]",)) for m in MASKS]
    for base, heats in TEMPERATURES.items():
        times = 2 if base == "small NM" else 1
        for heat in heats:
            both = (f"sampling.temperature_category={times * heat}", f"sampling.temperature_numeric={heat}")
            made.append(variant(base, "temperature", heat, both))
    return made


def _n_trees(n: int) -> str:
    return f'tree.params={{"n_estimators": {n}, "num_leaves": {LEAVES}}}'


def tree_settings(base: str, name: str) -> tuple[str, ...]:
    """Return settings that give each tree library about the same size; `auto` sizes them itself."""
    if base == "auto" or name == "none":
        return (f"tree.model={name}",)
    sizes = {
        "lightgbm": f'{{"n_estimators": 20, "num_leaves": {LEAVES}}}',
        "adversarial": f'{{"n_estimators": 20, "num_leaves": {LEAVES}}}',
        "xgboost": '{"n_estimators": 20, "max_depth": 4}',
        "catboost": '{"iterations": 20, "depth": 4}',
        "decision_tree": '{"max_leaf_nodes": 30}',
    }
    return (f"tree.model={name}", f"tree.params={sizes[name]}")


def protocol(experiment: str, utility: str = "quick", split: str = "seed") -> str:
    """Return the name under which runs are kept: those with other evaluators or splits are other experiments."""
    said = (("tuned evaluators", utility == "tuned"), ("one split", split == "one"))
    return ", ".join([experiment, *(words for words, other in said if other)])


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
