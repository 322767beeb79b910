"""Results as one tidy CSV: a row per metric of each run, and one that says how the run ended."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ...errors import ConfigError

KEY = ("table", "generator", "seed", "budget_seconds")
COLUMNS = ("experiment", *KEY, "metric", "value", "status", "message")
COMPARISON = "comparison"
"""The experiment in which every generator runs with its defaults."""
RUN = "run"
"""The metric of the row that closes a run; its value is 1 if the run succeeded."""
OK, FAILED, TIMEOUT = "ok", "failed", "timeout"


@dataclass(frozen=True)
class Run:
    """The outcome of one generator on one table with one seed."""

    table: str
    generator: str
    seed: int
    budget_seconds: float
    status: str
    message: str
    values: Mapping[str, float]


class Results:
    """The runs of one experiment in a file that several share.

    The file only grows by whole runs, so that an interrupted comparison continues where it stopped.
    """

    def __init__(self, path: Path, experiment: str = COMPARISON) -> None:
        self.path, self.experiment = path, experiment

    def read(self) -> pd.DataFrame:
        """Read all rows of complete runs of the experiment; a repeated run replaces the earlier one."""
        if not self.path.exists() or not self.path.stat().st_size:
            return pd.DataFrame(columns=list(COLUMNS))
        text = ("experiment", "table", "generator", "status", "message", "metric")
        frame = pd.read_csv(
            io.StringIO(self._complete_lines()),
            dtype=dict.fromkeys(text, str),
            keep_default_na=False,
            na_values={"value": [""]},
        )
        if list(frame.columns) != list(COLUMNS):
            raise ConfigError(f"{self.path} is not a file of results; choose another path for the results")
        frame = frame[frame["experiment"] == self.experiment]
        block = (frame["metric"].shift() == RUN).cumsum()  # the closing row is the last of its run
        frame = frame[block.isin(block[frame["metric"] == RUN])].assign(block=block)
        last = frame.groupby(list(KEY))["block"].transform("max")
        return frame[frame["block"] == last].drop(columns="block").reset_index(drop=True)

    def runs(self) -> list[Run]:
        """Return the same, one object per run."""
        found = []
        for key, rows in self.read().groupby(list(KEY), sort=False):
            last = rows.iloc[-1]
            values = rows[rows["metric"] != RUN].set_index("metric")["value"].astype(float).to_dict()
            table, generator, seed, budget = key
            found.append(Run(table, generator, int(seed), float(budget), last["status"], last["message"], values))
        return found

    def add(self, run: Run) -> None:
        """Append a run in one write."""
        key = (self.experiment, run.table, run.generator, run.seed, run.budget_seconds)
        rows = [(*key, name, value, run.status, "") for name, value in run.values.items()]
        rows.append((*key, RUN, float(run.status == OK), run.status, run.message))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        torn = self.path.exists() and self.path.read_bytes()[-1:] not in (b"", b"\n")
        fresh = not self.path.exists() or not self.path.stat().st_size
        text = pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(index=False, header=fresh, float_format="%.6g")
        if torn:
            self.path.write_text(self._complete_lines(), encoding="utf-8")
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)

    def done(self, table: str, generator: str, seed: int, budget_seconds: float, *, exact: bool = False) -> bool:
        """Whether a run need not be repeated: it finished, or it ran out of at least this budget.

        `exact`: only runs with exactly this budget count, for experiments that compare budgets.
        """
        frame = self.read()
        same = (frame["table"] == table) & (frame["generator"] == generator) & (frame["seed"] == seed)
        runs = frame[same & (frame["metric"] == RUN)]
        if exact:
            return bool((runs["budget_seconds"] == budget_seconds).any())
        ended = runs["status"].isin((OK, FAILED)) | (runs["budget_seconds"] >= budget_seconds)
        return bool(ended.any())

    def _complete_lines(self) -> str:
        text = self.path.read_text(encoding="utf-8")
        return text[: text.rfind("\n") + 1]
