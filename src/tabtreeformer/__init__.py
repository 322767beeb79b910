"""tabtreeformer: learn a table and write new rows with the same columns, types and statistics.

Names are imported on first use, so that `import tabtreeformer` and `ttf --help` do not wait for PyTorch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .config.presets import PRESETS
    from .config.settings import Config, ForestConfig, ModelConfig, SampleConfig, TokenConfig, TrainConfig, TreeConfig
    from .data.io import read_table, write_table
    from .data.io.chunks import open_chunks
    from .data.schema import Schema
    from .errors import (
        ArchiveError,
        ConditionError,
        ConfigError,
        EndedEarlyWarning,
        EngineError,
        LawWarning,
        MissingExtraError,
        NotFittedError,
        OutputError,
        PrivacyError,
        PrivacyWarning,
        ReadingWarning,
        SchemaError,
        TabTreeFormerError,
    )
    from .evaluation import Evaluation, Score, evaluate
    from .evaluation.databases import evaluate_database
    from .evaluation.report import write_report
    from .model.ordinal import ordinal_embedding, ordinal_loss
    from .privacy.dp import DP
    from .relational import RelationalTabTreeFormer
    from .synthesizer import TabTreeFormer
    from .tokens.conditions import between, eq, ge, gt, isin, le, lt, missing, ne, present

_HOMES = {
    "tokens.conditions": "between eq ge gt isin le lt missing ne present",
    "config.settings": "Config ForestConfig ModelConfig SampleConfig TokenConfig TrainConfig TreeConfig",
    "errors": (
        "ArchiveError ConditionError ConfigError EndedEarlyWarning EngineError LawWarning MissingExtraError "
        "NotFittedError OutputError PrivacyError PrivacyWarning ReadingWarning SchemaError TabTreeFormerError"
    ),
    "evaluation": "Evaluation Score evaluate",
    "config.presets": "PRESETS",
    "privacy.dp": "DP",
    "model.ordinal": "ordinal_embedding ordinal_loss",
    "evaluation.report": "write_report",
    "data.schema": "Schema",
    "relational": "RelationalTabTreeFormer",
    "evaluation.databases": "evaluate_database",
    "synthesizer": "TabTreeFormer",
    "data.io": "read_table write_table",
    "data.io.chunks": "open_chunks",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
"""Module of each public name."""

__all__ = [
    "DP",
    "PRESETS",
    "ArchiveError",
    "ConditionError",
    "Config",
    "ConfigError",
    "EndedEarlyWarning",
    "EngineError",
    "Evaluation",
    "ForestConfig",
    "LawWarning",
    "MissingExtraError",
    "ModelConfig",
    "NotFittedError",
    "OutputError",
    "PrivacyError",
    "PrivacyWarning",
    "ReadingWarning",
    "RelationalTabTreeFormer",
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
    "evaluate_database",
    "ge",
    "gt",
    "isin",
    "le",
    "lt",
    "missing",
    "ne",
    "open_chunks",
    "ordinal_embedding",
    "ordinal_loss",
    "present",
    "read_table",
    "write_report",
    "write_table",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
