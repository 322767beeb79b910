"""Questions to a fitted model, beyond "give me n rows": rows under conditions, gaps, likelihoods, predictions.

All need a model that was trained in any order, as `auto` is: what is given comes first, the rest is drawn or judged
after it.

Shapes: `N` rows, `D` value slots, `K` ids of a target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from .conditions import as_condition, present
from .config import SampleConfig
from .errors import ConditionError, ConfigError
from .fitted import Fitted
from .generation import RowWriter, blank, masked
from .model import SlotModel
from .schema import CONSTANT, IDENTIFIER, MEASURED
from .tokens.allowed import Allowed, allow, holds, known_labels
from .tokens.atoms import AtomCodec
from .tokens.column import ColumnCodec, LabelCodec
from .tokens.times import TickCodec

Name = str | int
BATCH = 2048
ROUNDS = 50
"""How often rows are drawn anew that a relation between columns has moved out of a condition."""
PROMPTS = 4
"""Masked prompts over which a prediction from known leaves is averaged."""


def writer(
    fitted: Fitted, sampling: SampleConfig, seed: np.random.SeedSequence, advance: Callable[[int], None]
) -> RowWriter:
    """What draws rows from a fitted model."""
    return RowWriter(
        train=fitted.config.train,
        sampling=sampling,
        codec=fitted.codec,
        layout=fitted.layout,
        networks=fitted.models,
        banks=fitted.prompts,
        encoder=fitted.tree_encoder,
        leaf_model=lambda: fitted.leaf_model,
        seed=seed,
        advance=advance,
    )


def sample_given(fitted: Fitted, rows: RowWriter, n: int, given: Mapping[Name, Any]) -> pd.DataFrame:
    """Write n rows that meet the conditions, all of them, always."""
    _any_order(fitted)
    allowed = {}
    for name, value in given.items():
        place, codec = _column(fitted, name)
        measured = codec.column.kind in MEASURED or (codec.column.kind == CONSTANT and codec.column.sort != "label")
        allowed[place] = allow(codec, as_condition(value, measured=measured))
    frame = rows.codec.decode(rows.rows_within(n, allowed), rows.rng, within=allowed)
    if not fitted.codec.rules.rules:
        return frame
    for attempt in range(ROUNDS):
        bad = np.flatnonzero(~_meets(fitted, allowed, frame))
        if not len(bad):
            return frame
        again = rows.codec.decode(rows.rows_within(len(bad), allowed), rows.rng, n * (attempt + 1), within=allowed)
        frame = pd.concat([frame.drop(index=bad), again.set_axis(bad)]).sort_index()
    raise ConditionError(
        f"{len(bad):,} of {n:,} rows cannot meet the conditions and keep the relations "
        f"{', '.join(fitted.codec.rules.texts)}; give other conditions, or fit without a relation"
    )


def complete(fitted: Fitted, rows: RowWriter, partial: pd.DataFrame, *, fill: bool) -> pd.DataFrame:
    """Whole rows for partial ones: what is there stays, what is missing is drawn; index and order are kept.

    With `fill` what is drawn is never itself a missing value.
    """
    _any_order(fitted)
    _check_rows(fitted, partial)
    pieces = []
    for known, part in _by_pattern(fitted, partial):
        ids = _encode_known(fitted, known, part).astype(np.int32)
        limits = {}
        if fill:
            unknown = [p for p in range(len(fitted.codec.columns)) if p not in known and _slots(fitted, p)]
            limits = {p: _present(fitted.codec.columns[p]) for p in unknown if fitted.codec.columns[p].missing}
        drawn = rows.completed(ids, known, _known_leaves(fitted, known, part), limits)
        pieces.append(_keep_given(fitted.codec.decode(drawn, rows.rng), part))
    return _as_fitted(fitted, pd.concat(pieces).loc[partial.index])


def sample_shares(
    fitted: Fitted,
    rows: RowWriter,
    n: int,
    balance: Name | None,
    mix: Mapping[Name, Mapping[Any, float]] | None,
) -> pd.DataFrame:
    """Write n rows in which the classes of a column come in equal or stated shares, in random order."""
    partial = _shares_as_rows(fitted, n, balance, mix)
    return complete(fitted, rows, partial.iloc[rows.rng.permutation(n)].reset_index(drop=True), fill=False)


def repeated(partial: pd.DataFrame, n: int) -> pd.DataFrame:
    """Partial rows, each as often as n rows need; the index is kept where each is wanted once."""
    if not len(partial):
        raise ConfigError("given holds no rows")
    if n == len(partial):
        return partial
    return partial.iloc[np.arange(n) % len(partial)].reset_index(drop=True)


def _shares_as_rows(
    fitted: Fitted, n: int, balance: Name | None, mix: Mapping[Name, Mapping[Any, float]] | None
) -> pd.DataFrame:
    """Partial rows with the classes of a column in equal or stated shares."""
    if (balance is not None) == bool(mix) or (mix is not None and len(mix) != 1):
        raise ConfigError("give either balance, or mix with one column and the shares of its classes")
    name = balance if balance is not None else next(iter(mix or ()))
    _, codec = _column(fitted, name)
    if not isinstance(codec.inner, LabelCodec):
        raise ConditionError(f"column {name!r} is {codec.column.kind} and has no classes to share out")
    labels = codec.inner.labels.values
    shares = dict.fromkeys(labels, 1.0) if balance is not None else dict((mix or {})[name])
    unknown = [value for value in shares if value not in labels]
    if unknown:
        raise ConditionError(f"column {name!r} never was {unknown[0]!r}; known: {known_labels(labels)}")
    total = sum(shares.values())
    if not total > 0 or min(shares.values()) < 0:
        raise ConfigError(f"mix: the shares of {name!r} must be numbers from 0, one of them above 0")
    ends = np.rint(np.cumsum([share / total for share in shares.values()]) * n).astype(int)
    codes = np.repeat([labels.index(value) for value in shares], np.diff(ends, prepend=0))
    return codec.column.write(codec.inner.labels.decode(codes)).to_frame(name)


def log_prob(fitted: Fitted, df: pd.DataFrame, *, by_column: bool = False) -> pd.Series | pd.DataFrame:
    """Log-probability of rows in nats, from blank prompts and in table order; for numbers between atoms a density.

    By column, each part is about the column given those before it; parts add up to the whole.
    """
    logs = _column_logs(fitted, df, None)
    frame = pd.DataFrame(logs, columns=list(fitted.schema.names), index=df.index)
    return frame if by_column else frame.sum(axis=1).rename("log_prob")


def outliers(fitted: Fitted, df: pd.DataFrame, n: int, n_columns: int = 3) -> pd.DataFrame:
    """The n rows that the model finds least likely, each with the columns that surprise it most given all others."""
    whole = log_prob(fitted, df)
    least = np.argsort(whole.to_numpy(), kind="stable")[:n]
    chosen = df.iloc[least]
    names = list(fitted.schema.names)
    surprise = np.zeros((len(chosen), len(names)))
    for place in range(len(names)):
        if _slots(fitted, place):
            surprise[:, place] = -_column_logs(fitted, chosen, place)[:, place]
    most = np.argsort(-surprise, axis=1, kind="stable")[:, :n_columns]
    table = pd.DataFrame({"log_prob": whole.iloc[least].to_numpy()}, index=chosen.index)
    table["columns"] = [[names[p] for p in row] for row in most]
    return table


def predict_proba(fitted: Fitted, df: pd.DataFrame, target: Name, seed: np.random.SeedSequence) -> pd.DataFrame:
    """Chances of each class of a column, given whatever the rows have of the others."""
    place, codec = _column(fitted, target)
    if not isinstance(codec.inner, LabelCodec):
        raise ConditionError(f"column {target!r} is {codec.column.kind} and has no classes; use predict")
    chances = _chances(fitted, df, place, seed)[:, : len(codec.inner.labels.values)]
    return pd.DataFrame(chances, columns=list(codec.inner.labels.values), index=df.index)


def predict(fitted: Fitted, df: pd.DataFrame, target: Name, seed: np.random.SeedSequence) -> pd.Series:
    """The likeliest class of a column, or the mean of a number, given whatever the rows have of the others."""
    place, codec = _column(fitted, target)
    inner = codec.inner
    if isinstance(inner, LabelCodec):
        chances = _chances(fitted, df, place, seed)[:, : len(inner.labels.values)]
        values = codec.column.write(inner.labels.decode(chances.argmax(1)))
    elif isinstance(inner, AtomCodec) or (isinstance(inner, TickCodec) and isinstance(inner.ticks, AtomCodec)):
        atoms, step = (inner, 1) if isinstance(inner, AtomCodec) else (inner.ticks, inner.step)
        assert isinstance(atoms, AtomCodec)
        middles = (atoms.lows / 2 + atoms.highs / 2) * step
        means = _chances(fitted, df, place, seed)[:, : len(middles)] @ middles
        values = pd.Series(means) if codec.column.sort == "number" else codec.column.write(np.rint(means))
    else:
        raise ConditionError(f"column {target!r} is {codec.column.kind} and cannot be predicted; draw it with impute")
    return pd.Series(values.array, index=df.index, name=target, dtype=values.dtype)


def _chances(fitted: Fitted, df: pd.DataFrame, place: int, seed: np.random.SeedSequence) -> NDArray[np.float64]:
    """Chances of the ids of a column (N, K), those of a missing value left out, averaged over networks and prompts."""
    _any_order(fitted)
    slots = _slots(fitted, place)
    if len(slots) != 1:
        raise ConditionError(f"column {fitted.schema.names[place]!r} is more than one choice; draw it with impute")
    codec, rng = fitted.codec.columns[place], np.random.default_rng(seed)
    table = df.drop(columns=[fitted.schema.names[place]], errors="ignore")
    _check_rows(fitted, table)
    size = fitted.layout.value_slots[slots[0]].size
    result = np.zeros((len(df), size))
    for known, part in _by_pattern(fitted, table):
        rows = table.index.get_indexer(part.index)
        ids = _encode_known(fitted, known, part)
        leaves = _known_leaves(fitted, known, part)
        given = [slot for other in known for slot in _slots(fitted, other)]
        for _ in range(1 if leaves is None else PROMPTS):
            if leaves is None:
                prompts = blank(len(part), fitted.layout.n_trees)
            else:
                prompts = masked(leaves, fitted.config.train.leaf_mask, rng)
            result[rows] += _slot_chances(fitted, prompts, ids, given, slots[0])
    if codec.missing:
        result[:, codec.marks[0]] = 0.0
    chances: NDArray[np.float64] = result / result.sum(1, keepdims=True)
    return chances


@torch.inference_mode()
def _slot_chances(
    fitted: Fitted, prompts: NDArray[np.int32], ids: NDArray[np.int64], given: Sequence[int], slot: int
) -> NDArray[np.float64]:
    """Chances of the ids of a slot after the given ones (N, K), summed over the networks."""
    layout, total = fitted.layout, None
    tokens = torch.from_numpy(layout.to_tokens(prompts, ids))
    T = layout.n_trees
    rest = [i for i in range(layout.n_values) if i not in {*given, slot}]
    order = torch.tensor([[*given, slot, *rest]])
    for network in fitted.models:
        network.eval()
        device = next(network.parameters()).device
        parts = []
        for start in range(0, len(ids), BATCH):
            rows = tokens[start : start + BATCH].to(device)
            inputs = torch.cat([rows[:, : 1 + T], rows[:, 1 + T : -1][:, list(given)]], dim=1)
            hidden = network.hidden(inputs, order=order.to(device))[:, -1]
            drawn = torch.from_numpy(ids[start : start + BATCH]).to(device)
            parts.append(torch.softmax(network.slot_logits(hidden, slot, drawn).double(), 1).cpu())
        chances = torch.cat(parts)
        total = chances if total is None else total + chances
    assert total is not None
    return total.numpy()


@torch.inference_mode()
def _column_logs(fitted: Fitted, df: pd.DataFrame, last: int | None) -> NDArray[np.float64]:
    """Logs of the mixture of both networks by column (N, columns), in table order or with one column last."""
    if not isinstance(fitted.models[0], SlotModel):
        raise ConfigError("likelihoods need a model with model.softmax='allowed', as the preset auto has")
    if last is not None:
        _any_order(fitted)
    _check_rows(fitted, df)
    absent = [name for name in fitted.schema.names if name not in df.columns]
    if absent:
        raise ConfigError(f"rows can be judged only as a whole; they lack {', '.join(map(repr, absent))}")
    ids, layout = fitted.codec.encode(df), fitted.layout
    tokens = torch.from_numpy(layout.to_tokens(blank(len(ids), layout.n_trees), ids))
    slots = list(range(layout.n_values))
    if last is not None:
        slots.sort(key=lambda i: layout.value_slots[i].column == last)
    any_order = fitted.config.model.order == "any"
    logs = []
    for network in fitted.models:
        assert isinstance(network, SlotModel)
        network.eval()
        device = next(network.parameters()).device
        parts = []
        for start in range(0, len(ids), BATCH):
            rows = tokens[start : start + BATCH].to(device)
            order = torch.tensor([slots], device=device).expand(len(rows), -1) if any_order else None
            parts.append(network.log_probs(rows, order)[:, slots].cpu())
        logs.append(torch.cat(parts).numpy())
    # The networks are a mixture: what one says of a slot counts by how well it has told the slots before.
    joint = np.logaddexp(*(np.cumsum(log, axis=1) for log in logs)) - np.log(2)  # (N, D)
    steps = np.diff(joint, axis=1, prepend=0.0)
    result = np.zeros((len(ids), len(fitted.schema.names)))
    for k, slot in enumerate(slots):
        if fitted.codec.columns[layout.value_slots[slot].column].width:
            result[:, layout.value_slots[slot].column] += steps[:, k]
    for place, codec in enumerate(fitted.codec.columns):
        result[:, place] -= _log_widths(codec, ids[:, _slots(fitted, place)])
    return result


def _log_widths(codec: ColumnCodec, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log of the stretch of numbers that an id stands for (N,): its chance over this is a density; 0 for an atom."""
    inner = codec.inner
    if not isinstance(inner, AtomCodec) or not ids.shape[1]:
        return np.zeros(len(ids))
    step = 0.0 if inner.decimals is None else 10.0**-inner.decimals
    widths = np.where(inner.lows == inner.highs, 1.0, inner.highs - inner.lows + step)
    widths = np.append(widths, 1.0)  # a missing value is no stretch
    logs: NDArray[np.float64] = np.log(widths[np.minimum(ids[:, -1], len(inner.lows))])
    return logs


def _encode_known(fitted: Fitted, known: Sequence[int], part: pd.DataFrame) -> NDArray[np.int64]:
    """Ids of the given columns of rows (N, D), 0 elsewhere."""
    ids = np.zeros((len(part), fitted.layout.n_values), dtype=np.int64)
    for place in known:
        ids[:, _slots(fitted, place)] = fitted.codec.columns[place].encode(part[fitted.schema.names[place]])
    return ids


def _known_leaves(fitted: Fitted, known: Sequence[int], part: pd.DataFrame) -> NDArray[np.int64] | None:
    """Leaves of rows in which every feature of the trees is given; None elsewhere."""
    if fitted.tree_encoder is None:
        return None
    names = {fitted.schema.names[place] for place in known}
    if not {source.column.name for source in fitted.tree_encoder.sources} <= names:
        return None
    return fitted.leaf_model.leaves(fitted.tree_encoder.features(part))


def _by_pattern(fitted: Fitted, partial: pd.DataFrame) -> Iterator[tuple[list[int], pd.DataFrame]]:
    """Rows that have the same columns, together: places of those columns, and the rows."""
    names = fitted.schema.names
    there = np.array([partial[n].notna().to_numpy() if n in partial else np.zeros(len(partial), bool) for n in names]).T
    patterns, group = np.unique(there, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        known = [p for p in np.flatnonzero(pattern).tolist() if _can_be_given(fitted, p)]
        yield known, partial[group.reshape(-1) == number]


def _can_be_given(fitted: Fitted, place: int) -> bool:
    return bool(_slots(fitted, place)) and fitted.codec.columns[place].column.kind != IDENTIFIER


def _present(codec: ColumnCodec) -> Allowed:
    """Any value but a missing one; of a key, which cannot be given, it says only that there is one."""
    if codec.column.kind == IDENTIFIER:
        return Allowed((np.array([True, False]),))
    return allow(codec, present())


def _keep_given(drawn: pd.DataFrame, part: pd.DataFrame) -> pd.DataFrame:
    """Put what was given back over what was drawn, to the bit."""
    drawn.index = part.index
    for name in part.columns:
        known = part[name].notna()
        if known.all():
            drawn[name] = part[name]
        elif known.any():
            drawn[name] = part[name].where(known, drawn[name].astype(part[name].dtype))
    return drawn


def _as_fitted(fitted: Fitted, frame: pd.DataFrame) -> pd.DataFrame:
    """Give columns the dtype of the fitted table where no value changes by it: 3.0 is a 3 again once no gap is left."""
    for column in fitted.schema.columns:
        series = frame[column.name]
        wanted = column.write(np.zeros(0, dtype=object if column.sort == "label" else np.int64)).dtype
        if series.dtype == wanted:
            continue
        try:
            cast = series.astype(wanted)
        except (ValueError, TypeError):
            continue
        same = (cast == series) | (cast.isna() & series.isna())
        if same.fillna(False).all():
            frame[column.name] = cast
    return frame


def _meets(fitted: Fitted, allowed: Mapping[int, Allowed], frame: pd.DataFrame) -> NDArray[np.bool_]:
    fine = np.ones(len(frame), dtype=bool)
    for place, limits in allowed.items():
        codec = fitted.codec.columns[place]
        fine &= holds(codec, limits, frame[codec.column.name])
    return fine


def _slots(fitted: Fitted, place: int) -> list[int]:
    if not fitted.codec.columns[place].width:
        return []
    return [i for i, slot in enumerate(fitted.layout.value_slots) if slot.column == place]


def _column(fitted: Fitted, name: Name) -> tuple[int, ColumnCodec]:
    fitted.schema.column(name)  # says which there are when this is none of them
    place = fitted.schema.names.index(name)
    return place, fitted.codec.columns[place]


def _check_rows(fitted: Fitted, df: pd.DataFrame) -> None:
    """Refuse columns that the model does not have, and an index from which rows cannot be told apart."""
    for name in df.columns:
        fitted.schema.column(name)
    if not df.index.is_unique:
        raise ConfigError("the index holds a label more than once; reset it first: df.reset_index(drop=True)")
    if not len(df):
        raise ConfigError("there are no rows")


def _any_order(fitted: Fitted) -> None:
    if fitted.config.model.order != "any":
        raise ConfigError(
            "the model was trained in table order only, as the paper's presets are; conditions, gaps and predictions "
            "need one fitted with model.order='any', as the preset auto is"
        )
