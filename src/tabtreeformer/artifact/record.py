"""The record in a model file, checked when it is read, so code that prints it need not check it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ArchiveError


@dataclass(frozen=True)
class Maybe:
    """A value that may be missing or null, and otherwise has this form."""

    form: Any


@dataclass(frozen=True)
class Each:
    """A mapping from any names to values of one form."""

    form: Any


@dataclass(frozen=True)
class Pair:
    """A list of two values of one form."""

    form: Any


NUMBER = (int, float)
MAX_ENTRIES, MAX_TEXT, MAX_NUMBER = 1_000_000, 100_000, 2**63
_HISTORY = {
    "name": str,
    "steps": int,
    "rows": int,
    "seconds": NUMBER,
    "best_step": (int, type(None)),
    "validations": [[NUMBER]],
}
_REPEATED = {
    "released": int,
    "members": int,
    "members_repeated": int,
    "others": int,
    "others_repeated": int,
}
_MEASURE = {
    "value": Maybe(NUMBER),
    "goal": Maybe(str),
    "ceiling": Maybe(NUMBER),
    "floor": Maybe(NUMBER),
    "true_positives": Maybe(NUMBER),
    "interval": Maybe(Pair(NUMBER)),
    "auc_interval": Maybe(Pair(NUMBER)),
    "repeated": Maybe(_REPEATED),
}
_FIGURES = {"measures": Maybe(Each(_MEASURE)), "left_out": Maybe(Each(str))}
_LEVEL = {
    "name": str,
    "holds": bool,
    "safe_rows": (int, type(None)),
    "limits": {"auc": NUMBER, "found_at_1_percent": NUMBER},
    "figures": Pair({"rows": int, "auc": NUMBER, "found_at_1_percent": NUMBER}),
}
"""The level of privacy, with the attack for two numbers of rows."""
_PRIVACY = {
    **_FIGURES,
    "verdict": Maybe(str),
    "reasons": Maybe([str]),
    "mode": Maybe(str),
    "level": Maybe(_LEVEL),
    "judged_on": Maybe(str),
    "not_covered": Maybe([str]),
    "file": Maybe({"leaks": Maybe(bool), "reasons": Maybe([str])}),
    "accepted_risk": Maybe([{"reason": str, "rows": int, "time": str}]),
    "memorisation": Maybe(Each((*NUMBER, type(None)))),
    "dp": Maybe(Each((*NUMBER, str))),
}
_COUNT = {"column": int, "merged": Maybe(int), "clipped": Maybe(int), "gaps": Maybe(int)}
_RECORD = {
    "preset": str,
    "target": (str, int, type(None)),
    "rows": int,
    "of_rows": Maybe(int),
    "versions": Each(str),
    "training": [_HISTORY],
    "seed": Maybe((str, int)),
    "fit_seconds": Maybe(NUMBER),
    "tree_seconds": Maybe(NUMBER),
    "networks": Maybe(int),
    "interrupted": Maybe((bool, str)),
    "protected": Maybe({"rare_floor": int, "columns": [_COUNT]}),
    "dialect": Maybe({"sep": str, "decimal": str}),
    "privacy": Maybe(_PRIVACY),
    "quality": Maybe(_FIGURES),
}
"""The form of a record; every mapping may have more names."""


def check_record(record: Any) -> None:
    """Refuse a record in which a required entry is missing or has another form."""
    _check(record, _RECORD, "record")
    if "tabtreeformer" not in record["versions"]:
        raise ArchiveError("its record does not say which version wrote it")
    if record["rows"] < 0 or any(len(v) != 3 for run in record["training"] for v in run["validations"]):
        raise ArchiveError("its record counts no rows, or has validations of another form")


def _check(value: Any, form: Any, path: str) -> None:
    """Compare a value with its form: a type or several, a list of one form, or a mapping with at least these names."""
    if isinstance(form, Maybe):
        if value is not None:
            _check(value, form.form, path)
    elif isinstance(form, Each):
        _of_type(value, (dict,), path)
        for name, entry in value.items():
            _check(entry, form.form, f"{path}.{name[:50]}")
    elif isinstance(form, Mapping):
        _of_type(value, (dict,), path)
        lacking = [name for name, inner in form.items() if name not in value and not isinstance(inner, Maybe)]
        if lacking:
            raise ArchiveError(f"its {path} does not say {', '.join(lacking)}")
        for name, inner in form.items():
            _check(value.get(name), inner, f"{path}.{name}")
    elif isinstance(form, list | Pair):
        _of_type(value, (list,), path)
        if len(value) > MAX_ENTRIES or (isinstance(form, Pair) and len(value) != 2):
            raise ArchiveError(f"its {path} has {len(value):,} entries")
        for place, entry in enumerate(value):
            _check(entry, form.form if isinstance(form, Pair) else form[0], f"{path}[{place}]")
    else:
        _of_type(value, form if isinstance(form, tuple) else (form,), path)


def _of_type(value: Any, types: tuple[type, ...], path: str) -> None:
    """Refuse a value of another type, and texts and numbers of absurd size."""
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ArchiveError(f"its {path} is {type(value).__name__}, not {' or '.join(t.__name__ for t in types)}")
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise ArchiveError(f"its {path} is a text of {len(value):,} letters")
    if isinstance(value, int) and abs(value) > MAX_NUMBER:
        raise ArchiveError(f"its {path} is too large a number")
