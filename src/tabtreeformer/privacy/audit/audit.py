"""Name the origin of everything in a model file, and compare it with the training table."""

from __future__ import annotations

import os
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors.numpy

from ...artifact.archive import MANIFEST, read_archive
from ...artifact.fitted import Fitted
from ...errors import ArchiveError, ConfigError, SchemaError
from .chance import Meeting, suspicious
from .columns import locator
from .combinations import open_prompts, telling_prompts, thin_intervals, thin_leaves, thin_ranges, thin_shares
from .findings import Finding, gathered
from .origins import ORIGINS, TREES, Origin, pattern_of
from .rare import RareValues, is_distinctive, texts_inside
from .walk import Leaf, hidden_bytes, walk

RARE_FLOOR = 5
"""A value of fewer training rows than this counts as rare: it could identify a person."""
WALKED = ("schema.json", "codec.json", "tree.json")
"""Members whose texts are all values or names and are compared individually."""
BEYOND_WEIGHTS = 100.0
"""Larger numbers cannot be weights of a network, so they are treated as values."""

_Known = Mapping[str, Mapping[str, Origin]]
_Value = tuple[Leaf, str | int, Any]
"""Location, column and value."""


@dataclass(frozen=True)
class Audit:
    """The contents of a file, and the findings."""

    path: str
    rare_floor: int
    rows: int | None
    """Rows of the training table; None if only origins were checked."""
    places: list[dict[str, Any]]
    """Every part of the file: member, general path, count of numbers or texts, kind of origin, and origin."""
    findings: list[Finding] = field(default_factory=list)
    coincidences: int = 0
    """Count of numbers that match rare values by chance."""

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def to_json(self, show: bool = False) -> dict[str, Any]:
        """Plain data; private values only with `show`."""
        return {
            "path": self.path,
            "passed": self.passed,
            "rare_floor": self.rare_floor,
            "rows": self.rows,
            "coincidences": self.coincidences,
            "findings": [finding.to_json(show) for finding in self.findings],
            "places": self.places,
        }


def audit(
    path: str | os.PathLike[str], train: pd.DataFrame | None = None, *, rare_floor: int = RARE_FLOOR, seed: int = 0
) -> Audit:
    """Audit a model file; if the training table is given, compare with it."""
    if isinstance(rare_floor, bool) or not isinstance(rare_floor, int) or rare_floor < 1:
        raise ConfigError(f"rare_floor must be a whole number of at least 1, got {rare_floor!r}")
    members = read_archive(path)
    fitted = Fitted.from_members(members, os.fspath(path), "cpu")
    members = {MANIFEST: _manifest(path), **members}
    model = fitted.config.tree.model if fitted.tree_encoder is not None else "none"
    known: _Known = {**ORIGINS, "tree.txt": TREES[model]}
    leaves = list(walk(members, model))
    places, findings = _origins(leaves, known)
    hidden = hidden_bytes(Path(path))
    if hidden:
        findings.append(Finding("hidden", os.path.basename(path), "bytes", count=hidden))
    findings += open_prompts(fitted)
    findings += thin_shares(fitted, rare_floor)
    coincidences = 0
    if train is not None:
        frame = _chosen(train, fitted)
        # Load the trees first, which validates their untrusted text.
        encoder = fitted.tree_encoder
        leaf_ids = None if encoder is None else fitted.leaf_model.leaves(encoder.features(frame))
        columns = {c.name: RareValues.of(frame[c.name], c, rare_floor) for c in fitted.schema.columns}
        expressed = fitted.codec.laws.express(frame)
        for column in fitted.codec.expressed.columns:
            if column.name not in columns:
                columns[column.name] = RareValues.of(expressed[column.name], column, rare_floor)
        values, others = _sorted_out(leaves, known, fitted)
        findings += gathered(_rare(values, others, columns))
        beyond_chance, coincidences = suspicious(_meetings(values, others, columns))
        findings += beyond_chance
        findings += gathered(_rare_elsewhere(members, columns))
        findings += thin_intervals(fitted, frame, rare_floor)
        findings += thin_ranges(fitted, columns)
        if leaf_ids is not None:
            findings += thin_leaves(leaf_ids, rare_floor)
            findings += telling_prompts(fitted, leaf_ids, rare_floor, np.random.default_rng(seed))
    return Audit(os.fspath(path), rare_floor, None if train is None else len(train), places, findings, coincidences)


def _manifest(path: str | os.PathLike[str]) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(MANIFEST)


def _chosen(train: pd.DataFrame, fitted: Fitted) -> pd.DataFrame:
    try:
        return fitted.schema.validate(train)
    except SchemaError as error:
        raise SchemaError(f"this is not the table that the model was fitted on: {error}") from error


def _origins(leaves: list[Leaf], known: _Known) -> tuple[list[dict[str, Any]], list[Finding]]:
    """Count what is under each documented path, and what has no documented path."""
    counts: Counter[tuple[str, str]] = Counter()
    for leaf in leaves:
        counts[leaf.member, leaf.path] += leaf.count
    patterns: Counter[tuple[str, str]] = Counter()
    findings = []
    for (member, path), count in counts.items():
        pattern = pattern_of(path, known.get(member, {}))
        if pattern is None:
            findings.append(Finding("unknown", member, path, count=count))
        else:
            patterns[member, pattern] += count
    places = [
        {"member": m, "path": p, "count": n, "kind": known[m][p].kind, "origin": known[m][p].text}
        for (m, p), n in patterns.items()
    ]
    return places, findings


def _sorted_out(leaves: list[Leaf], known: _Known, fitted: Fitted) -> tuple[list[_Value], list[Leaf]]:
    """Separate values, with their columns, from everything else."""
    locate = locator(fitted, leaves)
    kinds: dict[tuple[str, str], str | None] = {}
    values: list[_Value] = []
    others = []
    for leaf in leaves:
        place = leaf.member, leaf.path
        if place not in kinds:
            pattern = pattern_of(leaf.path, known.get(leaf.member, {}))
            kinds[place] = None if pattern is None else known[leaf.member][pattern].kind
        if kinds[place] == "value":
            values += [(leaf, name, value) for name, value in locate(leaf)]
        else:
            others.append(leaf)
    return values, others


def _rare(values: list[_Value], others: list[Leaf], columns: Mapping[str | int, RareValues]) -> Iterator[Finding]:
    """Certain findings: rare values among the values of their column, ends determined by few rows, rare pairs."""
    for leaf, name, value in values:
        kind = _kind(leaf, columns[name], value)
        if kind is not None:
            yield Finding(kind, leaf.member, leaf.path, name, values=(value,))
    for leaf in others:
        if leaf.path.startswith("rules[*].pairs") or (leaf.path.startswith("laws[*]") and _may_reveal(leaf.value)):
            for column in columns.values():
                if column.holds(leaf.value):
                    yield Finding("rare value", leaf.member, leaf.path, column.name, values=(leaf.value,))


def _may_reveal(value: Any) -> bool:
    """Whether a value stored by a law may reveal a row: texts and long numbers."""
    return isinstance(value, str) or is_distinctive(value)


def _kind(leaf: Leaf, column: RareValues, value: Any) -> str | None:
    """The kind of finding for a value of a column, if any."""
    if column.holds(value):
        return "rare value"
    end = leaf.path.rpartition(".")[2]
    if column.numeric and end in ("low", "high"):
        below, above = column.rows_beyond(value, value)
        if 0 < (below if end == "low" else above) < column.floor:
            return "range"
    return None


def _meetings(values: list[_Value], others: list[Leaf], columns: Mapping[str | int, RareValues]) -> Iterator[Meeting]:
    """Compare values with the midpoints of rare values in their column, and other long numbers with all rare values."""
    own: dict[tuple[str, str, str | int], set[Any]] = {}
    for leaf, name, value in values:
        if isinstance(value, int | float) and not isinstance(value, bool) and columns[name].numeric:
            own.setdefault((leaf.member, leaf.path, name), set()).add(value)
    for (member, path, name), numbers in own.items():
        yield Meeting(member, path, columns[name], sorted(numbers), half_way=True)
    elsewhere: dict[tuple[str, str], set[Any]] = {}
    for leaf in others:
        if is_distinctive(leaf.value):
            elsewhere.setdefault((leaf.member, leaf.path), set()).add(leaf.value)
    for (member, path), numbers in elsewhere.items():
        ascending = sorted(numbers)
        for column in columns.values():
            yield Meeting(member, path, column, ascending, half_way=False)


def _rare_elsewhere(members: Mapping[str, bytes], columns: Mapping[str | int, RareValues]) -> Iterator[Finding]:
    """Search all other bytes for rare texts, and the weights for rare numbers."""
    others = {name: data for name, data in members.items() if name not in WALKED}
    for member, column, text in texts_inside(others, list(columns.values())):
        yield Finding("rare text", member, "bytes", column.name, values=(text,))
    for member, data in others.items():
        if not member.startswith("weights"):
            continue
        for name, tensor in _tensors(data).items():
            for value in tensor[np.abs(tensor) > BEYOND_WEIGHTS].astype(np.float64).tolist():
                for column in columns.values():
                    if is_distinctive(value) and value in column.numbers:
                        yield Finding("rare value", member, name, column.name, values=(value,))


def _tensors(data: bytes) -> Mapping[str, Any]:
    try:
        tensors: Mapping[str, Any] = safetensors.numpy.load(data)
    except (ValueError, KeyError, TypeError) as error:
        raise ArchiveError(f"the weights cannot be read as numbers: {error}") from error
    return tensors
