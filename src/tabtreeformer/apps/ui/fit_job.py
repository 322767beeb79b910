"""The process of one fit: `python -m tabtreeformer.apps.ui.fit_job FOLDER`. It reports as lines of JSON on stdout.

SIGINT ends the training with the best model so far, as Ctrl-C does for `ttf fit`.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from ..._runtime.progress import Progress, Task
from ...data.io import read_table
from ...data.schema import Schema
from ...errors import TabTreeFormerError
from ...evaluation import evaluate
from ...evaluation.report import write_report
from ...privacy.card import model_card, to_markdown
from ...synthesizer import TabTreeFormer
from .store import CARD, FIT, MODEL, REPORT, SCHEMA

HOLDOUT, MIN_ROWS = 0.2, 60
"""If there are at least this many rows, a share of them is set aside for the report."""
EVERY_SECONDS = 0.2


def say(**facts: Any) -> None:
    """Print one line of JSON."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


class _Lines:
    """Progress as lines of JSON."""

    def task(self, name: str, total: int) -> Task:
        return _LinesTask(name, total)

    def note(self, message: str) -> None:
        say(note=message)


class _LinesTask:
    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.done, self.said = name, total, 0, 0.0
        self.facts: dict[str, str] = {}
        self.started = time.monotonic()

    def advance(self, units: int = 1, **facts: str) -> None:
        self.done += units
        self.facts.update(facts)
        if time.monotonic() - self.said >= EVERY_SECONDS:
            self._say()

    def close(self) -> None:
        self.total = self.done
        self._say()

    def _say(self) -> None:
        self.said = time.monotonic()
        took = self.said - self.started
        left = took / self.done * (self.total - self.done) if self.done else None
        say(stage=self.name, done=self.done, total=self.total, facts=self.facts, seconds_left=left)


class _Watched(TabTreeFormer):
    def _progress(self) -> Progress:
        return _Lines()


def main(folder: Path) -> None:
    settings = json.loads((folder / FIT).read_text(encoding="utf-8"))
    df = read_table(next(folder.glob("table.*")))
    schema = Schema.load(folder / SCHEMA)
    model = _Watched(
        settings["preset"], settings["target"], privacy=settings["privacy"], random_state=settings["seed"],
        budget_seconds=settings["budget_seconds"],
    )  # fmt: skip
    shuffled = df.sample(frac=1, random_state=settings["seed"])
    n_test = int(len(df) * HOLDOUT) if len(df) >= MIN_ROWS else 0
    train, test = shuffled.iloc[n_test:].reset_index(drop=True), shuffled.iloc[:n_test].reset_index(drop=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the verdict is on the page
        model.fit(train, schema=schema)
        model.save(folder / MODEL)
        say(note="comparing new rows with real ones")
        rows = model.sample(len(train), random_state=settings["seed"])
    (folder / CARD).write_text(to_markdown(model_card(folder / MODEL)), encoding="utf-8")
    scores = evaluate(train, test if n_test else None, rows, target=settings["target"], schema=model.fitted_.schema)
    write_report(folder / REPORT, scores, train, test if n_test else None, rows, schema=model.fitted_.schema)
    privacy = model.fitted_.record.get("privacy") or {}
    say(verdict=privacy.get("verdict", "not judged"), reasons=list(privacy.get("reasons") or ()))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except TabTreeFormerError as error:
        say(error=str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        say(error="stopped before there was a model")
        sys.exit(130)
