"""The generators that can be compared: a file each, with a class `Generator` of `fit(df, schema)` and `sample(n)`.

A file is run in the generator's own environment, where this package need not be; it imports nothing of ours unless it
is ours. Packages of others are used with their documented defaults.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...errors import ConfigError

HERE = Path(__file__).parent
OURS, CONTROL, PACKAGE, WRITTEN = "ours", "control", "package", "written here"


@dataclass(frozen=True, kw_only=True)
class GeneratorSpec:
    """Where a generator is found and what has to be known about it."""

    name: str
    file: Path | None
    """None: nothing is generated, real rows that nobody learned from are judged instead."""
    family: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keywords of its class, beside the seed and the budget."""
    environment: str | None = None
    """Name of the virtual environment that it needs; None: the one at hand."""
    module: str | None = None
    """What must be importable there."""
    paper: str | None = None
    """Its name in the paper's tables."""
    note: str = ""
    """What a reader of its numbers should know."""
    python: Path = Path(sys.executable)


def _spec(name: str, family: str, file: str, **rest: Any) -> GeneratorSpec:
    return GeneratorSpec(name=name, family=family, file=HERE / file, **rest)


BUILT_IN: Sequence[GeneratorSpec] = (
    _spec("auto", OURS, "ours.py", options={"preset": "auto"}),
    _spec("S", OURS, "ours.py", options={"preset": "S"}, paper="ttf_s"),
    _spec("L", OURS, "ours.py", options={"preset": "L"}, paper="ttf_l"),
    _spec("NM", OURS, "ours.py", options={"preset": "NM"}, paper="ttf_nm", note="no masks: may repeat real rows"),
    GeneratorSpec(name="holdout", family=CONTROL, file=None, note="real rows that nobody learned from, fewer of them"),
    _spec("identity", CONTROL, "identity.py", note="the training rows themselves"),
    _spec("marginals", CONTROL, "marginals.py", note="every column drawn by itself"),
    _spec("bootstrap", CONTROL, "bootstrap.py", note="training rows drawn again, with noise"),
    _spec("arf", PACKAGE, "arf.py", environment="arf", module="arfpy"),
    _spec("ctgan", PACKAGE, "ctgan_.py", options={"model": "CTGAN"}, environment="ctgan", module="ctgan"),
    _spec("tvae", PACKAGE, "ctgan_.py", options={"model": "TVAE"}, environment="ctgan", module="ctgan"),
    _spec("tabularargn", PACKAGE, "tabularargn.py", environment="tabularargn", module="mostlyai.engine"),
    _spec("forestdiffusion", PACKAGE, "forestdiffusion.py", environment="forestdiffusion", module="ForestDiffusion",
          paper="fd"),
    _spec("realtabformer", PACKAGE, "realtabformer_.py", environment="realtabformer", module="realtabformer",
          paper="rtf"),
    _spec("great", PACKAGE, "great.py", environment="great", module="be_great", paper="great",
          note="not pretrained: the same network from a random start, as its weights come from a hub"),
)  # fmt: skip


def located(spec: GeneratorSpec, environments: Path | None = None) -> GeneratorSpec | None:
    """The generator with the Python that can run it, or None where it is not installed."""
    if environments is not None and spec.environment is not None:
        for folder in ("bin/python", "Scripts/python.exe"):
            python = environments / spec.environment / folder
            if python.exists():
                return replace(spec, python=python.absolute())
    if spec.module is None or _importable(spec.module):
        return spec
    return None


def choose(names: Sequence[str], known: Sequence[GeneratorSpec] = BUILT_IN) -> list[GeneratorSpec]:
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
