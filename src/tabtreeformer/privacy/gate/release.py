"""What a model that failed may be used for: nothing on the command line, unless a reason is given and recorded.

In Python a failed model only warns: its rows are needed to find out what is wrong with them, and a program that calls
`sample` can read the verdict. The command writes files, which are passed on without the verdict.
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
    """Whether the record of a model says that it failed."""
    privacy = record.get("privacy")
    return isinstance(privacy, Mapping) and privacy.get("verdict") == "fail"


def warn_if_failed(record: Mapping[str, Any]) -> None:
    """Warn about rows of a model that failed."""
    if failed(record):
        warn(
            f"this model failed its privacy verdict ({reasons_of(record['privacy'])}); do not pass its rows on",
            PrivacyWarning,
        )


def known_level(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The level of privacy in the record of a model; None where nothing was measured."""
    level = (record.get("privacy") or {}).get("level")
    return level if isinstance(level, Mapping) else None


def safe_rows(record: Mapping[str, Any]) -> int | None:
    """Up to how many rows of a model its level holds; None where there is no limit, or none of its rows are safe."""
    level = known_level(record)
    return None if level is None or failed(record) or not level["holds"] else level["safe_rows"]


def check_rows(record: Mapping[str, Any], rows: int, accepted: bool) -> None:
    """Refuse more rows than the level holds for, unless the caller accepts that."""
    limit = safe_rows(record)
    if limit is not None and rows > limit and not accepted:
        raise PrivacyError(
            f"{rows:,} rows are more than the level {record['privacy']['level']['name']!r} holds for: safe up to "
            f"{limit:,} rows, as more of them reveal more of who was learned from. Ask for at most {limit:,}, fit with "
            "privacy='strict' or dp=DP(epsilon=…), or accept it (accept_risk=True in Python, "
            '--accept-risk "the reason" on the command line)'
        )


def file_leaks(record: Mapping[str, Any]) -> bool:
    """Whether the record of a model says that its file reveals which rows it learned from."""
    file = (record.get("privacy") or {}).get("file")
    return isinstance(file, Mapping) and bool(file.get("leaks"))


def warn_if_file_leaks(record: Mapping[str, Any]) -> None:
    """Warn about the file of a model that reveals more than its rows do."""
    if file_leaks(record):
        reason = (record["privacy"]["file"].get("reasons") or ["no reason is given"])[0]
        warn(
            f"whoever has this model file can tell which rows it learned from ({reason}); pass rows on, keep the file, "
            "or fit with privacy='strict' or dp=DP(epsilon=…)",
            PrivacyWarning,
        )


def check_release(path: str | os.PathLike[str], record: Mapping[str, Any], accepted: str | None, rows: int) -> bool:
    """Refuse rows of a model that failed, or more than its level holds for, unless a reason is given.

    The reason is recorded in the file first.

    Returns whether a reason was recorded.
    """
    if accepted is not None and not accepted.strip():
        raise ConfigError("--accept-risk needs a reason; it is written into the model file")
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
    """Write into a model file why rows were taken from it in spite of its verdict; whole or not at all."""
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
    """The first few reasons of a verdict; the card has all."""
    reasons = [str(reason) for reason in verdict.get("reasons") or ["no reason is given"]]
    more = [f"and {len(reasons) - SHOWN} more, see ttf card"] if len(reasons) > SHOWN else []
    return "; ".join(reasons[:SHOWN] + more)
