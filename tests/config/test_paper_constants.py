"""Every constant of the paper, and what Hugging Face's Trainer and GPT-2 leave at a default, is guarded.

The whole of each preset is typed here once: a field that is changed, or added without a line here, fails. What
`tests/paper/*.json` holds (read out of the paper) is compared with the code entry by entry, and an entry that nothing
is compared with fails too.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest
import torch

from tabtreeformer.config.presets import PRESETS
from tabtreeformer.config.settings import Config, ModelConfig, TrainConfig
from tabtreeformer.evaluation.attacks.distances import ALPHA
from tabtreeformer.evaluation.compare.tables import TEST_SHARE
from tabtreeformer.evaluation.metrics import evaluator_search, neighbours
from tabtreeformer.evaluation.metrics.evaluators import EVALUATORS, SPACES, Choice
from tabtreeformer.fitting import trainer
from tabtreeformer.fitting.distributed import Team
from tabtreeformer.fitting.optimizer import build_optimizer
from tabtreeformer.fitting.prompts import MAX_PROMPTS
from tabtreeformer.fitting.update import Updater
from tabtreeformer.model import build_network
from tabtreeformer.model.decoder import INIT_STD
from tabtreeformer.model.loss import ordinal_weights
from tabtreeformer.tokens import Slot, SlotKind, TokenLayout
from tabtreeformer.tokens.layout import N_SPECIAL
from tabtreeformer.trees import tuning
from tabtreeformer.trees.spaces import LIGHTGBM_SPACE

PAPER = Path(__file__).parents[1] / "paper"

S = {
    "tree": {"model": "lightgbm", "trials": 50, "timeout_seconds": None, "params": {}},
    "tokens": {"scheme": "quantile", "bins": 10, "quantiles": 1000, "rare_floor": 0},
    "model": {
        "backbone": "gpt2", "width": 256, "feed_forward": 1024, "heads": 8, "layers": 6, "dropout": 0.1,
        "softmax": "vocabulary", "pool": 1, "functions": 12, "copula": False, "quantile_embedding": "sigmoid",
        "backbone_options": {},
    },
    "train": {
        "steps": 5000, "batch_size": 128, "accumulate": 1, "learning_rate": 5e-4, "matrix_rate": 0.0,
        "shared_share": 0.1, "prompts": "trained", "margins": False, "validation_rows": None, "leaf_mask": [0.5, 0.75],
        "table_orders": 0.0, "value_mask": [0.25, 0.5], "validate_every": 100, "patience": 3, "gap_limit": None,
        "restore_best": True, "ordinal_loss": 0.005, "precision": "auto",
    },
    "sampling": {
        "temperature_category": 2.0, "temperature_numeric": 1.0, "together": False, "leaf_prompts": True,
        "committee": 0.0, "batch_size": 512,
    },
    "forest": None,
}  # fmt: skip
SIZE_L = {"width": 768, "feed_forward": 3072, "heads": 12}
NM = {"leaf_mask": [0.0, 0.0], "value_mask": [0.0, 0.0], "patience": 100, "restore_best": False}
HEAT = {"temperature_category": 0.2, "temperature_numeric": 0.1}


@pytest.mark.parametrize(
    ("name", "changes"),
    [("S", {}), ("L", {"model": SIZE_L}), ("NM", {"model": SIZE_L, "train": NM, "sampling": HEAT})],
)
def test_presets_are_the_papers_field_by_field(name, changes):
    typed = {section: {**fields, **changes.get(section, {})} if fields else fields for section, fields in S.items()}
    assert PRESETS[name].to_json() == typed


def tiny():
    layout = TokenLayout.build([2], [Slot(SlotKind.BIN, 0, 2), Slot(SlotKind.QUANTILE, 0, 3)])
    return build_network(layout, ModelConfig(width=8, feed_forward=16, heads=2, layers=1), torch.Generator())


def test_the_optimiser_is_the_trainers_default():
    optimizer = build_optimizer(tiny(), TrainConfig())
    assert isinstance(optimizer, torch.optim.AdamW)
    for group in optimizer.param_groups:
        assert (group["lr"], group["weight_decay"], group["betas"], group["eps"]) == (5e-4, 0.0, (0.9, 0.999), 1e-8)
    assert (INIT_STD, trainer.SHARED_PASSES, MAX_PROMPTS["trained"]) == (0.02, 20, 100_000)


def preset(name, section, *fields):
    return lambda: [getattr(getattr(PRESETS[name], section), field) for field in fields]


def both(*fields):
    """A value that S and L share, which must not differ."""
    section = fields[0]
    return lambda: [getattr(getattr(PRESETS[name], section), field) for name in ("S", "L") for field in fields[1:]]


def masks(name):
    return lambda: list(getattr(PRESETS["S"].train, name))


def slots(kind):
    """Tokens of a value: the slots of a numeric or a categorical column in the layout of the example."""
    found = [slot for slot in example().value_slots if (slot.kind == SlotKind.CATEGORY) == (kind == "categorical")]
    return len(found) // 10


def example():
    numeric = [Slot(kind, c, n) for c in range(10) for kind, n in ((SlotKind.BIN, 10), (SlotKind.QUANTILE, 1000))]
    return TokenLayout.build([200] * 200, [*numeric, *(Slot(SlotKind.CATEGORY, 10 + c, 20) for c in range(10))])


CHECKS = {
    "tokenizer.K_kmeans_bins": both("tokens", "bins"),
    "tokenizer.Q_quantiles": both("tokens", "quantiles"),
    "tokenizer.tokens_per_numeric_value": lambda: slots("numeric"),
    "tokenizer.tokens_per_categorical_value": lambda: slots("categorical"),
    "vocabulary.n_special": lambda: N_SPECIAL,
    **{
        f"transformer.sizes.{size}.{theirs}": preset(size, "model", ours)
        for size in ("S", "L")
        for theirs, ours in (("hidden", "width"), ("feed_forward", "feed_forward"), ("heads", "heads"))
    },
    "transformer.n_layers": both("model", "layers"),
    "loss.sigma": both("train", "ordinal_loss"),
    "loss.m": lambda: inspect.signature(ordinal_weights).parameters["floor"].default,
    "masking.leaf_ratio_range": masks("leaf_mask"),
    "masking.value_ratio_range": masks("value_mask"),
    "masking.leaf_ratio_NM": lambda: [*PRESETS["NM"].train.leaf_mask],
    "masking.value_ratio_NM": lambda: [*PRESETS["NM"].train.value_mask],
    "training.batch_size_per_device": both("train", "batch_size"),
    "training.max_steps_s": both("train", "steps"),
    "training.learning_rate": both("train", "learning_rate"),
    "training.validation_interval_steps": both("train", "validate_every"),
    "training.early_stopping_patience": both("train", "patience"),
    "training.early_stopping_patience_NM": preset("NM", "train", "patience"),
    "training.shared_steps_cap": lambda: trainer.shared_steps(10**6, Config().train),
    "generation.temperature_categorical": both("sampling", "temperature_category"),
    "generation.temperature_numeric": both("sampling", "temperature_numeric"),
    "generation.temperature_categorical_NM": preset("NM", "sampling", "temperature_category"),
    "generation.temperature_numeric_NM": preset("NM", "sampling", "temperature_numeric"),
    "utility_metric.evaluators": lambda: list(EVALUATORS),
    "dcr_metric.n_quantiles": lambda: neighbours.QUANTILES,
    "dcr_metric.alpha": lambda: ALPHA,
}
ELSEWHERE = {
    "vocabulary.token_types": "tests/tokens: the layout",
    "vocabulary.special_tokens": "n_special, and tests/tokens",
    "transformer.sizes.S.approx_params_M": "tests/model/test_vocab_model.py",
    "transformer.sizes.L.approx_params_M": "tests/model/test_vocab_model.py",
    "transformer.networks_per_model": "tests/fitting/test_trainer.py",
    "loss.ocel_V": "tests/model/test_loss.py",
    "loss.bins_use_ocel": "tests/model/test_loss.py",
    "masking.targets_masked": "tests/fitting/test_trainer.py",
    "masking.prompts_masked_at_generation": "tests/sampling",
    "fidelity_metric.scores": "tests/evaluation/test_sdmetrics.py",
    **dict.fromkeys(
        ["experiments.repeats", "experiments.datasets", "experiments.baselines", "experiments.ablation_datasets"],
        "tests/benchmarks/test_experiments.py",
    ),
}
"""Entries that other tests guard; `claims` are results, not constants."""


def entries():
    found = {}

    def walk(node, path):
        if isinstance(node, dict) and "where" in node:
            if isinstance(node["value"], int | float | list):
                found[".".join(path)] = node["value"]
        elif isinstance(node, dict):
            for name, child in node.items():
                walk(child, (*path, name))

    config = json.loads((PAPER / "config.json").read_text(encoding="utf-8"))
    config.pop("claims")
    config.pop("quantile_embedding")  # equations, in tests/model/test_embedding.py
    walk(config, ())
    return found


def test_every_entry_of_the_paper_is_compared_with_the_code():
    assert set(entries()) == set(CHECKS) | set(ELSEWHERE)


@pytest.mark.parametrize("name", CHECKS)
def test_the_code_has_the_constant_of_the_paper(name):
    expected, found = entries()[name], CHECKS[name]()
    if isinstance(found, list) and not isinstance(expected, list):
        assert set(found) == {expected}
    else:
        assert found == expected


def test_searches_and_splits_are_the_papers():
    paper = json.loads((PAPER / "search_spaces.json").read_text(encoding="utf-8"))
    trees = paper["lightgbm_tree_model"]
    assert (trees["trials"], trees["cv_folds"]) == (PRESETS["S"].tree.trials, tuning.FOLDS)
    for name in ("random_forest_mle", "xgboost_mle"):
        assert (paper[name]["trials"], paper[name]["cv_folds"]) == (evaluator_search.TRIALS, evaluator_search.FOLDS)
    assert TEST_SHARE == 5  # four to one


SPACE_OF = {"lightgbm_tree_model": LIGHTGBM_SPACE, "random_forest_mle": SPACES["RF"], "xgboost_mle": SPACES["XGB"]}


@pytest.mark.parametrize("name", SPACE_OF)
def test_search_spaces_are_the_papers(name):
    paper = json.loads((PAPER / "search_spaces.json").read_text(encoding="utf-8"))[name]["space"]

    def plain(space):
        if isinstance(space, Choice):
            return {"type": "categorical", "choices": list(space.options)}
        kind = "int" if space.whole else "float"
        return {"type": kind, "low": space.low, "high": space.high, "step": space.step, "log": space.log}

    typed = {key: {f: v for f, v in p.items() if f != "paper_name"} for key, p in paper.items()}
    assert {key: plain(space) for key, space in SPACE_OF[name].items()} == typed


def test_gradients_of_a_batch_are_clipped_at_norm_1(monkeypatch):
    network = tiny()
    updater = Updater("network", network, TrainConfig(), torch.device("cpu"), Team())
    updater.loss = lambda masked, order, rows: 1000 * sum(weight.square().sum() for weight in network.parameters())
    norms = []
    monkeypatch.setattr(
        updater.optimizer,
        "step",
        lambda: norms.append(torch.stack([w.grad.norm() for w in network.parameters()]).norm()),
    )
    updater.update(torch.zeros(2, 5, dtype=torch.long), lambda rows: (rows, None), print)
    assert float(norms[0]) == pytest.approx(1.0, abs=1e-4)
