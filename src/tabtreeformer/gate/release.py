"""What may be done with a model that failed: nothing on the command line, unless somebody says why; the file says so.

In Python a failed model only warns: rows have to be looked at to find out what is wrong with them, and whoever calls
`sample` in a program can read the verdict there. The command writes files, which are passed on without it.
"""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import Mapping
from typing import Any

from ..archive import dump_json, load_json, read_archive, write_archive
from ..errors import ConfigError, PrivacyError, PrivacyWarning
from ..limits import MEMBERS

MOST_LETTERS = 1_000
SHOWN = 3
"""Reasons that a message names."""


def failed(record: Mapping[str, Any]) -> bool:
    """Whether the record of a model says that it leaks."""
    privacy = record.get("privacy")
    return isinstance(privacy, Mapping) and privacy.get("verdict") == "fail"


def warn_if_failed(record: Mapping[str, Any]) -> None:
    """Warn who takes rows from a model that failed."""
    if failed(record):
        warnings.warn(
            f"this model failed its privacy verdict ({_reasons(record)}); do not pass its rows on", PrivacyWarning, 4
        )


def check_release(path: str | os.PathLike[str], record: Mapping[str, Any], accepted: str | None, rows: int) -> bool:
    """Refuse to write rows of a model that failed, unless a reason is given, which is put on record first.

    Returns whether something was put on record.
    """
    if accepted is not None and not accepted.strip():
        raise ConfigError("--accept-risk needs a reason in words; it is written into the model file")
    if not failed(record):
        return False
    if accepted is None:
        raise PrivacyError(
            f"{os.fspath(path)} failed its privacy verdict: {_reasons(record)}. Fit again (privacy='strict', fewer "
            'steps, more rows), or write rows all the same with --accept-risk "the reason", which the file keeps'
        )
    accept_risk(path, accepted, rows)
    return True


def accept_risk(path: str | os.PathLike[str], reason: str, rows: int) -> None:
    """Write into a model file why rows were taken from it in spite of its verdict; whole or not at all."""
    members = read_archive(path, MEMBERS)
    record = load_json(members["record.json"])
    entry = {
        "reason": reason.strip()[:MOST_LETTERS],
        "rows": rows,
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }
    privacy = record["privacy"]
    privacy["accepted_risk"] = [*(privacy.get("accepted_risk") or ()), entry]
    write_archive(path, {**members, "record.json": dump_json(record)})


def _reasons(record: Mapping[str, Any]) -> str:
    """The first few; the card has all."""
    reasons = [str(reason) for reason in record["privacy"].get("reasons") or ["no reason is given"]]
    more = [f"and {len(reasons) - SHOWN} more, see ttf card"] if len(reasons) > SHOWN else []
    return "; ".join(reasons[:SHOWN] + more)
