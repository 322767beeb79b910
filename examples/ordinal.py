"""A small ordinal regression: grades from 0 to 29 with the paper's ordinal loss and embedding, and without them.

    python examples/ordinal.py

A network reads three measurements and an earlier grade, and predicts the probability of each grade. It is trained on
few rows with plain cross-entropy, with the ordinal loss, and with the ordinal loss and an ordered embedding of the
earlier grade. The script prints the mean absolute error on fresh rows (mean and deviation over the seeds).
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tabtreeformer import ordinal_embedding, ordinal_loss

GRADES, WIDTH = 30, 16
WAYS = ("plain", "ordinal loss", "ordinal loss and embedding")


def make(n_rows: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Measurements, an earlier grade, and the grade to predict."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 3))
    score = x @ [1.5, -1.0, 0.5] + 0.5 * np.sin(2 * x[:, 0])
    earlier, later = (
        np.clip(np.round(15 + 5 * score + rng.normal(0, s, n_rows)), 0, GRADES - 1).astype(np.int64) for s in (4.0, 1.5)
    )
    return torch.tensor(x, dtype=torch.float32), torch.from_numpy(earlier), torch.from_numpy(later)


class Grader(nn.Module):
    """Two layers over the measurements and the embedding of the earlier grade."""

    def __init__(self, embedding: nn.Embedding) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = nn.Sequential(nn.Linear(3 + WIDTH, 64), nn.ReLU(), nn.Linear(64, GRADES))

    def forward(self, x: Tensor, earlier: Tensor) -> Tensor:
        """Logits of the grades."""
        return self.layers(torch.cat([x, self.embedding(earlier)], dim=1))


def error(way: str, seed: int, n_rows: int, steps: int) -> float:
    """Mean absolute error of the expected grade on fresh rows."""
    torch.manual_seed(seed)
    model = Grader(ordinal_embedding(GRADES, WIDTH) if "embedding" in way else nn.Embedding(GRADES, WIDTH))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, earlier, later = make(n_rows, seed)
    for _ in range(steps):
        logits = model(x, earlier)
        loss = functional.cross_entropy(logits, later) if way == "plain" else ordinal_loss(logits, later, reach=3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x, earlier, later = make(2000, 1000 + seed)
    with torch.no_grad():
        chances = model(x, earlier).softmax(dim=1)
    expected = chances @ torch.arange(GRADES, dtype=torch.float32)
    return float((expected - later).abs().mean())


def main(n_rows: int = 200, steps: int = 60, seeds: int = 10) -> dict[str, list[float]]:
    """Print and return the errors of each way."""
    errors = {way: [error(way, seed, n_rows, steps) for seed in range(seeds)] for way in WAYS}
    for way, values in errors.items():
        print(f"{way:28} {np.mean(values):.3f} ± {np.std(values):.3f}")
    return errors


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    main(options.rows, options.steps, options.seeds)
