"""The paper's ablations and curves, for `auto` and for a model that is shaped like S and small enough for a CPU."""

from __future__ import annotations

from tabtreeformer.compare import GeneratorSpec
from tabtreeformer.compare.generators import HERE as FILES

SMALL_S = (
    "model.width=64", "model.feed_forward=256", "model.heads=4", "model.layers=2",
    "tree.tune=false", "tree.params={\"n_estimators\": 20, \"num_leaves\": 15}",
    "tokens.quantiles=100", "train.steps=600", "train.batch_size=64", "train.learning_rate=0.003",
)  # fmt: skip
"""S, less wide and deep, fewer quantiles, trees and steps, but larger ones: minutes, not hours; the same parts."""
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
        "without smoothed targets": ("model.smoothing=0",),
        "without smooth functions": ("model.basis=0",),
        "trained without trees": ("tree.model=none",),
    },
}
"""What is taken away. `auto` has neither OCEL nor quantile embeddings: what stands in their place goes instead."""
TREES = ("lightgbm", "xgboost", "catboost", "decision_tree")
N_TREES = (5, 10, 20, 50, 100)
MASKS = (0.0, 0.2, 0.4, 0.6, 0.8)
TEMPERATURES = (0.2, 0.5, 1.0, 1.5, 2.0)


def variant(base: str, kind: str, value: object, settings: tuple[str, ...]) -> GeneratorSpec:
    """A model with some settings changed; its name says which, as `auto | trees | 10`."""
    preset, shape = BASES[base]
    return GeneratorSpec(
        name=f"{base} | {kind} | {value}",
        family="ours",
        file=FILES / "ours.py",
        options={"preset": preset, "settings": (*shape, *settings)},
    )


def ablations() -> list[GeneratorSpec]:
    """Parts taken away, one at a time."""
    return [variant(b, "part", name, changes) for b, parts in PARTS.items() for name, changes in parts.items()]


def curves() -> list[GeneratorSpec]:
    """Settings varied over a range: tree model, number of trees, masks, temperature."""
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
    """Each tree library at about the same size; `auto` sizes them itself."""
    if base == "auto":
        return (f"tree.model={name}",)
    sizes = {
        "lightgbm": '{"n_estimators": 20, "num_leaves": 15}',
        "xgboost": '{"n_estimators": 20, "max_depth": 4}',
        "catboost": '{"iterations": 20, "depth": 4}',
        "decision_tree": '{"max_leaf_nodes": 30}',
    }
    return (f"tree.model={name}", f"tree.params={sizes[name]}")
