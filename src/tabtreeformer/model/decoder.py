"""A causal transformer of GPT-2's shape: embeddings in, hidden states out, with a cache for one-by-one generation.

Pre-norm blocks, learned positions, tanh-GELU, a final norm; names and initial values follow GPT-2, so that weights
carry over one to one. Shapes: `B` rows, `L` positions, `H` heads, `d` width.
"""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..config.settings import ModelConfig
from .dropout import Dropout, attention_with_dropout

INIT_STD = 0.02


class Cache:
    """Keys and values of the positions so far, one preallocated pair per layer."""

    def __init__(self, layers: int, shape: tuple[int, int, int, int], like: Tensor) -> None:
        self.keys = [torch.empty(shape, dtype=like.dtype, device=like.device) for _ in range(layers)]  # (B, H, L, d/H)
        self.values = [torch.empty(shape, dtype=like.dtype, device=like.device) for _ in range(layers)]
        self.length = 0

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append to one layer and return all of it; `length` advances once all layers have."""
        end = self.length + keys.shape[2]
        self.keys[layer][:, :, self.length : end] = keys
        self.values[layer][:, :, self.length : end] = values
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]


class Attention(nn.Module):
    """Causal self-attention; bidirectional for a network that fills masks."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.causal = config.softmax != "masked"
        self.c_attn = nn.Linear(config.width, 3 * config.width)
        self.c_proj = nn.Linear(config.width, config.width)

    def forward(self, x: Tensor, cache: Cache | None, layer: int) -> Tensor:
        B, L, d = x.shape
        q, k, v = (
            t.view(B, L, self.heads, -1).transpose(1, 2) for t in self.c_attn(x).split(d, dim=2)
        )  # (B, H, L, d/H)
        if cache is not None:
            k, v = cache.extend(layer, k, v)
        # One new position sees everything; several new ones only ever come first, with nothing before them.
        dropout = self.dropout if self.training else 0.0
        if dropout and x.device.type == "cpu":
            y = attention_with_dropout(q, k, v, dropout, self.causal)  # (B, H, L, d/H)
        else:
            y = F.scaled_dot_product_attention(
                q, k, v, dropout_p=dropout, is_causal=self.causal and L > 1
            )  # (B, H, L, d/H)
        out: Tensor = self.c_proj(y.transpose(1, 2).reshape(B, L, d))  # (B, L, d)
        return out


class Block(nn.Module):
    """Attention and feed-forward, each behind a norm and added to the stream."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.width)
        self.attn = Attention(config)
        self.ln_2 = nn.LayerNorm(config.width)
        self.c_fc = nn.Linear(config.width, config.feed_forward)
        self.c_proj = nn.Linear(config.feed_forward, config.width)
        self.drop = Dropout(config.dropout)
        self.activation = F.relu if config.softmax != "vocabulary" else partial(F.gelu, approximate="tanh")

    def forward(self, x: Tensor, cache: Cache | None, layer: int) -> Tensor:
        x = x + self.drop(self.attn(self.ln_1(x), cache, layer))  # (B, L, d)
        inner = self.activation(self.c_fc(self.ln_2(x)))  # (B, L, 4d)
        out: Tensor = x + self.drop(self.c_proj(inner))  # (B, L, d)
        return out


class Decoder(nn.Module):
    """The stack of blocks with learned positions before and a norm after."""

    def __init__(self, config: ModelConfig, n_positions: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.wpe = nn.Embedding(n_positions, config.width)
        self.drop = Dropout(config.dropout)
        self.h = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.ln_f = nn.LayerNorm(config.width)
        self._start(generator)

    def _start(self, generator: torch.Generator | None) -> None:
        """GPT-2's initial values: N(0, 0.02), the projections back into the stream scaled down by depth."""
        for name, parameter in self.named_parameters():
            if "ln_" in name:
                continue  # already ones and zeros
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            else:
                depth = math.sqrt(2 * self.config.layers) if name.endswith("c_proj.weight") else 1.0
                nn.init.normal_(parameter, std=INIT_STD / depth, generator=generator)

    def new_cache(self, rows: int) -> Cache:
        """An empty cache for `rows` sequences of full length."""
        heads = self.config.heads
        shape = (rows, heads, self.wpe.num_embeddings, self.config.width // heads)
        return Cache(self.config.layers, shape, like=self.wpe.weight)

    def forward(self, embeddings: Tensor, cache: Cache | None = None) -> Tensor:
        """(B, L, d) → (B, L, d); with a cache, `embeddings` are the positions after those in it."""
        start = cache.length if cache is not None else 0
        assert start == 0 or embeddings.shape[1] == 1, (
            "after the first call a cached decoder takes one position at a time"
        )
        positions = torch.arange(start, start + embeddings.shape[1], device=embeddings.device)
        x = self.drop(embeddings + self.wpe(positions))  # (B, L, d)
        for layer, block in enumerate(self.h):
            x = block(x, cache, layer)  # (B, L, d)
        if cache is not None:
            cache.length += embeddings.shape[1]
        out: Tensor = self.ln_f(x)
        return out
