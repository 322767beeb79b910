"""Generators to compare: one file each, with a class `Generator` that has `fit(df, schema)` and `sample(n)`.

A file runs in the generator's own environment, where this package need not be installed, and imports nothing from it.
Only the controls are part of the package. A folder with a `generators.json` adds more; the repository's
`benchmarks/generators` is one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ....errors import ConfigError

HERE = Path(__file__).parent
OURS, CONTROL = "ours", "control"
LISTING = "generators.json"


@dataclass(frozen=True, kw_only=True)
class GeneratorSpec:
    """Where a generator is found and what has to be known about it."""

    name: str
    file: Path | None
    """None: nothing is generated; real rows that no generator saw are scored instead."""
    family: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of its class, besides the seed and the budget."""
    environment: str | None = None
    """Name of the virtual environment that it needs; None: the current one."""
    module: str | None = None
    """What must be importable there."""
    paper: str | None = None
    """Its name in the paper's tables."""
    note: str = ""
    """What a reader of its numbers should know."""
    python: Path = Path(sys.executable)


def _control(name: str, file: str | None, note: str) -> GeneratorSpec:
    return GeneratorSpec(name=name, family=CONTROL, file=None if file is None else HERE / file, note=note)


CONTROLS: Sequence[GeneratorSpec] = (
    _control("holdout", None, "unseen real rows (fewer)"),
    _control("identity", "identity.py", "the training rows themselves"),
    _control("marginals", "marginals.py", "each column drawn independently"),
    _control("bootstrap", "bootstrap.py", "training rows drawn with replacement, plus noise"),
)


def listed(folder: Path) -> list[GeneratorSpec]:
    """Read the generators that a folder's `generators.json` describes; their files are in the same folder.

    The folder may also be a repository that has them in `benchmarks/generators`.
    """
    places = (folder, folder / "generators", folder / "benchmarks" / "generators")
    place = next((p for p in places if (p / LISTING).exists()), None)
    if place is None:
        raise ConfigError(f"there is no {LISTING} in {folder}; name the folder that holds one")
    entries = json.loads((place / LISTING).read_text(encoding="utf-8"))
    try:
        return [GeneratorSpec(**{**entry, "file": place / entry["file"]}) for entry in entries]
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{place / LISTING} is invalid: {error}") from error


def located(spec: GeneratorSpec, environments: Path | None = None) -> GeneratorSpec | None:
    """Return the generator with the Python that can run it, or None where it is not installed."""
    if environments is not None and spec.environment is not None:
        for folder in ("bin/python", "Scripts/python.exe"):
            python = environments / spec.environment / folder
            if python.exists():
                return replace(spec, python=python.absolute())
    if spec.module is None or _importable(spec.module):
        return spec
    return None


def choose(names: Sequence[str], known: Sequence[GeneratorSpec] = CONTROLS) -> list[GeneratorSpec]:
    """Look generators up by name; a path to a Python file is a generator of the user's own."""
    by_name = {spec.name: spec for spec in known}
    chosen = []
    for name in names:
        if name.endswith(".py"):
            path = Path(name).absolute()
            if not path.exists():
                raise ConfigError(f"there is no file {name}; a generator is a file with a class Generator")
            chosen.append(GeneratorSpec(name=path.stem, file=path, family="yours"))
        elif name in by_name:
            chosen.append(by_name[name])
        else:
            raise ConfigError(
                f"there is no generator {name!r}; there are {', '.join(by_name)}, and files ending in .py"
            )
    return chosen


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the parent of a dotted name is missing
        return False
