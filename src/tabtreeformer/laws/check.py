"""Check laws that were found in a sample against all rows of a table, part by part."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..errors import SchemaError
from .base import Frame
from .laws import Laws


class LawCheck:
    """Checks laws against further rows and counts violations."""

    def __init__(self, laws: Laws, *, strict: bool) -> None:
        """Take learned laws; if `strict`, a row that breaks one is an error, otherwise it is counted."""
        self._laws, self._strict = laws, strict
        self._broken = [0] * len(laws.laws)
        self._rows = 0

    def see(self, part: pd.DataFrame, first_row: int) -> None:
        """Check a part of the table."""
        frame = Frame.read(part, self._laws.schema)
        self._rows += len(part)
        for place, law in enumerate(self._laws.laws):
            applies, kept = law.holds(frame)
            broken = applies & ~kept
            if broken.any() and not law.exceptions:
                if self._strict:
                    raise SchemaError(
                        f"constraint {law.text!r} does not hold in the table: row "
                        f"{first_row + int(np.argmax(broken)):,} breaks it; drop the constraint or clean the rows"
                    )
                self._broken[place] += int(broken.sum())
            frame = law.express(frame)

    @property
    def notes(self) -> list[str]:
        """A sentence for each law that further rows break."""
        pairs = zip(self._laws.laws, self._broken, strict=True)
        rows = f"of {self._rows:,} rows break it; new rows keep it"
        return [f"{law.text}: {count:,} {rows}" for law, count in pairs if count]
