"""Model files as somebody hostile would write them: every part of every member may say something else, checksums agree.

What a file says is changed where it has a meaning: a part of plain data, a number in the text of trees, a tensor's
shape, kind or values, a whole member taken from another model. Random bytes would hardly ever get past the checksums.
"""

from __future__ import annotations

import copy
import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

NASTY: list[Any] = [
    None, True, False, -1, 0, 1, 2, 7, 255, 1000, 2**31, 2**31 - 1, 2**53, 2**63, 10**12, 10**30, -(10**18), 0.5, 1e-9,
    1e308, -1e308, 1e-308, "", "x", "0", "x" * 5000, "U1000000", "S99999999", "datetime64[ns]", "datetime64[ns, UTC]",
    "datetime64[ns, ../../etc/passwd]", "object", "float128", "category", "int8", "bool", "timedelta64[ns]", "string",
    "hf:gpt2", "hf:t5", "hf:llama", "hf:../x", "../../etc/passwd", "NM", "trees", "\x00", "\x1b[2J", "\ud800",
    "%Y-%m-%d", "%" * 300, "{n}" * 400, "{n:>999999999}", "a" * 30 + "{n}", [], {}, [[]], [0], [1, 2, 3], {"a": 1},
    [10**9] * 50, [[0, 10**9]], [None] * 20, [["x", 1]], "9999-12-31", "0001-01-01", "nan", "-inf",
]  # fmt: skip
NUMBER = re.compile(rb"-?\d+(\.\d+)?(e[+-]?\d+)?")
NUMBERS = [
    b"0",
    b"-1",
    b"1",
    b"2",
    b"1000000000",
    b"99999999999999999999",
    b"nan",
    b"inf",
    b"-inf",
    b"1e308",
    b"x",
    b"",
]
SHAPES: list[list[int]] = [[], [0], [1], [2, 2], [0, 5], [1, 10**9], [2**40]]
KINDS = ["F64", "F32", "F16", "BF16", "I64", "I32", "I16", "U8", "BOOL", "F8_E4M3"]


def hostile(
    members: Mapping[str, bytes], others: Sequence[Mapping[str, bytes]], rng: np.random.Generator
) -> dict[str, bytes]:
    """The members of a model file with one to three of them changed; `others` are members of other models."""
    changed, names = dict(members), sorted(members)
    for name in rng.choice(names, min(len(names), int(rng.choice([1, 1, 1, 2, 3]))), replace=False).tolist():
        chance = rng.random()
        if chance < 0.05:
            donor = others[int(rng.integers(len(others)))]
            alike = [other for other in sorted(donor) if other.rsplit("_", 1)[-1] == name.rsplit("_", 1)[-1]]
            changed[name] = donor[alike[0]] if alike else changed[name]
        elif chance < 0.07:
            del changed[name]
        else:
            changed[name] = changed_member(name, members[name], rng)
    return changed


def changed_member(name: str, data: bytes, rng: np.random.Generator) -> bytes:
    """A member that says something else, in its own form."""
    if name.endswith(".json"):
        content = json.loads(data)
        for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
            content = twisted(content, rng)
        return json.dumps(content).encode()
    if name.endswith(".safetensors"):
        return changed_tensors(data, rng)
    return changed_text(data, rng)


def twisted(content: Any, rng: np.random.Generator) -> Any:
    """Plain data with one of its parts replaced, removed, repeated, swapped, or moved to where another was."""
    content = copy.deepcopy(content)
    places = list(walk(content))
    if not places:
        return NASTY[int(rng.integers(len(NASTY)))]
    holder, key = places[int(rng.integers(len(places)))]
    way = rng.integers(7)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, list):
        holder[key:key] = [copy.deepcopy(holder[key])] * int(rng.choice([1, 3, 1000, 20_000]))
    elif way == 2:
        other, there = places[int(rng.integers(len(places)))]
        holder[key] = copy.deepcopy(other[there])
    elif way == 3 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = holder[key] * float(rng.choice([-1, 0.5, 2, 1000])) + float(rng.choice([0, 1, 1e-7]))
        holder[key] = int(holder[key]) if rng.random() < 0.7 else holder[key]
    elif way == 4 and isinstance(holder[key], str) and holder[key]:
        text, at = holder[key], int(rng.integers(len(holder[key]) + 1))
        holder[key] = (
            text[:at]
            + str(rng.choice(["\x00", "{", "}", "%", "`", "'", "9", " ", "\\", "[", "é", "\n"])) * 3
            + text[at:]
        )
    elif way == 5 and isinstance(holder[key], list) and len(holder[key]) > 1:
        holder[key] = holder[key][::-1] if rng.random() < 0.5 else holder[key][1:]
    else:
        holder[key] = copy.deepcopy(NASTY[int(rng.integers(len(NASTY)))])
    return content


def walk(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every part of plain data as (holder, key)."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield content, key
        yield from walk(value)


def changed_text(data: bytes, rng: np.random.Generator) -> bytes:
    """The text of trees with numbers changed, or lines removed, repeated or exchanged."""
    if data[:1] in (b"{", b"["):
        try:
            return json.dumps(twisted(json.loads(data), rng)).encode()
        except ValueError:
            pass
    for _ in range(int(rng.choice([1, 1, 2, 5]))):
        lines = data.split(b"\n")
        at, way = int(rng.integers(len(lines))), rng.integers(5)
        found = list(NUMBER.finditer(data))
        if way <= 2 and found:
            match = found[int(rng.integers(len(found)))]
            data = data[: match.start()] + NUMBERS[int(rng.integers(len(NUMBERS)))] + data[match.end() :]
        elif way == 3:
            data = b"\n".join(lines[:at] + lines[at + 1 :])
        else:
            data = b"\n".join([*lines[:at], lines[int(rng.integers(len(lines)))], *lines[at:]])
    return data


def changed_tensors(data: bytes, rng: np.random.Generator) -> bytes:
    """Tensors with another header, other values, or one of them gone, of another kind, or twice as long."""
    (length,) = struct.unpack_from("<Q", data)
    header, body = json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])
    way, names = rng.integers(4), [name for name in header if name != "__metadata__"]
    if way == 0 or not names:
        header = twisted(header, rng)
    elif way == 1:
        facts = header[names[int(rng.integers(len(names)))]]
        if rng.random() < 0.5:
            facts["shape"] = SHAPES[int(rng.integers(len(SHAPES)))]
        else:
            facts["dtype"] = KINDS[int(rng.integers(len(KINDS)))]
    elif way == 2:
        return rebuilt(header, bytes(body), rng)
    else:
        for _ in range(int(rng.choice([1, 10, 1000]))):
            at = int(rng.integers(max(len(body) - 3, 1)))
            worst = [struct.pack("<i", v) for v in (-1, 0, 1, 2, 2**31 - 1, -(2**31))]
            worst += [struct.pack("<f", v) for v in (1e38, -1e38, 1e30, 0.0, float("nan"))]
            body[at : at + 4] = worst[int(rng.integers(len(worst)))]
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(body)


def rebuilt(header: Mapping[str, Any], body: bytes, rng: np.random.Generator) -> bytes:
    """A valid file of tensors in which one is changed as a whole; the others stay as they are."""
    import safetensors.torch

    text = json.dumps(header).encode()
    tensors = safetensors.torch.load(struct.pack("<Q", len(text)) + text + body)
    name = sorted(tensors)[int(rng.integers(len(tensors)))]
    tensor, way = tensors[name], rng.integers(7)
    if way == 0:
        del tensors[name]
    elif way == 1:
        tensors[name] = tensor.repeat(2, *[1] * (tensor.dim() - 1)) if tensor.dim() else tensor.repeat(2)
    elif way == 2:
        tensors[name] = tensor * float(rng.choice([0.0, -1.0, 1e6, 1e30]))
    elif way == 3:
        tensors[name] = tensor.flatten()[: int(rng.integers(tensor.numel() + 1))].clone()
    elif way == 4:
        tensors[name] = tensor.double() if rng.random() < 0.5 else tensor.int()
    elif way == 5:
        tensors[f"{name}x"] = tensor.clone()
    else:
        tensors[name] = tensor.flip(0).clone() if tensor.dim() else tensor
    return safetensors.torch.save({key: value.contiguous() for key, value in tensors.items()})
