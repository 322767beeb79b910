"""Values that the model has not learned: beyond the range, unseen categories, new gaps, broken laws.

None of these has an id. A row with one is encoded with the nearest known value, and its likelihood is lowered: by the
probability that one more row contains something new, 1 / (rows + 1), and for a number by its distance from the range,
under a generalised Pareto tail.

Shapes: `N` rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...artifact.fitted import Fitted
from ...data.schema import IDENTIFIER, MEASURED, TEXT
from ...errors import SchemaError
from ...laws.base import Frame
from ...tokens.codecs.column import ColumnCodec
from .given import Name

TAIL_SHAPE = 0.1
"""Shape of the tail. With 0 (exponential) a typing error would cost as many nats as the value is large."""
UNHEARD = pd.Series(["\0"], dtype=object)
"""A text that occurs in no table."""
MAX_SHOWN = 40
"""Characters of a value in a reason."""


@dataclass(frozen=True)
class _Part:
    """One column of the rows."""

    codec: ColumnCodec
    origin: Name
    """The column of the original table."""
    shown: pd.Series
    """That column in its original form (N,)."""
    there: NDArray[np.int64]
    """Rows in which it is not missing."""
    values: pd.Series
    """Its values in these rows."""


@dataclass
class Beyond:
    """Rows that the model can encode, and a record of what is new in them."""

    expressed: pd.DataFrame
    """The expressed rows, with unknown values replaced by known ones."""
    logs: dict[Name, NDArray[np.float64]]
    """By column: the change of its log-probability (N,), 0 where nothing is new."""
    caps: dict[Name, NDArray[np.float64]]
    """By column: the maximum of its log-probability (N,), infinite where nothing is new."""
    reasons: list[dict[Name, str]] = field(default_factory=list)
    """By row: a sentence on what is new in which column."""

    def applied(self, name: Name, logs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log-probabilities of a column (N,), lowered where something is new."""
        return np.minimum(logs, self.caps[name]) + self.logs[name]

    @classmethod
    def of(cls, fitted: Fitted, df: pd.DataFrame) -> Beyond:
        """Examine whole rows."""
        names = fitted.schema.names
        found = cls(
            fitted.codec.laws.express(df).reset_index(drop=True).copy(),
            {name: np.zeros(len(df)) for name in names},
            {name: np.full(len(df), np.inf) for name in names},
            [{} for _ in range(len(df))],
        )
        surprise = -np.log(int(fitted.record["rows"]) + 1.0)
        for codec in fitted.codec.columns:
            origin = fitted.codec.laws.origins[codec.column.name]
            found._look(codec, origin, df[origin], surprise)
        found._look_at_laws(fitted, df, surprise)
        return found

    def _look(self, codec: ColumnCodec, origin: Name, shown: pd.Series, surprise: float) -> None:
        """Find new values in one column and replace those without an id."""
        name = codec.column.name
        series = self.expressed[name]
        gaps = series.isna().to_numpy()
        if codec.inner.is_constant():
            self._look_at_constant(codec, origin, shown, gaps, surprise)
            return
        if gaps.any() and not codec.missing:
            self._note(origin, gaps, surprise, lambda _: f"{origin} is missing, which was too rare to learn")
            if codec.common is None:
                self._replace(name, gaps, _any_value(codec))
        there = np.flatnonzero(~gaps)
        part = _Part(codec, origin, shown, there, codec.column.read(series.iloc[there]))
        if codec.column.kind in MEASURED:
            self._look_at_ends(part, surprise)
        elif codec.column.kind != IDENTIFIER:
            self._look_at_labels(part, surprise)

    def _look_at_labels(self, part: _Part, surprise: float) -> None:
        codec, origin, shown, there = part.codec, part.origin, part.shown, part.there
        labels = codec.inner.known_values()
        if labels is None or (codec.column.kind == TEXT and codec.inner.can_encode(UNHEARD)[0]):
            return  # rare texts are normal there
        can, unkept = (np.zeros(len(shown), dtype=bool) for _ in range(2))
        can[there] = ~codec.inner.can_encode(part.values)
        unkept[there] = labels.find(part.values) < 0
        lacking, rare = can, unkept & ~can
        self._note(origin, lacking, surprise, lambda row: f"{origin} = {_shown(shown, row)} was never seen")
        said = "is none of the values that enough rows have"
        # The id of the group stands for all rare values; a single one is at most as likely as a new value.
        self._note(origin, rare, 0.0, lambda row: f"{origin} = {_shown(shown, row)} {said}")
        self.caps[origin][rare] = surprise
        if lacking.any():
            self._replace(codec.column.name, lacking, _any_value(codec))

    def _look_at_ends(self, part: _Part, surprise: float) -> None:
        codec, origin, shown, there = part.codec, part.origin, part.shown, part.there
        bounds, own = codec.bounds, codec.column.name == origin
        numbers = part.values.to_numpy().astype(np.float64)
        below, above = codec.inner.tail_scales()
        for distance, scale, word, end in (
            (float(bounds.low) - numbers, below, "below", bounds.low),
            (numbers - float(bounds.high), above, "above", bounds.high),
        ):
            out = np.zeros(len(shown), dtype=bool)
            out[there] = distance > 0
            if not out.any():
                continue
            far = np.zeros(len(shown))
            far[there] = np.maximum(distance, 0) / scale
            tail = surprise - (1 / TAIL_SHAPE + 1) * np.log1p(TAIL_SHAPE * far)
            limit = f" ({'least' if word == 'below' else 'most'}: {codec.column.write(np.array([end])).iloc[0]})"
            said = f"is {word} all that was learned{limit}" if own else "is far from what fits the row"
            self._note(origin, out, tail, lambda row, said=said: f"{origin} = {_shown(shown, row)} {said}")

    def _look_at_constant(
        self, codec: ColumnCodec, origin: Name, shown: pd.Series, gaps: NDArray[np.bool_], surprise: float
    ) -> None:
        value = codec.inner.decode(np.zeros((1, 0)), np.random.default_rng(0))[0]
        other = gaps != codec.inner.is_empty()
        if not codec.inner.is_empty():
            there = np.flatnonzero(~gaps)
            other[there] = codec.column.read(self.expressed[codec.column.name].iloc[there]).to_numpy() != value
        said = "was always missing" if codec.inner.is_empty() else f"was always {value!r}"
        self._note(origin, other, surprise, lambda row: f"{origin} = {_shown(shown, row)}, and {said}")

    def _look_at_laws(self, fitted: Fitted, df: pd.DataFrame, surprise: float) -> None:
        """Find rows that break laws that every training row kept."""
        laws = fitted.codec.laws
        if not laws.laws:
            return
        frame = Frame.read(df.reset_index(drop=True), laws.schema)
        for law in laws.laws:
            if not law.exceptions:
                applies, kept = law.holds(frame)
                origin = next((name for name in law.writes if name in self.logs), None)
                if origin is not None:
                    self._note(origin, applies & ~kept, surprise, lambda _, law=law: f"breaks {law.text}")
            frame = law.express(frame)

    def _note(self, origin: Name, new: NDArray[np.bool_], log: Any, reason: Any) -> None:
        """Lower the likelihood of rows with something new, and note the reason."""
        self.logs[origin] += np.where(new, log, 0.0)
        for row in np.flatnonzero(new).tolist():
            said = reason(row)
            before = self.reasons[row].get(origin)
            self.reasons[row][origin] = said if before is None else f"{before}; {said}"

    def _replace(self, name: Name, rows: NDArray[np.bool_], value: Any) -> None:
        series = self.expressed[name].astype(object)
        series[rows] = value
        self.expressed[name] = series


def refuse_new(fitted: Fitted, df: pd.DataFrame) -> None:
    """Raise an error that names the first value that the model has not learned."""
    for row, reasons in enumerate(Beyond.of(fitted, df).reasons):
        if reasons:
            raise SchemaError(
                f"row {row}: {next(iter(reasons.values()))}; drop the row, refit with it included, or leave strict out"
            )


def _any_value(codec: ColumnCodec) -> Any:
    """Any value of the column that can be encoded."""
    ids = np.zeros((1, codec.width), dtype=np.int64)
    values, _ = codec.decode(ids, np.random.default_rng(0))
    return codec.column.write(values).iloc[0]


def _shown(series: pd.Series, row: int) -> str:
    value = series.iloc[row]
    text = repr(value.item() if isinstance(value, np.generic) else value)
    text = str(value) if isinstance(value, pd.Timestamp | pd.Timedelta) else text
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
