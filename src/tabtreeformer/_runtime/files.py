"""Writing files whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from ..errors import OutputError


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name beside `path`; it becomes `path` if the block succeeds and is deleted otherwise."""
    path = Path(path)
    check_writable(path)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        yield temporary
        _settle(temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _settle(path: Path) -> None:
    """Wait until the file is on disk: after a power cut, its name must not exist without its content."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def check_writable(path: str | os.PathLike[str], n_bytes: int = 0) -> None:
    """Raise an error early if a file cannot be written or has no room, rather than after hours of work."""
    path = Path(path)
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a folder; name a file in it")
    if not path.parent.is_dir():
        raise OutputError(f"cannot write {path}: the folder {path.parent} does not exist; create it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"cannot write {path}: the folder {path.parent} is not writable")
    if path.exists() and not os.access(path, os.W_OK):
        raise OutputError(f"cannot write {path}: the file is write-protected; unlock it or name another")
    check_room(path.parent, n_bytes, str(path))


def check_room(folder: Path, n_bytes: int, what: str, way_out: str = "make room or name another place") -> None:
    """Raise an error before the work if a disk has no room for this many bytes."""
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        raise OutputError(
            f"cannot write {what}: it needs about {n_bytes / 2**20:,.0f} MiB and {folder} has {free / 2**20:,.0f} MiB "
            f"free; {way_out}"
        )
