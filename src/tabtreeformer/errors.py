"""Every error that this package raises on purpose.

    TabTreeFormerError
    ├── ConfigError         an invalid setting (also a ValueError)
    ├── SchemaError         a table that cannot be used, or does not match the fitted one (also a ValueError)
    ├── ConditionError      a condition that no row can meet (also a ValueError)
    ├── NotFittedError      sample or save before fit (also a ValueError and an AttributeError, as in scikit-learn)
    ├── ArchiveError        a model file that is damaged, foreign or newer than this version
    ├── OutputError         a file that cannot be written
    ├── PrivacyError        rows of a model that failed its privacy verdict
    ├── EngineError         a worker in another process that failed or died
    └── MissingExtraError   an optional package that is not installed (also an ImportError)

    UserWarning
    ├── PrivacyWarning      rows taken in Python from a model that failed, or a file saved that reveals rows
    ├── ReadingWarning      a guess that was made while reading a table, and how to say otherwise
    ├── LawWarning          rows that keep what was given and not every law of the table
    └── EndedEarlyWarning   a fit that was interrupted and returns the best model so far

A message names the thing, the value and the way out, on one line.
"""

from __future__ import annotations

import importlib
from types import ModuleType


class TabTreeFormerError(Exception):
    """Base of all errors of this package."""


class ConfigError(TabTreeFormerError, ValueError):
    """An invalid setting."""


class SchemaError(TabTreeFormerError, ValueError):
    """A table that cannot be used, or one that does not match the fitted one."""


class ConditionError(TabTreeFormerError, ValueError):
    """A condition that no row can meet."""


class NotFittedError(TabTreeFormerError, ValueError, AttributeError):
    """The model has to be fitted first."""


class ArchiveError(TabTreeFormerError):
    """A model file that cannot be read."""


class OutputError(TabTreeFormerError):
    """A file that cannot be written."""


class PrivacyError(TabTreeFormerError):
    """Rows of a model that failed its privacy verdict."""


class PrivacyWarning(UserWarning):
    """Rows were taken from a model that failed its privacy verdict, or a file was written that reveals its rows."""


class EngineError(TabTreeFormerError):
    """A worker in another process failed or died."""


class MissingExtraError(TabTreeFormerError, ImportError):
    """An optional package is needed and not installed."""


class ReadingWarning(UserWarning):
    """Something was guessed while reading a table."""


class LawWarning(UserWarning):
    """Rows keep what was given, and so not every law of the table."""


class EndedEarlyWarning(UserWarning):
    """A fit was interrupted, and what it returns is the best so far."""


def import_extra(module: str, extra: str) -> ModuleType:
    """Import an optional package, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{module.split('.')[0]} is not installed; install it with: pip install 'tabtreeformer[{extra}]'"
        ) from error
