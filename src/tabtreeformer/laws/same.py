"""A number that often equals another: a lot as large as the neighbours', a garage as old as its house.

    lot often equals neighbours

Both columns stay, so that a writer learns what else depends on them and how each is rounded. An additional flag marks
rows in which they are equal; there the target is copied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from ..data.schema import BOOLEAN, Column, Schema
from ..errors import SchemaError
from .base import Cells, Frame, Mask, Name, OneTarget, fresh, replaced
from .grid import dtype_ends
from .order import comparable
from .sentences import named, quoted


@dataclass(frozen=True, kw_only=True)
class Same(OneTarget):
    """`target often equals base`."""

    form: ClassVar[str] = "same"
    exact: ClassVar[bool] = False
    near: ClassVar[bool] = True
    target: Name
    base: Name
    flag: Name = ""
    """The flag column: whether they are equal."""
    support: int = 0
    exceptions: int = 0

    @property
    def text(self) -> str:
        """The sentence."""
        return f"{quoted(self.target)} often equals {quoted(self.base)}"

    @property
    def said(self) -> str:
        """The sentence with its counts."""
        rows = self.support + self.exceptions
        return f"{self.text} (in {self.support / max(rows, 1):.1%} of {rows:,} rows)"

    @property
    def reads(self) -> tuple[Name, ...]:
        """The column that it may equal."""
        return (self.base,)

    def holds(self, frame: Frame) -> tuple[Mask, Mask]:
        """Rows in which both are present, and rows in which they are equal."""
        applies = frame.present(self.target, self.base)
        return applies, applies & np.asarray(frame.values(self.target) == frame.values(self.base))

    def determined(self, frame: Frame) -> Mask:
        """Rows in which flag and base determine the target, so that its probability is 1."""
        return self.holds(frame)[1]

    def learn(self, frame: Frame, floor: int) -> Same:
        """Count the rows in which they are equal."""
        flag = fresh(f"{self.target} is {self.base}", frame.schema)
        return replace(self, flag=flag).counted(frame)

    def reshape(self, schema: Schema) -> Schema:
        """Add the flag before the target."""
        why = f"whether {self.target!r} equals {self.base!r}"
        flag = Column(self.flag, BOOLEAN, "bool", why=why)
        return replaced(schema, self.target, [flag, schema.column(self.target)])

    def express(self, frame: Frame) -> Frame:
        """Add the flag."""
        flags = np.empty(frame.n_rows, dtype=object)
        flags[:] = self.holds(frame)[1].tolist()
        cells = Cells(flags, np.zeros(frame.n_rows, dtype=bool))
        return frame.changed(self.reshape(frame.schema), {self.flag: cells})

    def restore(self, frame: Frame, rng: np.random.Generator, schema: Schema) -> Frame:
        """Copy the base where the flag is set."""
        own, base = frame.cells(self.target), frame.cells(self.base)
        rows = np.asarray(frame.values(self.flag) == True, dtype=bool) & ~base.gaps  # noqa: E712  (an array of objects)
        values, gaps = own.values.copy(), own.gaps & ~rows
        copied = base.values[rows]
        if values.dtype.kind in "iu" and copied.dtype.kind == "f":
            copied = np.rint(copied)
        ends = dtype_ends(schema.column(self.target))
        values[rows] = (copied if ends is None else np.clip(copied, *ends)).astype(values.dtype)
        return frame.changed(schema, {self.target: Cells(values, gaps)})

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Same:
        """Inverse of `to_json`."""
        return cls(**data)


_TEXT = re.compile(r"(`[^`]*`|[^\W\d]\w*) often equals (`[^`]*`|[^\W\d]\w*)")


def parse(text: str, schema: Schema) -> Same | None:
    """Read `lot often equals neighbours`."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        return None
    target, base = (named(found[k].strip("`"), text, schema) for k in (1, 2))
    if target == base:
        raise SchemaError(f"constraint {text!r} names a column twice")
    sorts = {comparable(schema, name) for name in (target, base)}
    if len(sorts) > 1 or None in sorts:
        raise SchemaError(f"constraint {text!r} compares columns that are not both numbers, or times of one unit")
    return Same(target=target, base=base)
