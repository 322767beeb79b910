"""Everything that fitting leaves behind, and how it becomes the members of a model file and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
import safetensors.torch
import torch

from . import limits, trees
from .archive import dump_json, load_json
from .config import Config, SampleConfig
from .errors import ArchiveError, TabTreeFormerError
from .generation import PromptBank, RowWriter
from .model import Network, build_network
from .schema import Schema
from .tokens import TableCodec, TokenLayout


@dataclass(frozen=True)
class Fitted:
    """A fitted model; a file holds all of it and nothing else."""

    config: Config
    schema: Schema
    codec: TableCodec
    layout: TokenLayout
    tree_target: str | int | None
    """The column that the trees predict; None where there are no trees."""
    tree_encoder: trees.FeatureEncoder | None
    tree_text: str
    models: tuple[Network, Network]
    prompts: tuple[PromptBank, PromptBank]
    record: dict[str, Any]
    """Rows, seed, versions and the course of training."""

    @cached_property
    def leaf_model(self) -> trees.LeafModel:
        """The tree model, read from its text when first asked for."""
        return trees.load_leaf_model(self.config.tree.model if self.tree_encoder else "none", self.tree_text)

    @property
    def ids_per_column(self) -> list[list[int]]:
        """Sizes of each column's slots."""
        slots = self.layout.value_slots
        return [[slots[i].size for i in self.layout.slots_of(place)] for place in range(len(self.schema.columns))]

    def writer(self, sampling: SampleConfig, seed: np.random.SeedSequence, advance: Callable[[int], None]) -> RowWriter:
        """What draws rows from it."""
        return RowWriter(
            train=self.config.train,
            sampling=sampling,
            codec=self.codec,
            layout=self.layout,
            networks=self.models,
            banks=self.prompts,
            encoder=self.tree_encoder,
            leaf_model=lambda: self.leaf_model,
            seed=seed,
            advance=advance,
        )

    def to_members(self) -> dict[str, bytes]:
        """The model as named pieces of JSON, text and safetensors."""
        tree = {
            "target": self.tree_target,
            "encoder": None if self.tree_encoder is None else self.tree_encoder.to_json(),
            "n_leaves": [slot.size for slot in self.layout.slots[: self.layout.n_trees]],
        }
        members = {
            "config.json": dump_json(self.config.to_json()),
            "schema.json": dump_json(self.schema.to_json()),
            "codec.json": dump_json(self.codec.to_json()),
            "record.json": dump_json(self.record),
            "tree.json": dump_json(tree),
            "tree.txt": self.tree_text.encode(),
            "prompts.safetensors": safetensors.numpy.save(
                {f"network_{j}": bank.leaf_ids for j, bank in enumerate(self.prompts, start=1)}
            ),
        }
        for j, model in enumerate(self.models, start=1):
            weights = {name: tensor.contiguous().cpu() for name, tensor in model.state_dict().items()}
            members[f"weights_{j}.safetensors"] = safetensors.torch.save(weights)
        return members

    @classmethod
    def from_members(cls, members: Mapping[str, bytes], path: str, device: torch.device) -> Fitted:
        """Inverse of `to_members`; pieces that do not fit together are an error."""
        try:
            return cls._from_members(members, device)
        except TabTreeFormerError as error:
            raise ArchiveError(f"{path} cannot be used: {error}") from error
        except _MISFITS as error:
            raise ArchiveError(f"{path} is damaged: its parts do not fit together ({error})") from error

    @classmethod
    def _from_members(cls, members: Mapping[str, bytes], device: torch.device) -> Fitted:
        config = Config.from_json(load_json(members["config.json"]))
        limits.check_config(config)
        schema = Schema.from_json(load_json(members["schema.json"]))
        limits.check_schema(schema)
        codec = TableCodec.from_json(load_json(members["codec.json"]), schema)
        tree = load_json(members["tree.json"])
        layout = limits.build_layout(tree, codec)
        weights = [members["weights_1.safetensors"], members["weights_2.safetensors"]]
        limits.check_layout(layout, config.model, min(len(w) for w in weights))
        limits.check_codec(codec, layout)
        prompts = safetensors.numpy.load(members["prompts.safetensors"])
        record = load_json(members["record.json"])
        limits.check_record(record)
        for bank in ("network_1", "network_2"):
            limits.check_prompts(prompts[bank], layout)
        models = [_load_network(layout, config, data).to(device).eval() for data in weights]
        return cls(
            config=config,
            schema=schema,
            codec=codec,
            layout=layout,
            tree_target=tree["target"],
            tree_encoder=None if tree["encoder"] is None else trees.FeatureEncoder.from_json(tree["encoder"]),
            tree_text=members["tree.txt"].decode(),
            models=(models[0], models[1]),
            prompts=(PromptBank(prompts["network_1"]), PromptBank(prompts["network_2"])),
            record=record,
        )


_MISFITS = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    MemoryError,
    RuntimeError,
    safetensors.SafetensorError,
)
"""What pieces that do not fit together make Python, numpy and torch raise."""


def _load_network(layout: TokenLayout, config: Config, data: bytes) -> Network:
    weights = safetensors.torch.load(data)
    limits.check_weights(weights)
    model = build_network(layout, config.model)
    model.load_state_dict(weights)
    return model
