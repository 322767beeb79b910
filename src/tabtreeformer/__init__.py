"""tabtreeformer: learn a table, write new rows that look, behave and type exactly like it.

Names are imported when first used, so that `import tabtreeformer` and `ttf --help` do not wait for PyTorch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .conditions import between, eq, ge, gt, isin, le, lt, missing, ne, present
    from .config import Config, ModelConfig, SampleConfig, TokenConfig, TrainConfig, TreeConfig
    from .errors import (
        ArchiveError,
        ConditionError,
        ConfigError,
        MissingExtraError,
        NotFittedError,
        OutputError,
        PrivacyError,
        PrivacyWarning,
        SchemaError,
        TabTreeFormerError,
    )
    from .evaluation import Evaluation, Score, evaluate
    from .presets import PRESETS
    from .private import DP
    from .report import write_report
    from .schema import Schema
    from .synthesizer import TabTreeFormer
    from .tables import read_table, write_table
    from .tables.chunks import open_chunks

__all__ = [
    "DP",
    "PRESETS",
    "ArchiveError",
    "ConditionError",
    "Config",
    "ConfigError",
    "Evaluation",
    "MissingExtraError",
    "ModelConfig",
    "NotFittedError",
    "OutputError",
    "PrivacyError",
    "PrivacyWarning",
    "SampleConfig",
    "Schema",
    "SchemaError",
    "Score",
    "TabTreeFormer",
    "TabTreeFormerError",
    "TokenConfig",
    "TrainConfig",
    "TreeConfig",
    "__version__",
    "between",
    "eq",
    "evaluate",
    "ge",
    "gt",
    "isin",
    "le",
    "lt",
    "missing",
    "ne",
    "open_chunks",
    "present",
    "read_table",
    "write_report",
    "write_table",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in (
            "errors",
            "conditions",
            "config",
            "presets",
            "schema",
            "tables",
            "tables.chunks",
            "evaluation",
            "report",
            "private",
            "synthesizer",
        ):
            module = importlib.import_module(f".{home}", __name__)
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
