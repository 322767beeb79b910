"""The exceptions and warnings of this package.

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
    ├── PrivacyWarning      rows drawn in Python from a model that failed, or a saved file that reveals rows
    ├── ReadingWarning      a guess made while reading a table, and how to override it
    ├── LawWarning      rows that keep the given values but not every law of the table
    └── EndedEarlyWarning   a fit that was interrupted and returns the best model so far

Each message names the object, the value and the remedy, on one line.
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
    """Rows were drawn from a model that failed its privacy verdict, or a file that reveals training rows was saved."""


class EngineError(TabTreeFormerError):
    """A worker in another process failed or died."""


class MissingExtraError(TabTreeFormerError, ImportError):
    """An optional package is needed and not installed."""


class ReadingWarning(UserWarning):
    """Something was guessed while reading a table."""


class LawWarning(UserWarning):
    """Rows keep the given values, and therefore not every law of the table."""


class EndedEarlyWarning(UserWarning):
    """A fit was interrupted and returned the best model so far."""


def import_extra(module: str, extra: str) -> ModuleType:
    """Import an optional package, or raise an error that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{module.split('.')[0]} is not installed; install it with: pip install 'tabtreeformer[{extra}]'"
        ) from error
