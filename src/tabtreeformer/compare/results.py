"""Results as one tidy CSV: a row for each table, generator, seed and metric, and one that says how the run ended."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ..errors import ConfigError

KEY = ("table", "generator", "seed", "budget_seconds")
COLUMNS = (*KEY, "metric", "value", "status", "message")
RUN = "run"
"""The metric of the row that closes a run; its value is 1 if the run ended well."""
OK, FAILED, TIMEOUT = "ok", "failed", "timeout"


@dataclass(frozen=True)
class Run:
    """How one generator fared on one table with one seed."""

    table: str
    generator: str
    seed: int
    budget_seconds: float
    status: str
    message: str
    values: Mapping[str, float]


class Results:
    """A file that only grows by whole runs, so that a killed comparison goes on where it stood."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> pd.DataFrame:
        """All rows of the runs that were written whole; a run repeated later replaces the earlier one."""
        if not self.path.exists() or not self.path.stat().st_size:
            return pd.DataFrame(columns=list(COLUMNS))
        frame = pd.read_csv(
            io.StringIO(self._whole_lines()),
            dtype={"table": str, "generator": str, "status": str, "message": str, "metric": str},
            keep_default_na=False,
            na_values={"value": [""]},
        )
        if list(frame.columns) != list(COLUMNS):
            raise ConfigError(f"{self.path} holds something else than results of runs; give them a file of their own")
        key = list(KEY)
        block = (frame["metric"].shift() == RUN).cumsum()  # the closing row is the last of its run
        frame = frame[block.isin(block[frame["metric"] == RUN])].assign(block=block)
        last = frame.groupby(key)["block"].transform("max")
        return frame[frame["block"] == last].drop(columns="block").reset_index(drop=True)

    def runs(self) -> list[Run]:
        """The same, run by run."""
        found = []
        for key, rows in self.read().groupby(list(KEY), sort=False):
            last = rows.iloc[-1]
            values = rows[rows["metric"] != RUN].set_index("metric")["value"].astype(float).to_dict()
            table, generator, seed, budget = key
            found.append(Run(table, generator, int(seed), float(budget), last["status"], last["message"], values))
        return found

    def add(self, run: Run) -> None:
        """Append a run in one write."""
        rows = [(*self._key(run), name, value, run.status, "") for name, value in run.values.items()]
        rows.append((*self._key(run), RUN, float(run.status == OK), run.status, run.message))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        torn = self.path.exists() and self.path.read_bytes()[-1:] not in (b"", b"\n")
        fresh = not self.path.exists() or not self.path.stat().st_size
        text = pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(index=False, header=fresh, float_format="%.6g")
        if torn:
            self.path.write_text(self._whole_lines(), encoding="utf-8")
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)

    def done(self, table: str, generator: str, seed: int, budget_seconds: float, *, exact: bool = False) -> bool:
        """Whether a run need not be repeated: it ended, or did not end in at least as much time.

        `exact`: only runs with this very budget count, as when budgets are what is compared.
        """
        frame = self.read()
        same = (frame["table"] == table) & (frame["generator"] == generator) & (frame["seed"] == seed)
        runs = frame[same & (frame["metric"] == RUN)]
        if exact:
            return bool((runs["budget_seconds"] == budget_seconds).any())
        ended = runs["status"].isin((OK, FAILED)) | (runs["budget_seconds"] >= budget_seconds)
        return bool(ended.any())

    def _whole_lines(self) -> str:
        text = self.path.read_text(encoding="utf-8")
        return text[: text.rfind("\n") + 1]

    @staticmethod
    def _key(run: Run) -> tuple[str, str, int, float]:
        return run.table, run.generator, run.seed, run.budget_seconds
