"""What the runs were made on: cores, memory and versions, no names of hosts or places."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import envs

OURS = ("tabtreeformer", "torch", "numpy", "pandas", "scikit-learn", "lightgbm", "xgboost-cpu")
RIVALS = {
    "arf": "arfpy", "ctgan": "ctgan", "forestdiffusion": "ForestDiffusion", "great": "be-great",
    "realtabformer": "REaLTabFormer", "tabularargn": "mostlyai-engine",
}  # fmt: skip


def describe() -> dict[str, object]:
    """Plain facts."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    versions = {}
    for name in OURS:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "threads per run": 1,
        "versions": versions | {package: pinned(name, package) for name, package in RIVALS.items()},
    }


def pinned(environment: str, package: str) -> str:
    """The version of a rival in its environment's list."""
    for line in (envs.HERE / f"{environment}.txt").read_text(encoding="utf-8").splitlines():
        name, _, number = line.partition("==")
        if name.lower().replace("_", "-") == package.lower():
            return number
    return "unknown"


def write(path: Path) -> None:
    """Write the facts next to the results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(describe(), indent=1) + "\n", encoding="utf-8")
