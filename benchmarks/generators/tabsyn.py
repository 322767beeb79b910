"""TabSyn (Zhang et al., 2024): a VAE over the columns, diffusion over its latents; written here from its paper.

Every column is a token of 4 numbers; two-layer transformers encode and decode them, and the weight of the divergence
falls from 0.01 to 0.00001 whenever reconstruction stalls. A denoiser in the form of Karras et al. (EDM) then learns
the latents, which are drawn in 50 steps. The paper trains 4,000 and up to 10,000 epochs on a GPU with a denoiser
of width 1,024; here it is 512, and steps are fewer.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import torch
from encoding import Clock, MixedEncoder
from torch import Tensor, nn

TOKEN, FACTOR = 4, 32
VAE_STEPS, DIFFUSION_STEPS, BATCH = 1500, 3000, 256
BETA, MIN_BETA, DECAY, STALL = 1e-2, 1e-5, 0.7, 10
WIDTH, DRAWS = 512, 50
SIGMA_DATA, SIGMA_MIN, SIGMA_MAX, RHO = 0.5, 0.002, 80.0, 7.0
P_MEAN, P_STD = -1.2, 1.2

# B rows, M columns, t numbers a token.


class Tokens(nn.Module):
    """Columns as tokens and tokens as columns: linear for a number, a table for a label."""

    def __init__(self, n_numeric: int, sizes: list[int]) -> None:
        super().__init__()
        self.n_numeric = n_numeric
        self.scale = nn.Parameter(torch.randn(n_numeric, TOKEN) * 0.5)
        self.shift = nn.Parameter(torch.randn(n_numeric + len(sizes), TOKEN) * 0.5)
        self.tables = nn.ModuleList(nn.Embedding(size, TOKEN) for size in sizes)
        self.numbers = nn.Parameter(torch.randn(n_numeric, TOKEN) * 0.5)
        self.heads = nn.ModuleList(nn.Linear(TOKEN, size) for size in sizes)

    def embed(self, numbers: Tensor, codes: Tensor) -> Tensor:
        """(B, M, t)."""
        parts = [numbers[:, :, None] * self.scale, *(t(codes[:, j])[:, None] for j, t in enumerate(self.tables))]
        return torch.cat(parts, 1) + self.shift

    def read(self, tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Numbers (B, numeric) and the logits of each label."""
        numbers = (tokens[:, : self.n_numeric] * self.numbers).sum(-1)
        return numbers, [head(tokens[:, self.n_numeric + j]) for j, head in enumerate(self.heads)]


class VAE(nn.Module):
    """Encoder of means, encoder of spreads, decoder."""

    def __init__(self, n_numeric: int, sizes: list[int]) -> None:
        super().__init__()
        self.tokens = Tokens(n_numeric, sizes)
        self.mean, self.spread, self.decoder = (_blocks() for _ in range(3))

    def encode(self, numbers: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of the latents."""
        tokens = self.tokens.embed(numbers, codes)
        return self.mean(tokens), self.spread(tokens)

    def loss(self, numbers: Tensor, codes: Tensor, beta: float) -> tuple[Tensor, Tensor]:
        """The whole loss, and its part of reconstruction."""
        mean, spread = self.encode(numbers, codes)
        latent = mean + torch.randn_like(mean) * torch.exp(0.5 * spread)
        found, logits = self.tokens.read(self.decoder(latent))
        lost = (found - numbers).square().mean() if numbers.shape[1] else found.sum()
        for j, one in enumerate(logits):
            lost = lost + nn.functional.cross_entropy(one, codes[:, j]) / len(logits)
        divergence = -0.5 * (1 + spread - mean.square() - spread.exp()).mean()
        return lost + beta * divergence, lost.detach()


class Denoiser(nn.Module):
    """EDM's preconditioned network: an MLP that gets the noise level."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.inward, self.noise = nn.Linear(size, WIDTH), nn.Linear(64, WIDTH)
        self.body = nn.Sequential(
            nn.SiLU(), nn.Linear(WIDTH, 2 * WIDTH), nn.SiLU(), nn.Linear(2 * WIDTH, WIDTH), nn.SiLU(),
            nn.Linear(WIDTH, size),
        )  # fmt: skip
        self.register_buffer("waves", torch.exp(torch.linspace(0, np.log(1000.0), 32)))

    def forward(self, noisy: Tensor, sigma: Tensor) -> Tensor:
        """The latents (B, size) without their noise of scale sigma (B, 1)."""
        total = sigma.square() + SIGMA_DATA**2
        angles = sigma.log() / 4 * self.waves
        level = self.noise(torch.cat((angles.sin(), angles.cos()), 1))
        out = self.body(self.inward(noisy / total.sqrt()) + level)
        return noisy * SIGMA_DATA**2 / total + out * sigma * SIGMA_DATA / total.sqrt()

    def loss(self, latents: Tensor) -> Tensor:
        """Weighted error at noise drawn log-normally."""
        sigma = (torch.randn(len(latents), 1) * P_STD + P_MEAN).exp()
        weight = (sigma.square() + SIGMA_DATA**2) / (sigma * SIGMA_DATA).square()
        found = self(latents + torch.randn_like(latents) * sigma, sigma)
        return (weight * (found - latents).square()).mean()


class Generator:
    """First the VAE, then the diffusion; half of a given time each."""

    def __init__(self, *, seed: int, budget_seconds: float | None = None) -> None:
        torch.manual_seed(seed)
        self.seed, self.budget_seconds = seed, budget_seconds
        self.facts: dict[str, Any] = {}

    def fit(self, df: pd.DataFrame, schema: Mapping[str, Any]) -> None:
        """Learn latents, then their distribution."""
        clock = Clock(self.budget_seconds)
        self.encoder = MixedEncoder(df, schema, self.seed)
        numbers, codes = (torch.from_numpy(part) for part in self.encoder.encode(df))
        self.vae = VAE(numbers.shape[1], self.encoder.sizes)
        vae_steps = self._learn_latents(numbers, codes, clock)
        self.vae.eval()
        with torch.inference_mode():
            means = self.vae.encode(numbers, codes)[0].flatten(1)
        # Clones: what was made in inference mode takes no part in training.
        self.middle, self.spread = means.mean(0).clone(), means.std(0).clamp(min=1e-4).clone()
        latents = ((means - self.middle) / self.spread * SIGMA_DATA).clone()
        self.denoiser = Denoiser(latents.shape[1])
        self.average = torch.optim.swa_utils.AveragedModel(
            self.denoiser, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99)
        )
        steps = self._learn_diffusion(latents, clock)
        self.facts = {"vae_steps": vae_steps, "diffusion_steps": steps}

    def _learn_latents(self, numbers: Tensor, codes: Tensor, clock: Clock) -> int:
        optimizer = torch.optim.AdamW(self.vae.parameters(), 1e-3)
        beta, best, waited, recent = BETA, float("inf"), 0, []
        for step in range(1, VAE_STEPS + 1):
            rows = torch.randint(len(numbers), (min(BATCH, len(numbers)),))
            optimizer.zero_grad()
            loss, lost = self.vae.loss(numbers[rows], codes[rows], beta)
            loss.backward()
            optimizer.step()
            recent.append(float(lost))
            if step % 20 == 0:
                now, recent = float(np.mean(recent)), []
                waited = 0 if now < best else waited + 1
                best = min(best, now)
                if waited == STALL:
                    beta, waited = max(beta * DECAY, MIN_BETA), 0
                if clock.over(0.45):
                    break
        return step

    def _learn_diffusion(self, latents: Tensor, clock: Clock) -> int:
        optimizer = torch.optim.AdamW(self.denoiser.parameters(), 1e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, DIFFUSION_STEPS)
        for step in range(1, DIFFUSION_STEPS + 1):
            rows = torch.randint(len(latents), (min(BATCH, len(latents)),))
            optimizer.zero_grad()
            self.denoiser.loss(latents[rows]).backward()
            optimizer.step()
            schedule.step()
            self.average.update_parameters(self.denoiser)
            if step % 20 == 0 and clock.over(0.9):
                break
        return step

    @torch.inference_mode()
    def sample(self, n: int) -> pd.DataFrame:
        """Heun's steps from noise to latents, then the decoder."""
        steps = torch.linspace(0, 1, DRAWS)
        sigmas = (SIGMA_MAX ** (1 / RHO) + steps * (SIGMA_MIN ** (1 / RHO) - SIGMA_MAX ** (1 / RHO))) ** RHO
        sigmas = torch.cat((sigmas, torch.zeros(1)))
        latents = torch.randn(n, len(self.middle)) * sigmas[0]
        for now, then in pairwise(sigmas):
            slope = (latents - self.average(latents, now.expand(n, 1))) / now
            moved = latents + (then - now) * slope
            if then > 0:
                slope = (slope + (moved - self.average(moved, then.expand(n, 1))) / then) / 2
                moved = latents + (then - now) * slope
            latents = moved
        latents = latents / SIGMA_DATA * self.spread + self.middle
        found, logits = self.vae.tokens.read(self.vae.decoder(latents.unflatten(1, (-1, TOKEN))))
        codes = torch.stack([one.argmax(1) for one in logits], 1) if logits else torch.zeros(n, 0, dtype=torch.long)
        return self.encoder.decode(found.numpy(), codes.numpy())


def _blocks() -> nn.Module:
    layer = nn.TransformerEncoderLayer(
        TOKEN, 1, TOKEN * FACTOR, dropout=0.0, activation="relu", batch_first=True, norm_first=True
    )
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
