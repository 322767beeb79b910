"""What maps embeddings (B, L, d) to hidden states (B, L, d) causally: our own decoder, or a Hugging Face model.

A Hugging Face model is built from its config with random weights; nothing is ever downloaded.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor, nn

from ..config.settings import ModelConfig
from ..errors import ConfigError, import_extra
from .decoder import Decoder

HF_TYPES = (
    "biogpt", "bloom", "cohere", "falcon", "gemma2", "gpt2", "gpt_neox", "granite", "llama", "mistral", "olmo", "olmo2",
    "opt", "persimmon", "phi", "phi3", "qwen2", "smollm3", "stablelm", "starcoder2", "xglm",
)  # fmt: skip
"""Model types of transformers that are causal, take embeddings, and give the same states with a cache as without."""


class Backbone(Protocol):
    """A causal map with a cache; `Decoder` is one."""

    def new_cache(self, rows: int) -> Any:
        """An empty cache for `rows` sequences."""

    def __call__(self, embeddings: Tensor, cache: Any | None = None) -> Tensor:
        """(B, L, d) → (B, L, d); with a cache, `embeddings` are the positions after those in it."""


def build_backbone(config: ModelConfig, n_positions: int, generator: torch.Generator | None = None) -> nn.Module:
    """Build the backbone that the config names; the returned module is a `Backbone`."""
    if config.backbone == "gpt2":
        return Decoder(config, n_positions, generator)
    return HuggingFaceBackbone(config, n_positions, generator)


class HuggingFaceBackbone(nn.Module):
    """Any causal model of transformers, fed through `inputs_embeds`."""

    def __init__(self, config: ModelConfig, n_positions: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        transformers = import_extra("transformers", "hf")
        model_type = config.backbone.removeprefix("hf:")
        if model_type not in HF_TYPES or model_type not in transformers.CONFIG_MAPPING:
            raise ConfigError(f"model.backbone: {model_type!r} is not one of the model types {', '.join(HF_TYPES)}")
        # The names of transformers' attribute map, which its configs translate to their own (n_embd, n_head, …).
        settings = {
            "vocab_size": 1,  # the token embeddings are ours
            "hidden_size": config.width,
            "num_hidden_layers": config.layers,
            "num_attention_heads": config.heads,
            "max_position_embeddings": n_positions,
            _inner_size_name(model_type): config.feed_forward,
            **_own_heads(transformers.CONFIG_MAPPING[model_type], config.heads),
            **_token_free(transformers.CONFIG_MAPPING[model_type]),
            **_dropouts(transformers.CONFIG_MAPPING[model_type], config.dropout),
            **config.backbone_options,
        }
        # transformers draws initial weights from torch's global state: seed a copy of it, leave the user's alone.
        with torch.random.fork_rng(devices=[]):
            if generator is not None:
                torch.manual_seed(int(torch.randint(2**62, (1,), generator=generator)))
            hf_config = transformers.AutoConfig.for_model(model_type, **settings)
            self.model = transformers.AutoModel.from_config(hf_config)
        self._new_cache = transformers.DynamicCache
        for name, parameter in self.model.named_parameters():
            if (parameter.shape[0] == 1 and "embed" in name) or name.endswith("wte.weight"):
                parameter.requires_grad_(False)  # the unused token table

    def new_cache(self, rows: int) -> Any:
        """An empty cache; it grows by itself."""
        return self._new_cache(config=self.model.config)

    def forward(self, embeddings: Tensor, cache: Any | None = None) -> Tensor:
        """(B, L, d) → (B, L, d)."""
        out = self.model(inputs_embeds=embeddings, past_key_values=cache, use_cache=cache is not None)
        hidden: Tensor = out.last_hidden_state
        return hidden


def _inner_size_name(model_type: str) -> str:
    return "n_inner" if model_type == "gpt2" else "intermediate_size"


def _own_heads(config_class: Any, heads: int) -> dict[str, int]:
    """Equal numbers of key/value heads and query heads, where the architecture lets them differ."""
    return {"num_key_value_heads": heads} if hasattr(config_class(), "num_key_value_heads") else {}


def _token_free(config_class: Any) -> dict[str, Any]:
    """Special token ids that would point outside the one-row token table."""
    defaults = config_class()
    return {name: None for name in ("bos_token_id", "eos_token_id", "pad_token_id") if hasattr(defaults, name)}


def _dropouts(config_class: Any, rate: float) -> dict[str, float]:
    """Every dropout that the architecture has, under its own name."""
    defaults = config_class()
    names = ("resid_pdrop", "embd_pdrop", "attn_pdrop", "attention_dropout", "hidden_dropout", "dropout")
    return {name: rate for name in names if isinstance(getattr(defaults, name, None), float)}
