"""TTVAE (Wang and Nguyen, 2025): a VAE with attention, new rows between the latents of real ones; written here.

Columns are tokens of an encoder whose output is one latent per row; a decoder with attention writes the columns from
it. As in the paper, a new latent lies between those of a real row and one of its nearest neighbours, like in SMOTE.
Numbers are made normal by their ranks here, whereas the paper fits mixtures to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import torch
from encoding import Clock, MixedEncoder
from sklearn.neighbors import NearestNeighbors
from torch import Tensor, nn

WIDTH, HEADS, LATENT, NEIGHBOURS = 32, 4, 32, 5
STEPS, BATCH, RATE, BETA = 2000, 256, 1e-3, 0.01

# B rows, M columns, d width.


class VAE(nn.Module):
    """Columns → latent → columns."""

    def __init__(self, n_numeric: int, sizes: list[int]) -> None:
        super().__init__()
        n_columns = n_numeric + len(sizes)
        self.n_numeric = n_numeric
        self.scale = nn.Parameter(torch.randn(n_numeric, WIDTH) * 0.2)
        self.columns = nn.Parameter(torch.randn(n_columns, WIDTH) * 0.2)
        self.tables = nn.ModuleList(nn.Embedding(size, WIDTH) for size in sizes)
        self.encoder, self.decoder = _blocks(), _blocks()
        self.mean, self.spread = (nn.Linear(n_columns * WIDTH, LATENT) for _ in range(2))
        self.widen = nn.Linear(LATENT, n_columns * WIDTH)
        self.numbers = nn.Linear(WIDTH, 1)
        self.heads = nn.ModuleList(nn.Linear(WIDTH, size) for size in sizes)

    def encode(self, numbers: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of each row's latent."""
        labels = [table(codes[:, j])[:, None] for j, table in enumerate(self.tables)]
        tokens = torch.cat([numbers[:, :, None] * self.scale, *labels], 1) + self.columns  # (B, M, d)
        out = self.encoder(tokens).flatten(1)
        return self.mean(out), self.spread(out).clamp(-8, 8)

    def decode(self, latent: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Numbers and the logits of each label."""
        tokens = self.decoder(self.widen(latent).unflatten(1, (-1, WIDTH)) + self.columns)  # (B, M, d)
        numbers = self.numbers(tokens[:, : self.n_numeric])[:, :, 0]
        return numbers, [head(tokens[:, self.n_numeric + j]) for j, head in enumerate(self.heads)]

    def loss(self, numbers: Tensor, codes: Tensor) -> Tensor:
        """Reconstruction of every column and the divergence of the latents."""
        mean, spread = self.encode(numbers, codes)
        found, logits = self.decode(mean + torch.randn_like(mean) * torch.exp(0.5 * spread))
        lost = (found - numbers).square().sum(1).mean()
        for j, one in enumerate(logits):
            lost = lost + nn.functional.cross_entropy(one, codes[:, j])
        return lost - BETA * 0.5 * (1 + spread - mean.square() - spread.exp()).sum(1).mean()


class Generator:
    """Learns latents once; rows are drawn between them."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        torch.manual_seed(seed)
        self.seed, self.budget_seconds = seed, budget_seconds
        self.facts: dict[str, Any] = {}

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Train the VAE, then keep the latents of the rows and who is near whom."""
        clock = Clock(self.budget_seconds)
        self.encoder = MixedEncoder(df, schema, self.seed)
        numbers, codes = (torch.from_numpy(part) for part in self.encoder.encode(df))
        self.vae = VAE(numbers.shape[1], self.encoder.sizes)
        optimizer = torch.optim.AdamW(self.vae.parameters(), RATE)
        for step in range(1, STEPS + 1):
            rows = torch.randint(len(numbers), (min(BATCH, len(numbers)),))
            optimizer.zero_grad()
            self.vae.loss(numbers[rows], codes[rows]).backward()
            nn.utils.clip_grad_norm_(self.vae.parameters(), 1.0)
            optimizer.step()
            if step % 20 == 0 and clock.over(0.9):
                break
        self.vae.eval()
        with torch.inference_mode():
            self.latents = self.vae.encode(numbers, codes)[0]
        near = NearestNeighbors(n_neighbors=min(NEIGHBOURS + 1, len(df))).fit(self.latents.numpy())
        self.neighbours = torch.from_numpy(near.kneighbors(return_distance=False)[:, :NEIGHBOURS].copy())
        self.facts = {"steps": step}

    @torch.inference_mode()
    def sample(self, n: int) -> pd.DataFrame:
        """Anywhere on the way from a row to one of its neighbours."""
        rows = torch.randint(len(self.latents), (n,))
        others = self.neighbours[rows, torch.randint(self.neighbours.shape[1], (n,))]
        way = torch.rand(n, 1)
        numbers, logits = self.vae.decode(self.latents[rows] * (1 - way) + self.latents[others] * way)
        codes = torch.stack([one.argmax(1) for one in logits], 1) if logits else torch.zeros(n, 0, dtype=torch.long)
        return self.encoder.decode(numbers.numpy(), codes.numpy())


def _blocks() -> nn.Module:
    layer = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="relu", batch_first=True, norm_first=True
    )
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
