"""What a model file records of its own making, checked when it is read: those who print it need not check it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ArchiveError

NUMBER = (int, float)
MAX_ENTRIES = 1_000_000
_HISTORY = {
    "name": str,
    "steps": int,
    "rows": int,
    "seconds": NUMBER,
    "best_step": (int, type(None)),
    "validations": [[NUMBER]],
}
_RECORD = {
    "preset": str,
    "target": (str, int, type(None)),
    "rows": int,
    "versions": {"tabtreeformer": str},
    "training": [_HISTORY],
}
"""What every record has; a mapping may have more."""
_OPTIONAL = {
    "seed": (str, int),
    "fit_seconds": NUMBER,
    "tree_seconds": NUMBER,
    "networks": int,
    "interrupted": (bool, str, type(None)),
    "protected": {"rare_floor": int, "columns": [{"column": int}]},
    "privacy": (dict, type(None)),
    "quality": (dict, type(None)),
}
_LEVEL = {
    "name": str,
    "holds": bool,
    "safe_rows": (int, type(None)),
    "limits": {"auc": NUMBER, "found_at_1_percent": NUMBER},
    "figures": [{"rows": int, "auc": NUMBER, "found_at_1_percent": NUMBER}],
}


def check_record(record: Any) -> None:
    """Refuse a record that lacks what every model knows of itself, or that says it in another form."""
    _check(record, _RECORD, "record")
    for name, form in _OPTIONAL.items():
        if name in record:
            _check(record[name], form, f"record.{name}")
    level = (record.get("privacy") or {}).get("level")
    if level is not None:
        _check(level, _LEVEL, "record.privacy.level")
        if len(level["figures"]) != 2:
            raise ArchiveError("its level of privacy is told for two numbers of rows, or not at all")
    if record["rows"] < 0 or any(len(v) != 3 for run in record["training"] for v in run["validations"]):
        raise ArchiveError("its record counts no rows, or has validations of another form")


def _check(value: Any, form: Any, path: str) -> None:
    """Compare a value with its form: a type or several, a list of one form, or a mapping with at least these names."""
    if isinstance(form, Mapping):
        lacking = [name for name in form if not isinstance(value, dict) or name not in value]
        if lacking:
            raise ArchiveError(f"its {path} does not say {', '.join(lacking)}")
        for name, inner in form.items():
            _check(value[name], inner, f"{path}.{name}")
    elif isinstance(form, list):
        if not isinstance(value, list) or len(value) > MAX_ENTRIES:
            raise ArchiveError(f"its {path} is no list")
        for place, entry in enumerate(value):
            _check(entry, form[0], f"{path}[{place}]")
    else:
        types = form if isinstance(form, tuple) else (form,)
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise ArchiveError(f"its {path} is {type(value).__name__}, not {' or '.join(t.__name__ for t in types)}")
