"""The release of rows of a failed model: refused on the command line, unless a reason is given and recorded.

In Python a failed model only warns: its rows are needed to find out what is wrong, and programs can read the verdict.
The command line writes files that may be shared without the verdict.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from typing import Any

from ..._runtime.warning import warn
from ...artifact.archive import DATABASE, FORMAT, dump_json, form_of, load_json, read_archive, write_archive
from ...artifact.limits import MEMBERS
from ...errors import ConfigError, PrivacyError, PrivacyWarning

MAX_LETTERS = 1_000
SHOWN = 3
"""Maximum reasons in a message."""


def failed(record: Mapping[str, Any]) -> bool:
    """Whether a model failed, according to its record."""
    privacy = record.get("privacy")
    return isinstance(privacy, Mapping) and privacy.get("verdict") == "fail"


def warn_if_failed(record: Mapping[str, Any]) -> None:
    """Warn about rows of a model that failed."""
    if failed(record):
        warn(
            f"this model failed its privacy verdict ({reasons_of(record['privacy'])}); do not share its rows",
            PrivacyWarning,
        )


def known_level(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The privacy level in the record of a model; None if not measured."""
    level = (record.get("privacy") or {}).get("level")
    return level if isinstance(level, Mapping) else None


def safe_rows(record: Mapping[str, Any]) -> int | None:
    """The number of safe rows of a model; None if there is no limit, or no number is safe."""
    level = known_level(record)
    return None if level is None or failed(record) or not level["holds"] else level["safe_rows"]


def check_rows(record: Mapping[str, Any], rows: int, accepted: bool) -> None:
    """Refuse more rows than the level covers, unless the caller accepts the risk."""
    limit = safe_rows(record)
    if limit is not None and rows > limit and not accepted:
        raise PrivacyError(
            f"{rows:,} rows are more than the level {record['privacy']['level']['name']!r} covers: safe up to "
            f"{limit:,} rows, because more rows reveal more about members. Draw at most {limit:,}, fit with "
            "privacy='strict' or dp=DP(epsilon=…), or accept it (accept_risk=True in Python, "
            '--accept-risk "the reason" on the command line)'
        )


def file_leaks(record: Mapping[str, Any]) -> bool:
    """Whether the file reveals training rows, according to the model's record."""
    file = (record.get("privacy") or {}).get("file")
    return isinstance(file, Mapping) and bool(file.get("leaks"))


def warn_if_file_leaks(record: Mapping[str, Any]) -> None:
    """Warn about a model file that reveals training rows."""
    if file_leaks(record):
        reason = (record["privacy"]["file"].get("reasons") or ["no reason is given"])[0]
        warn(
            f"anyone who has this model file can recognise its training rows ({reason}); share rows instead of the "
            "file, or fit with privacy='strict' or dp=DP(epsilon=…)",
            PrivacyWarning,
        )


def check_release(path: str | os.PathLike[str], record: Mapping[str, Any], accepted: str | None, rows: int) -> bool:
    """Refuse rows of a failed model, or more rows than its level covers, unless a reason is given.

    The reason is recorded in the file first.

    Returns whether a reason was recorded.
    """
    if accepted is not None and not accepted.strip():
        raise ConfigError("--accept-risk needs a reason, which is recorded in the model file")
    limit = safe_rows(record)
    if not failed(record) and (limit is None or rows <= limit):
        return False
    if not failed(record):
        check_rows(record, rows, accepted is not None)
    elif accepted is None:
        raise PrivacyError(
            f"{os.fspath(path)} failed its privacy verdict: {reasons_of(record['privacy'])}. Fit again "
            "(more rows, fewer columns, preset auto, privacy='strict'), or write rows anyway with "
            '--accept-risk "the reason", which is recorded in the file'
        )
    assert accepted is not None
    accept_risk(path, accepted, rows)
    return True


def accept_risk(path: str | os.PathLike[str], reason: str, rows: int) -> None:
    """Record in a model file why rows were written despite its verdict, atomically."""
    form = form_of(path) or FORMAT
    members = read_archive(path, None if form == DATABASE else MEMBERS, form)
    place = "database.json" if form == DATABASE else "record.json"
    record = load_json(members[place])
    entry = {
        "reason": reason.strip()[:MAX_LETTERS],
        "rows": rows,
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }
    privacy = record["privacy"]
    privacy["accepted_risk"] = [*(privacy.get("accepted_risk") or ()), entry]
    write_archive(path, {**members, place: dump_json(record)}, form)


def reasons_of(verdict: Mapping[str, Any]) -> str:
    """The first reasons of a verdict; the card has all."""
    reasons = [str(reason) for reason in verdict.get("reasons") or ["no reason is given"]]
    more = [f"and {len(reasons) - SHOWN} more, see ttf card"] if len(reasons) > SHOWN else []
    return "; ".join(reasons[:SHOWN] + more)
