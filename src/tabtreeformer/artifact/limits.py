"""Limits for model files from strangers, checked before memory or time is spent on them.

A file says how wide, how deep and how long a network is, and a few bytes can say "a million layers". Every size must
therefore be backed by weights that are really in the file, so that loading takes no more memory and time than a fixed
multiple of the file's own length. Any text that could make a library load or run something is refused.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..config.settings import Config, ModelConfig
from ..data.schema import Schema
from ..data.schema.dtypes import dtype_of
from ..errors import ArchiveError
from ..forest import Forest
from ..tokens import TableCodec, TokenLayout

if TYPE_CHECKING:
    import torch

    from ..model import Network

MEGABYTE = 2**20
MEMBERS: Mapping[str, int] = {
    "config.json": MEGABYTE,
    "schema.json": 64 * MEGABYTE,
    "codec.json": 64 * MEGABYTE,
    "record.json": 16 * MEGABYTE,
    "tree.json": 64 * MEGABYTE,
    "tree.txt": 1024 * MEGABYTE,
    "prompts.safetensors": 4096 * MEGABYTE,
    "weights_1.safetensors": 8192 * MEGABYTE,
    "weights_2.safetensors": 8192 * MEGABYTE,
    "forest.json": 16 * MEGABYTE,
    "forest.safetensors": 4096 * MEGABYTE,
}
"""Every member that a model file may have, and its maximum size."""

MAX_LAWS_PER_COLUMN = 8
"""Several laws may correct the same column."""
MAX_COLUMNS, MAX_SLOTS, MAX_TREES, MAX_LAYERS = 10_000, 40_000, 100_000, 1_000
MAX_PROMPTS = 10_000_000
MAX_LETTERS = 10_000
MAX_BATCH = 1_000_000
MAX_CELLS = 2**30
"""Maximum cells of a table of positions and ids; such tables depend on the layout, not on weights."""
SPARE_CELLS = 2**24
MAX_WEIGHT = 10_000
"""Largest weight of a network, a hundred times what training reaches: products of several still fit in a float."""
MAX_OPTION = 4096
"""Largest number in the further settings of a Hugging Face model."""
_WORD = re.compile(r"[a-z0-9_]{1,30}")
_LOADING = ("attn", "auto_map", "code", "dtype", "kernel", "model", "name", "path", "quantization", "repo", "revision")
"""Parts of the names of settings that can make transformers look for code or files elsewhere."""


def check_config(config: Config) -> None:
    """Refuse settings that are absurd in themselves, or that could make a library load something."""
    model = config.model
    _at_most("model.layers", model.layers, MAX_LAYERS)
    _at_most("sampling.batch_size", config.sampling.batch_size, MAX_BATCH)
    for name, value in model.backbone_options.items():
        harmless = value is None or isinstance(value, bool | float) or (isinstance(value, int) and value <= MAX_OPTION)
        harmless = harmless or (isinstance(value, str) and _WORD.fullmatch(value) is not None)
        if not harmless or any(part in name.lower() for part in _LOADING):
            raise ArchiveError(f"its model.backbone_options hold {name!r}, which no model file may set")


def check_schema(schema: Schema) -> None:
    """Refuse tables that are too wide, missing or repeated names, and dtypes with large single values."""
    _at_most("columns", len(schema.columns), MAX_COLUMNS)
    names = schema.names
    if not names or len(set(names)) != len(names) or not all(type(name) in (str, int) for name in names):
        raise ArchiveError("its columns have no names, or share them")
    for column in schema.columns:
        for dtype in (column.dtype, column.categories_dtype):
            if dtype is None or dtype == "category":
                continue
            numpy_dtype = dtype_of(dtype)
            if isinstance(numpy_dtype, np.dtype) and (numpy_dtype.kind in "SUVc" or numpy_dtype.itemsize > 16):
                raise ArchiveError(f"column {column.name!r} has dtype {dtype!r}, which no table has")


def build_layout(tree: Any, codec: TableCodec) -> TokenLayout:
    """Assemble the slots, unless there are absurdly many."""
    slots, n_leaves = codec.slots, tree["n_leaves"]
    _at_most("trees", len(n_leaves), MAX_TREES)
    _at_most("slots", len(slots), MAX_SLOTS)
    return TokenLayout.build(n_leaves, slots)


def check_layout(layout: TokenLayout, config: ModelConfig, weight_bytes: int) -> None:
    """Refuse sizes of trees, slots and network that the weights in the file cannot back."""
    check_slots(layout)
    _check_network(layout, config, weight_bytes // 2)  # no weight is smaller than a half-precision number


def check_slots(layout: TokenLayout) -> None:
    """Refuse slots without ids."""
    for slot in layout.slots:
        if isinstance(slot.size, bool) or not isinstance(slot.size, int | np.integer) or slot.size < 1:
            raise ArchiveError(f"a slot of {slot.kind.name.lower()}s has {slot.size!r} ids")


def check_forest(forest: Forest, layout: TokenLayout) -> None:
    """Refuse trees whose slots are not the table's, and shares that would not fit in memory."""
    if forest.context or [slot.size for slot in forest.slots] != [slot.size for slot in layout.value_slots]:
        raise ArchiveError("its trees do not fit its columns")
    cells = sum(tree.n_leaves * slot.size for slot in forest.slots for tree in slot.trees)
    _at_most("leaves × ids", cells, MAX_CELLS)


def _check_network(layout: TokenLayout, config: ModelConfig, n_weights: int) -> None:
    """Compare what the network needs with the weights in the file."""
    from ..model.sizes import block_weights, number_slots, table_rows
    from ..model.slot_heads import BUCKETS

    rows = table_rows(layout, config)
    needed = {f"model.width × rows of {name}": config.width * count for name, count in rows.items()}
    needed["model.layers"] = config.layers * block_weights(config)
    if config.copula:
        needed["model.copula"] = layout.n_values**2
    if config.backbone != "gpt2":
        few = config.layers * config.width <= n_weights  # otherwise even counting would take long
        needed["model.layers"] = _hf_parameters(config, rows["positions"]) if few else config.layers * config.width
    for name, count in needed.items():
        if count > n_weights:
            raise ArchiveError(f"its {name} asks for {count:,} weights, of which it can hold {n_weights:,} at most")
    if config.softmax == "vocabulary":
        _at_most("positions × ids", layout.length * layout.n_vocab, MAX_CELLS)
    else:
        numbers = [layout.value_slots[i].size for i in number_slots(layout)]
        cells = len(numbers) * max(numbers, default=0) * config.functions
        _at_most("functions × ids", cells, n_weights + SPARE_CELLS)
    largest = BUCKETS[-1]  # slots of at most this many ids are padded to it
    buckets = sum(min(slot.size, largest) for slot in layout.value_slots) + layout.n_values * largest
    _at_most("slots × ids", buckets, MAX_CELLS)


def _hf_parameters(config: ModelConfig, positions: int) -> int:
    """Count the weights of a Hugging Face model without allocating them."""
    import torch

    from ..model.backbones import build_backbone

    with torch.device("meta"):
        backbone = build_backbone(config, positions)
    return sum(parameter.numel() for parameter in backbone.parameters())


def check_codec(codec: TableCodec, layout: TokenLayout) -> None:
    """Decode the first and the last id of every slot: what cannot be decoded now could not be later."""
    _at_most("laws", len(codec.laws.laws), MAX_LAWS_PER_COLUMN * len(codec.schema.columns))
    if codec.columns:
        check_schema(codec.expressed)
    for column in codec.columns:
        if column.inner.longest_text() > MAX_LETTERS:
            raise ArchiveError(f"column {column.column.name!r} is written with texts of absurd length")
    last = np.array([[slot.size - 1 for slot in layout.value_slots]], dtype=np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        codec.decode(np.concatenate([last * 0, last]), np.random.default_rng(0))


def check_prompts(leaf_ids: NDArray[Any], layout: TokenLayout) -> None:
    """Refuse prompts with leaves that the trees do not have."""
    if leaf_ids.dtype != np.int32 or leaf_ids.ndim != 2 or leaf_ids.shape[1] != layout.n_trees or not len(leaf_ids):
        raise ArchiveError("its prompts do not fit its trees")
    _at_most("prompts", len(leaf_ids), MAX_PROMPTS)
    sizes = np.array([slot.size for slot in layout.slots[: layout.n_trees]], dtype=np.int64)
    if leaf_ids.size and ((leaf_ids.min(axis=0) < -1).any() or (leaf_ids.max(axis=0) >= sizes).any()):
        raise ArchiveError("its prompts name leaves that its trees do not have")


def check_weights(weights: Mapping[str, torch.Tensor]) -> None:
    """Refuse weights that are not finite, or so large that sums of their products would not be."""
    for name, tensor in weights.items():
        if not tensor.dtype.is_floating_point or not bool((tensor.float().abs() <= MAX_WEIGHT).all()):
            raise ArchiveError(f"its weights {name!r} are not all finite numbers up to {MAX_WEIGHT:,}")


def check_network(network: Network) -> None:
    """One forward pass, over the first and the last id of every slot: every log-probability must be a number."""
    import torch

    layout, copula = network.layout, getattr(network, "copula", None)
    if copula is not None and not copula.is_sound():
        raise ArchiveError("the correlations of its columns are those of no table")
    last = np.array([[slot.size - 1 for slot in layout.value_slots]], dtype=np.int64)
    leaves = np.full((2, layout.n_trees), -1, dtype=np.int64)
    leaves[1] = [slot.size - 1 for slot in layout.slots[: layout.n_trees]]
    tokens = torch.from_numpy(layout.to_tokens(leaves, np.concatenate([last * 0, last])))
    with torch.inference_mode():
        logs = network.eval().log_probs(tokens)
    if bool(torch.isnan(logs).any()):
        raise ArchiveError("its weights do not give probabilities")


def _at_most(name: str, value: int, most: int) -> None:
    if value > most:
        raise ArchiveError(f"it has {value:,} {name}, more than the maximum of {most:,}")
