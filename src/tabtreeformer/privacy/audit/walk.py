"""Iterates over every number and text of a model file, with its path and column."""

from __future__ import annotations

import json
import math
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...artifact.archive import load_json

Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class Leaf:
    """One number or text."""

    member: str
    path: str
    """General path, with [*] for list indices."""
    places: tuple[int, ...]
    """The list indices, from the outside in."""
    value: Scalar
    count: int = 1
    """Number of elements of a tensor."""


def walk(members: Mapping[str, bytes], tree_model: str) -> Iterator[Leaf]:
    """Walk all members; of tensors, whose numbers are not table values, only the names."""
    for name, data in members.items():
        if name.endswith(".json"):
            yield from _walk_json(name, load_json(data))
        elif name.endswith(".safetensors"):
            for tensor, facts in header(data).items():
                yield Leaf(name, tensor, (), tensor, math.prod(facts.get("shape", ())))
        elif name == "tree.txt" and tree_model in ("xgboost", "catboost", "decision_tree"):
            yield from _walk_json(name, json.loads(data))
        elif name == "tree.txt":
            yield from _walk_lightgbm(name, data.decode())
        else:
            yield Leaf(name, "", (), None)


def header(data: bytes) -> dict[str, Any]:
    """The names, dtypes and shapes of a safetensors member."""
    (length,) = struct.unpack_from("<Q", data)
    content: dict[str, Any] = load_json(data[8 : 8 + length])
    return content


def _walk_json(member: str, content: Any, path: str = "", places: tuple[int, ...] = ()) -> Iterator[Leaf]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _walk_json(member, value, f"{path}.{key}" if path else str(key), places)
    elif isinstance(content, list):
        for place, value in enumerate(content):
            yield from _walk_json(member, value, f"{path}[*]", (*places, place))
    elif content is not None:
        yield Leaf(member, path, places, content)


def _walk_lightgbm(member: str, text: str) -> Iterator[Leaf]:
    """Walk LightGBM's name=values lines; settings and importances go under the name of their heading."""
    heading, tree = "", -1
    for line in text.splitlines():
        name, equals, values = line.partition("=")
        if line in ("parameters:", "feature_importances:"):
            heading = line[:-1]
        elif line.startswith("end of"):
            heading = ""
        elif name == "Tree":
            tree, heading = int(values), ""
        elif line.startswith("pandas_categorical:"):
            yield Leaf(member, "pandas_categorical", (), line.partition(":")[2])
        elif heading or equals:
            for place, value in enumerate([line] if heading else values.split(" ")):
                yield Leaf(member, heading or name, (tree, place), _number(value))
        elif line and line not in ("tree", "average_output"):
            yield Leaf(member, line, (), line)


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def hidden_bytes(path: Path) -> int:
    """Bytes of the file outside its members: comments, extra fields, gaps; 0 in our own files."""
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        needed = 22
        for entry in archive.infolist():
            file.seek(entry.header_offset)
            *_, n_name, n_extra = struct.unpack("<4s5H3L2H", file.read(30))
            zip64 = 20 if entry.file_size >= zipfile.ZIP64_LIMIT else 0
            needed += 30 + n_name + min(n_extra, zip64) + entry.compress_size
            needed += 46 + len(entry.orig_filename.encode()) + min(len(entry.extra), 28 if zip64 else 0)
        return max(path.stat().st_size - needed, 0)
