"""CTAB-GAN+ (Zhao et al., 2022): a conditional Wasserstein GAN with an auxiliary predictor; written here.

Numbers are a mode of a mixture and the position in it, labels are one-hot. Each row is drawn under a condition: one
label or mode, chosen by the logarithm of its frequency, which the generator must put into the row. The critic is
kept smooth by a gradient penalty; a second network learns to predict the target from real rows, and its error on new
rows is part of the generator's loss, as is the distance of the critic's first two moments (the "information loss").
The networks are fully connected here, where the paper folds rows into squares for convolutions, and long-tailed
columns get no special treatment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from encoding import Clock
from sklearn.mixture import BayesianGaussianMixture
from torch import Tensor, nn

NOISE, WIDTH, MODES = 64, 256, 10
STEPS, BATCH, RATE, CRITIC_STEPS, PENALTY = 3000, 256, 2e-4, 3, 10.0
HEAT = 0.2
"""Temperature of the relaxed draws of labels."""


class Modes:
    """A table as blocks: for a number its place in a mode and the mode, for a label the label."""

    def __init__(self, df: pd.DataFrame, schema: Mapping[str, Any], seed: int) -> None:
        self.columns, self.mixtures, self.labels = schema["columns"], {}, {}
        self.blocks: list[tuple[int, int, str]] = []
        """Start, end and sort (`place` or `choice`) of each block."""
        end = 0
        for column in self.columns:
            name = column["name"]
            if column["kind"] == "numeric":
                values = df[name].to_numpy(np.float64)[:, None]
                n_modes = min(MODES, len(np.unique(values)))
                mixture = BayesianGaussianMixture(
                    n_components=n_modes, weight_concentration_prior=1e-3, n_init=1, random_state=seed
                ).fit(values)
                self.mixtures[name] = mixture
                self.blocks += [(end, end + 1, "place"), (end + 1, end + 1 + n_modes, "choice")]
                end += 1 + n_modes
            else:
                self.labels[name] = sorted(df[name].unique())
                self.blocks.append((end, end + len(self.labels[name]), "choice"))
                end += len(self.labels[name])
        self.width = end
        self.choices = [(a, b) for a, b, sort in self.blocks if sort == "choice"]

    def encode(self, df: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
        """(N, width)."""
        parts = []
        for column in self.columns:
            name = column["name"]
            if name in self.mixtures:
                values, mixture = df[name].to_numpy(np.float64), self.mixtures[name]
                chances = mixture.predict_proba(values[:, None])
                mode = (chances.cumsum(1) > rng.random((len(df), 1))).argmax(1)
                spread = np.sqrt(mixture.covariances_[mode, 0, 0])
                place = (values - mixture.means_[mode, 0]) / (4 * spread)
                parts += [np.clip(place, -0.99, 0.99)[:, None], np.eye(chances.shape[1])[mode]]
            else:
                parts.append(np.eye(len(self.labels[name]))[pd.Index(self.labels[name]).get_indexer(df[name])])
        return np.concatenate(parts, axis=1).astype(np.float32)

    def decode(self, rows: np.ndarray) -> pd.DataFrame:
        """Inverse of `encode`."""
        out, place = {}, 0
        for column in self.columns:
            name = column["name"]
            if name in self.mixtures:
                mixture = self.mixtures[name]
                size = len(mixture.means_)
                mode = rows[:, place + 1 : place + 1 + size].argmax(1)
                spread = np.sqrt(mixture.covariances_[mode, 0, 0])
                out[name] = rows[:, place] * 4 * spread + mixture.means_[mode, 0]
                place += 1 + size
            else:
                size = len(self.labels[name])
                out[name] = np.array(self.labels[name], dtype=object)[rows[:, place : place + size].argmax(1)]
                place += size
        return pd.DataFrame(out)


class Generator:
    """Trains generator, critic and helper in turn."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        torch.manual_seed(seed)
        self.rng = np.random.default_rng(seed)
        self.seed, self.budget_seconds = seed, budget_seconds
        self.facts: dict[str, Any] = {}

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Learn modes, then play."""
        clock = Clock(self.budget_seconds)
        self.modes = Modes(df, schema, self.seed)
        real = torch.from_numpy(self.modes.encode(df, self.rng))
        self.chances = [np.log1p(real[:, a:b].sum(0).double().numpy()) for a, b in self.modes.choices]
        n_conditions = sum(b - a for a, b in self.modes.choices)
        self.network = _network(NOISE + n_conditions, self.modes.width, norm=True)
        critic = _network(self.modes.width + n_conditions, 1)
        target = self._target(schema)
        helper = _network(self.modes.width - (target[1] - target[0]), target[1] - target[0])
        players = [self.network, critic, helper]
        optimizers = [torch.optim.Adam(p.parameters(), RATE, betas=(0.5, 0.9), weight_decay=1e-5) for p in players]
        step = 0
        for step in range(1, STEPS + 1):
            for _ in range(CRITIC_STEPS):
                rows, condition = self._matching(real)
                self._play(optimizers[1], self._critic_loss(critic, rows, condition))
            rows, condition = self._matching(real)
            self._play(optimizers[2], _prediction(helper, rows, target))
            made = self._draw(condition)
            loss = self._generator_loss(critic, rows, made, condition) + _prediction(helper, made, target)
            self._play(optimizers[0], loss)
            if step % 20 == 0 and clock.over(0.9):
                break
        self.facts = {"steps": step}

    @torch.inference_mode()
    def sample(self, n: int) -> pd.DataFrame:
        """Rows under conditions as often as they occur."""
        self.network.eval()
        condition = torch.zeros(n, sum(map(len, self.chances)))
        chosen = self.rng.integers(len(self.chances), size=n)
        start = 0
        for block, logs in enumerate(self.chances):
            rows = np.flatnonzero(chosen == block)
            counts = np.expm1(logs)
            condition[rows, start + self.rng.choice(len(logs), len(rows), p=counts / counts.sum())] = 1
            start += len(logs)
        return self.modes.decode(self._draw(condition).numpy())

    def _matching(self, real: Tensor) -> tuple[Tensor, Tensor]:
        """Conditions, rare ones more often than they occur, and real rows that meet them."""
        n = min(BATCH, len(real))
        condition, rows, start = torch.zeros(n, sum(map(len, self.chances))), np.zeros(n, dtype=np.int64), 0
        chosen = self.rng.integers(len(self.chances), size=n)
        for block, ((a, b), logs) in enumerate(zip(self.modes.choices, self.chances, strict=True)):
            wanted = np.flatnonzero(chosen == block)
            value = self.rng.choice(len(logs), len(wanted), p=logs / logs.sum())
            condition[wanted, start + value] = 1
            held = real[:, a:b].argmax(1).numpy()
            for option in np.unique(value):
                rows[wanted[value == option]] = self.rng.choice(np.flatnonzero(held == option), (value == option).sum())
            start += len(logs)
        return real[rows], condition

    def _draw(self, condition: Tensor) -> Tensor:
        """Rows as the generator writes them: places by tanh, choices as relaxed draws."""
        raw = self.network(torch.cat([torch.randn(len(condition), NOISE), condition], 1))
        parts = [
            torch.tanh(raw[:, a:b]) if sort == "place" else nn.functional.gumbel_softmax(raw[:, a:b], HEAT)
            for a, b, sort in self.modes.blocks
        ]
        return torch.cat(parts, 1)

    def _critic_loss(self, critic: nn.Module, rows: Tensor, condition: Tensor) -> Tensor:
        """Wasserstein distance and the penalty on slopes between real and new rows."""
        made = self._draw(condition).detach()
        way = torch.rand(len(rows), 1)
        between = (rows * way + made * (1 - way)).requires_grad_()
        score = critic(torch.cat([between, condition], 1)).sum()
        slope = torch.autograd.grad(score, between, create_graph=True)[0].norm(dim=1)
        distance = critic(torch.cat([made, condition], 1)).mean() - critic(torch.cat([rows, condition], 1)).mean()
        return distance + PENALTY * (slope - 1).square().mean()

    def _generator_loss(self, critic: nn.Sequential, rows: Tensor, made: Tensor, condition: Tensor) -> Tensor:
        """Fool the critic, meet the condition, and match what the critic sees on average."""
        start, met = 0, made.new_zeros(())
        for (a, b), logs in zip(self.modes.choices, self.chances, strict=True):
            wanted = condition[:, start : start + len(logs)]
            met = met - (wanted * torch.log(made[:, a:b] + 1e-6)).sum(1).mean()
            start += len(logs)
        seen = [critic[:-1](torch.cat([part, condition], 1)) for part in (rows, made)]
        moments = (seen[0].mean(0) - seen[1].mean(0)).norm() + (seen[0].std(0) - seen[1].std(0)).norm()
        return -critic(torch.cat([made, condition], 1)).mean() + met + moments

    def _target(self, schema: Mapping[str, Any]) -> tuple[int, int]:
        """The position of the target: its label, or the mode of its number."""
        names = [column["name"] for column in self.modes.columns]
        # Every column has exactly one block of choices, in the order of the columns.
        return self.modes.choices[names.index(schema["target"])]

    @staticmethod
    def _play(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _prediction(helper: nn.Module, rows: Tensor, target: tuple[int, int]) -> Tensor:
    """How badly the helper predicts the target of rows from the rest of them."""
    rest = torch.cat([rows[:, : target[0]], rows[:, target[1] :]], 1)
    return -(rows[:, target[0] : target[1]] * torch.log_softmax(helper(rest), 1)).sum(1).mean()


def _network(inward: int, outward: int, *, norm: bool = False) -> nn.Sequential:
    layers: list[nn.Module] = []
    for size in (inward, WIDTH):
        layers += [nn.Linear(size, WIDTH), *([nn.BatchNorm1d(WIDTH)] if norm else []), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Linear(WIDTH, outward))
