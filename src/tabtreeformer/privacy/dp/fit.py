"""Fitting under differential privacy: everything kept, shown or written was learned with noise."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..._runtime.threads import threads_for
from ...artifact.fitted import Fitted
from ...artifact.prompt_bank import PromptBank
from ...config.presets import AUTO
from ...config.settings import Config
from ...data.schema import MEASURED, Schema
from ...data.schema.dtypes import dtype_name
from ...errors import ConfigError, SchemaError
from ...fitting import Resources
from ...fitting.checkpoint.resuming import versions
from ...fitting.request import Request
from ...laws import parse as parse_law
from ...model import SlotModel
from ...tokens import TableCodec, TokenLayout
from ...tokens.constraints import RuleSet
from ...tokens.constraints.parse import parse
from ...tokens.constraints.rules import AtLeast, Lookup, Rule
from ...tokens.constraints.ruleset import in_order
from .budget import DP, Plan, make_plan
from .columns import PrivateColumn, check, histograms_of, learn_column
from .histograms import Histograms
from .matching import match_counts
from .noise import Floats, Noise
from .training import train_private


def fit_private(
    df: Any,
    schema: Schema | None,
    request: Request,
    dp: DP,
    seed: np.random.SeedSequence,
    seeded: bool,
    resources: Resources,
) -> Fitted:
    """Learn a table under differential privacy; with a seed the noise is reproducible and the guarantee void."""
    started, progress = time.perf_counter(), resources.progress
    if not isinstance(df, pd.DataFrame):
        raise ConfigError("differential privacy reads a table whole: pass a DataFrame, not a table in parts")
    schema = accept(schema, df)
    if request.target is not None:
        schema.column(request.target)
    frame, noise_seed, row_seed, train_seed = schema.validate(df), *seed.spawn(3)
    config = request.configure(n_rows=len(frame), n_columns=frame.shape[1])
    check_config(config)
    rules = parse_rules(request, schema)
    noise = Noise(np.random.default_rng(noise_seed) if seeded else None)
    if seeded:
        progress.note(
            "the noise comes from random_state: use this for tests only, because anyone who knows the seed "
            "can remove it"
        )
    plan = _plan(dp, schema, len(frame), config)
    make = Histograms(plan, noise, len(frame))
    columns = [learn_column(frame[c.name], c, config.tokens.quantiles, make) for c in schema.columns]
    codec = TableCodec(schema, tuple(column.codec for column in columns))
    codec = dataclasses.replace(codec, rules=RuleSet(tuple(_with_gaps(rule, codec) for rule in rules)))
    for note in (*codec.notes, _announce(config, plan)):
        progress.note(note)

    layout = TokenLayout.build((), codec.slots)
    # Separate generators, so that draws for the biases do not depend on the number of rows read.
    fill_rng, match_rng = (np.random.default_rng(part) for part in row_seed.spawn(2))
    tokens, counts = _encode(frame, columns, layout, fill_rng)
    left = math.inf if request.budget_seconds is None else request.budget_seconds - (time.perf_counter() - started)
    with threads_for(config.model.width):
        in_time = dataclasses.replace(resources, seconds=left)
        model, history = train_private(layout, tokens, counts, config, plan, noise, train_seed, in_time)
        match_counts(model, counts, config.sampling, match_rng)
    spent = {name: _short(fact) for name, fact in plan.spent(history.steps).items()} | {"noise_from": noise.origin}
    progress.note(f"spent: epsilon {spent['epsilon']}, delta {spent['delta']} ({spent['accountant']})")
    record = {
        "rows": len(frame),
        "preset": request.preset,
        "target": request.target,
        "fit_seconds": round(time.perf_counter() - started, 3),
        "training": [history.to_json()],
        "versions": versions(),
        "networks": 1,
        "privacy": {"dp": spent},
    }
    return _fitted(config, codec, layout, request.target, model, record)


def _plan(dp: DP, schema: Schema, n_rows: int, config: Config) -> Plan:
    """The noise of all parts, from the schema and the public number of rows."""
    needs = [histograms_of(column) for column in schema.columns]
    n_histograms, n_found = (sum(numbers) for numbers in zip(*needs, strict=True))
    return make_plan(dp, n_rows, n_histograms, n_found, config.train.batch_size, config.train.steps)


def _announce(config: Config, plan: Plan) -> str:
    """Print what is about to be trained."""
    return (
        f"differential privacy: one network of {config.model.layers} layers × {config.model.width}, no trees, "
        f"{plan.steps:,} steps of about {config.train.batch_size} rows; counts get noise of ±{plan.count_noise:.1f}, "
        f"clipped gradients get noise of {plan.train_noise:.2f} times their bound"
    )


def _encode(
    frame: pd.DataFrame, columns: Sequence[PrivateColumn], layout: TokenLayout, rng: np.random.Generator
) -> tuple[NDArray[np.int64], list[Floats]]:
    """Token rows (N, L), and the noisy frequencies of the ids of each slot."""
    values = np.concatenate([column.encode(frame[column.codec.column.name], rng) for column in columns], axis=1)
    counts = [c for column in columns for c in column.counts]
    if not counts:  # there is nothing to learn, but a row needs a slot
        values, counts = np.zeros((len(frame), 1), dtype=np.int64), [np.ones(1)]
    return layout.to_tokens(np.empty((len(frame), 0), dtype=np.int64), values), counts


def _fitted(
    config: Config,
    codec: TableCodec,
    layout: TokenLayout,
    target: str | int | None,
    model: SlotModel,
    record: dict[str, Any],
) -> Fitted:
    """A fitted model with one network, without trees and prompts."""
    blank = PromptBank(np.empty((1, 0), dtype=np.int32))
    return Fitted(
        config=config,
        schema=codec.schema,
        codec=codec,
        layout=layout,
        tree_target=target,
        tree_encoder=None,
        tree_text="",
        models=(model, model),
        prompts=(blank, blank),
        record=record,
    )


def accept(schema: Schema | None, df: pd.DataFrame) -> Schema:
    """The given schema without reasons; nothing is inferred from the rows."""
    if schema is None:
        raise SchemaError(
            "differential privacy needs a schema, because the columns must not be inferred from the rows. Write one "
            "with ttf schema TABLE --public -o schema.json, or Schema.infer(other_rows), check that everything in it "
            "is public, and pass it: fit(df, schema=schema)"
        )
    for column in schema.columns:
        check(column)
        if column.name in df.columns and dtype_name(df[column.name].dtype) != column.dtype:
            raise SchemaError(
                f"column {column.name!r} has dtype {dtype_name(df[column.name].dtype)}, and {column.dtype} in the "
                f"schema; convert it, e.g. with .astype({column.dtype!r})"
            )
    return dataclasses.replace(schema, columns=tuple(dataclasses.replace(c, why="") for c in schema.columns))


def check_config(config: Config) -> None:
    """Refuse settings that cannot be made private."""
    if config.tree.model != "none":
        raise ConfigError(
            f"tree.model={config.tree.model!r}: trees are grown without noise; use tree='none' with differential "
            "privacy, or leave it out"
        )
    told = {"model.copula": config.model.copula, "train.margins": config.train.margins}
    for name in (name for name, wanted in told.items() if wanted):
        raise ConfigError(f"{name}=True is learned without noise; leave it out under differential privacy")
    if config.model.softmax != "allowed" or config.model.backbone != "gpt2" or config.tokens.scheme != "atoms":
        raise ConfigError(
            "differential privacy needs model.softmax='allowed', model.backbone='gpt2' and tokens.scheme='atoms', as "
            "preset 'auto' has them"
        )


KEPT = "'end >= start', 'total = net + tax' or 'total = price * quantity'"


def parse_rules(request: Request, schema: Schema) -> Sequence[Rule]:
    """Parse the listed relations, which are public; none are searched for."""
    wanted = request.relations(schema)
    texts = () if wanted is None or wanted == AUTO else wanted
    rules = [_rule(text, schema) for text in texts]
    for rule in rules:
        if isinstance(rule, Lookup):
            raise SchemaError(
                f"constraint {rule.text!r} would list pairs of values of real rows; drop it under differential privacy"
            )
        if isinstance(rule, AtLeast) and rule.strict:
            raise SchemaError(
                f"constraint {rule.text!r}: ranges under differential privacy are approximate and may have equal "
                "ends, so '>' cannot be kept; write '>='"
            )
    ordered, left = in_order(rules)
    if left:
        raise SchemaError(f"constraints {', '.join(repr(rule.text) for rule in left)} cannot all be kept; drop one")
    return ordered


def _rule(text: str, schema: Schema) -> Rule:
    """A relation that needs nothing of the rows; other laws, which are learned from them, are refused by name."""
    try:
        return parse(text, schema)
    except SchemaError:
        parse_law(text, schema)  # a sentence that no form reads is an error of its own
        raise SchemaError(
            f"constraint {text!r} cannot be kept under differential privacy, which keeps only relations like {KEPT}; "
            f"drop it from the schema"
        ) from None


def _with_gaps(rule: Rule, codec: TableCodec) -> Rule:
    """Derive the distance of two columns from their ranges, so that no differences of rows are stored."""
    if not isinstance(rule, AtLeast):
        return rule
    bounds = {c.column.name: c.bounds for c in codec.columns if c.column.kind in MEASURED}
    greater, lesser = bounds[rule.greater], bounds[rule.lesser]
    return dataclasses.replace(rule, gaps=(0.0, max(float(greater.high) - float(lesser.low), 0.0)))


def _short(fact: float | int | str) -> float | int | str:
    """Round up, so that no printed figure is below the actual one."""
    if not isinstance(fact, float) or fact == 0:
        return fact
    scale = 10.0 ** (4 - math.floor(math.log10(abs(fact))))
    return float(f"{math.ceil(fact * scale) / scale:.6g}")
