"""Tabula (Zhao et al., 2023): rows as short texts for a causal language model; written here from its paper.

Differences from GReaT: the model starts from random weights instead of English, names of columns and labels are
single tokens, and each column is padded to its own longest text ("middle padding"), so that a column is always in
the same place. Numbers are digits. A row that cannot be parsed is drawn again. The paper's model is a distilgpt2;
here it has a width of 96 and 3 layers, and no dropout, whose random numbers cost a CPU a quarter of each step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from encoding import Clock
from torch import Tensor, nn

WIDTH, LAYERS, HEADS = 96, 3, 4
STEPS, EPOCHS, BATCH, RATE = 1500, 400, 64, 1e-3
TRAINING_SHARE = 0.8
"""What training may take of a given time; the rest is for drawing."""
ROUNDS = 30
"""How often invalid rows are drawn again before giving up."""
PAD, BOS = 0, 1
MARKS = "0123456789.-e+"

# B rows, L positions, V tokens, d width.


class Texts:
    """Rows as tokens and back."""

    def __init__(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        self.columns = schema["columns"]
        self.marks = {mark: 2 + i for i, mark in enumerate(MARKS)}
        self.names, self.labels, self.widths = {}, {}, {}
        token = 2 + len(MARKS)
        for column in self.columns:
            name = column["name"]
            self.names[name], token = token, token + 1
            if column["kind"] == "numeric":
                self.widths[name] = max(len(_written(v, column)) for v in df[name])
            else:
                known = sorted(df[name].unique())
                self.labels[name] = {label: token + i for i, label in enumerate(known)}
                self.widths[name], token = 1, token + len(known)
        self.n_tokens = token
        self.length = 1 + sum(1 + width for width in self.widths.values())

    def encode(self, df: pd.DataFrame) -> Tensor:
        """(N, L)."""
        out = np.full((len(df), self.length), PAD)
        out[:, 0], place = BOS, 1
        for column in self.columns:
            name = column["name"]
            out[:, place] = self.names[name]
            for i, value in enumerate(df[name]):
                known = self.labels.get(name)
                tokens = [known[value]] if known else [self.marks[mark] for mark in _written(value, column)]
                out[i, place + 1 : place + 1 + len(tokens)] = tokens
            place += 1 + self.widths[name]
        return torch.from_numpy(out)

    def decode(self, tokens: np.ndarray) -> pd.DataFrame:
        """The rows that read back; others are left out."""
        marks = {token: mark for mark, token in self.marks.items()}
        rows = []
        for line in tokens:
            row, place = {}, 1
            for column in self.columns:
                name = column["name"]
                part = line[place + 1 : place + 1 + self.widths[name]]
                place += 1 + self.widths[name]
                if name in self.labels:
                    row[name] = {t: label for label, t in self.labels[name].items()}.get(int(part[0]))
                else:
                    row[name] = _number("".join(marks.get(int(t), "" if t == PAD else "?") for t in part))
            if all(value is not None for value in row.values()):
                rows.append(row)
        return pd.DataFrame(rows, columns=[c["name"] for c in self.columns])


class Network(nn.Module):
    """A small causal language model."""

    def __init__(self, n_tokens: int, length: int) -> None:
        super().__init__()
        self.table, self.places = nn.Embedding(n_tokens, WIDTH), nn.Embedding(length, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="relu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, n_tokens)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, L) → (B, L, V)."""
        length = tokens.shape[1]
        hidden = self.table(tokens) + self.places.weight[:length]
        causal = torch.full((length, length), float("-inf")).triu(1)
        return self.head(self.norm(self.blocks(hidden, mask=causal, is_causal=True)))

    def loss(self, tokens: Tensor) -> Tensor:
        """Cross-entropy of the next token."""
        return nn.functional.cross_entropy(self(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


class Generator:
    """Trains for a fixed number of passes, as published: nothing is held out, and rows may be memorised."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        torch.manual_seed(seed)
        self.seed, self.budget_seconds = seed, budget_seconds
        self.facts: dict[str, Any] = {}

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Learn the texts; the rate falls to nothing over the steps, or over the time where one is given."""
        clock = Clock(self.budget_seconds)
        self.texts = Texts(df, schema)
        tokens = self.texts.encode(df)
        self.network = Network(self.texts.n_tokens, self.texts.length)
        optimizer = torch.optim.AdamW(self.network.parameters(), RATE)
        batch = min(BATCH, len(tokens))
        steps = min(STEPS, EPOCHS * len(tokens) // batch)
        for step in range(steps):
            gone = min(1.0, max(step / steps, clock.gone() / TRAINING_SHARE))
            optimizer.param_groups[0]["lr"] = RATE * (1 - gone)
            optimizer.zero_grad()
            loss = self.network.loss(tokens[torch.randint(len(tokens), (batch,))])
            loss.backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            optimizer.step()
            if gone == 1:
                break
        self.facts = {"steps": step + 1, "loss": float(loss.detach())}

    @torch.inference_mode()
    def sample(self, n: int) -> pd.DataFrame:
        """Texts, token by token, until n of them are rows."""
        self.network.eval()
        parts, found = [], 0
        for _ in range(ROUNDS):
            tokens = torch.full((n - found, 1), BOS)
            for _ in range(self.texts.length - 1):
                chances = torch.softmax(self.network(tokens)[:, -1], 1)
                tokens = torch.cat([tokens, torch.multinomial(chances, 1)], 1)
            parts.append(self.texts.decode(tokens.numpy()))
            found += len(parts[-1])
            if found == n:
                return pd.concat(parts, ignore_index=True)
        raise RuntimeError(f"only {found} of {n} rows could be read after {ROUNDS} rounds")


def _written(value: Any, column: Mapping[str, Any]) -> str:
    return f"{int(value)}" if column["integer"] else f"{float(value):.6g}"


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
