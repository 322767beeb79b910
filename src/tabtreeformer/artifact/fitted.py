"""A fitted model, and how it becomes the members of a model file and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import safetensors
import safetensors.numpy

from .. import trees
from ..config.settings import Config
from ..data.schema import Schema
from ..errors import ArchiveError, TabTreeFormerError
from ..forest import Forest, from_state, to_state
from ..tokens import TableCodec, TokenLayout
from . import limits
from .archive import dump_json, load_json
from .prompt_bank import PromptBank
from .record import check_record

if TYPE_CHECKING:
    import torch

    from ..model import Network


@dataclass(frozen=True)
class Fitted:
    """A fitted model; a file contains all of it and nothing else."""

    config: Config
    schema: Schema
    codec: TableCodec
    layout: TokenLayout
    tree_target: str | int | None
    """The column that the trees predict; None if there are no trees."""
    tree_encoder: trees.FeatureEncoder | None
    tree_text: str
    models: tuple[Network, ...]
    """The two networks; none if trees write."""
    prompts: tuple[PromptBank, ...]
    record: dict[str, Any]
    """Rows, seed, versions and the course of training."""
    forest: Forest | None = None
    """The trees that write, if no network does."""

    @cached_property
    def leaf_model(self) -> trees.LeafModel:
        """The tree model, read from its text when first asked for."""
        model = trees.load_leaf_model(self.config.tree.model if self.tree_encoder else "none", self.tree_text)
        if list(model.n_leaves) != [slot.size for slot in self.layout.slots[: self.layout.n_trees]]:
            raise ArchiveError("the stored trees are not those of the prompts; the file is damaged: save it again")
        return model

    @property
    def ids_per_column(self) -> list[list[int]]:
        """Sizes of each column's slots; none if a law computes the column."""
        slots, origins = self.layout.value_slots, self.codec.laws.origins
        sizes: dict[str | int, list[int]] = {name: [] for name in self.schema.names}
        for place, name in enumerate(self.codec.expressed.names):
            sizes[origins[name]] += [slots[i].size for i in self.layout.slots_of(place)]
        return list(sizes.values())

    def to_members(self) -> dict[str, bytes]:
        """The model as named pieces of JSON, text and safetensors."""
        tree = {
            "target": self.tree_target,
            "encoder": None if self.tree_encoder is None else self.tree_encoder.to_json(),
            "n_leaves": [slot.size for slot in self.layout.slots[: self.layout.n_trees]],
        }
        if self.forest is not None:
            return self._common_members() | _forest_members(self.forest)
        members = self._common_members() | {
            "tree.json": dump_json(tree),
            "tree.txt": self.tree_text.encode(),
            "prompts.safetensors": safetensors.numpy.save(
                {f"network_{j}": bank.leaf_ids for j, bank in enumerate(self.prompts, start=1)}
            ),
        }
        from safetensors.torch import save

        for j, model in enumerate(self.models, start=1):
            weights = {name: tensor.contiguous().cpu() for name, tensor in model.state_dict().items()}
            members[f"weights_{j}.safetensors"] = save(weights)
        return members

    def _common_members(self) -> dict[str, bytes]:
        return {
            "config.json": dump_json(self.config.to_json()),
            "schema.json": dump_json(self.schema.to_json()),
            "codec.json": dump_json(self.codec.to_json()),
            "record.json": dump_json(self.record),
        }

    @classmethod
    def from_members(cls, members: Mapping[str, bytes], path: str, device: torch.device | str) -> Fitted:
        """Inverse of `to_members`; raises an error for pieces that do not fit together."""
        try:
            return cls._from_members(members, device)
        except TabTreeFormerError as error:
            raise ArchiveError(f"{path} cannot be used: {error}") from error
        except MISFITS as error:
            raise ArchiveError(f"{path} is damaged: its parts do not fit together ({error})") from error

    @classmethod
    def _from_members(cls, members: Mapping[str, bytes], device: torch.device | str) -> Fitted:
        config = Config.from_json(load_json(members["config.json"]))
        limits.check_config(config)
        schema = Schema.from_json(load_json(members["schema.json"]))
        limits.check_schema(schema)
        codec = TableCodec.from_json(load_json(members["codec.json"]), schema)
        record = load_json(members["record.json"])
        check_record(record)
        if "forest.json" in members:
            return cls._of_trees(config, codec, members, record)
        tree = load_json(members["tree.json"])
        layout = limits.build_layout(tree, codec)
        weights = [members["weights_1.safetensors"], members["weights_2.safetensors"]]
        limits.check_layout(layout, config.model, min(len(w) for w in weights))
        limits.check_codec(codec, layout)
        prompts = safetensors.numpy.load(members["prompts.safetensors"])
        for bank in ("network_1", "network_2"):
            limits.check_prompts(prompts[bank], layout)
        models = [_load_network(layout, config, data).to(device).eval() for data in weights]
        return cls(
            config=config,
            schema=schema,
            codec=codec,
            layout=layout,
            tree_target=tree["target"],
            tree_encoder=None if tree["encoder"] is None else _encoder(tree["encoder"], schema),
            tree_text=members["tree.txt"].decode(),
            models=(models[0], models[1]),
            prompts=(PromptBank(prompts["network_1"]), PromptBank(prompts["network_2"])),
            record=record,
        )

    @classmethod
    def _of_trees(cls, config: Config, codec: TableCodec, members: Mapping[str, bytes], record: Any) -> Fitted:
        if config.forest is None:
            raise ArchiveError("it holds trees that write, and no settings of them")
        layout = limits.build_layout({"n_leaves": []}, codec)
        limits.check_slots(layout)
        limits.check_codec(codec, layout)
        state = safetensors.numpy.load(members["forest.safetensors"])
        forest = from_state(load_json(members["forest.json"]), state)
        limits.check_forest(forest, layout)
        return cls(
            config=config,
            schema=codec.schema,
            codec=codec,
            layout=layout,
            tree_target=record["target"],
            tree_encoder=None,
            tree_text="",
            models=(),
            prompts=(),
            record=record,
            forest=forest,
        )


def _encoder(data: Mapping[str, Any], schema: Schema) -> trees.FeatureEncoder:
    """The features of the trees, if the table has them."""
    encoder = trees.FeatureEncoder.from_json(data)
    strange = [s.column.name for s in (*encoder.sources, encoder.goal) if s.column.name not in schema.names]
    if strange:
        raise ArchiveError(f"its trees read a column {strange[0]!r} that the table does not have")
    return encoder


def _forest_members(forest: Forest) -> dict[str, bytes]:
    facts, arrays = to_state(forest)
    return {"forest.json": dump_json(facts), "forest.safetensors": safetensors.numpy.save(arrays)}


MISFITS = (
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
"""What Python, numpy and torch raise for pieces that do not fit together."""


def _load_network(layout: TokenLayout, config: Config, data: bytes) -> Network:
    import safetensors.torch

    from ..model import build_network

    weights = safetensors.torch.load(data)
    limits.check_weights(weights)
    model = build_network(layout, config.model)
    model.load_state_dict(weights)
    limits.check_network(model)
    return model
