"""The machine that runs were made on: cores, memory and versions, without names of hosts or places."""

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
    "realtabformer": "REaLTabFormer", "tabularargn": "mostlyai-engine", "utrees": "utrees",
}  # fmt: skip


def describe(threads: int = 1, device: str = "auto") -> dict[str, object]:
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
        "threads per run": threads,
        "gpu": _gpu() if device == "auto" else None,
        "versions": versions | {package: pinned(name, package) for name, package in RIVALS.items()},
    }


def _gpu() -> str | None:
    """The model of the GPU that runs may use."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def pinned(environment: str, package: str) -> str:
    """The version of a rival in its environment's list."""
    for line in (envs.HERE / f"{environment}.txt").read_text(encoding="utf-8").splitlines():
        name, _, number = line.partition("==")
        if name.lower().replace("_", "-") == package.lower():
            return number
    return "unknown"


def write(path: Path, threads: int = 1, device: str = "auto") -> None:
    """Write the facts next to the results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(describe(threads, device), indent=1) + "\n", encoding="utf-8")
