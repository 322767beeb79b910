"""The schema file: JSON for people to read and edit."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..._runtime.files import replacing
from ...errors import SchemaError

FILE_FORMAT = 1


def write_schema(
    path: str | os.PathLike[str], columns: Sequence[dict[str, Any]], constraints: Sequence[str] | None
) -> None:
    """Write columns and constraints, completely or not at all."""
    content: dict[str, Any] = {"format": FILE_FORMAT, "columns": columns}
    if constraints is not None:
        content["constraints"] = list(constraints)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_schema(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a schema file; an error if the file is not one."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SchemaError(f"there is no file {os.fspath(path)}") from error
    except (OSError, ValueError) as error:
        raise SchemaError(f"{os.fspath(path)} cannot be read as JSON: {error}") from error
    columns = content.get("columns") if isinstance(content, dict) else None
    if not isinstance(columns, list) or not all(isinstance(c, dict) and "name" in c for c in columns):
        raise SchemaError(f"{os.fspath(path)} is not a schema: it lists no columns; write one with ttf schema")
    if content.get("format", FILE_FORMAT) > FILE_FORMAT:
        raise SchemaError(f"{os.fspath(path)} was written by a newer version of tabtreeformer; update it")
    read: dict[str, Any] = content
    return read
