"""Folders for temporary files that a killed process cannot leave behind for good.

A folder belongs to the process that holds the lock on its file `owner`; the system releases the lock when the process
ends, however it ends. Whoever creates the next folder beside it removes those that nobody owns.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ..errors import OutputError

try:
    import fcntl
except ImportError:  # Windows: no such locks, so nothing is cleaned up for others
    fcntl = None  # type: ignore[assignment]

PREFIX = "tabtree-"
OWNER = "owner"


class Scratch:
    """A folder of temporary files, until it is removed or its process ends."""

    def __init__(self, parent: str | os.PathLike[str] | None = None) -> None:
        place = Path(tempfile.gettempdir() if parent is None else parent)
        remove_orphans(place)
        try:
            # Under another name until it is locked, so that nobody mistakes it for an orphan.
            new = Path(tempfile.mkdtemp(prefix=f".new-{PREFIX}", dir=place))
            self._owner = (new / OWNER).open("w")
            _lock(self._owner)
            self.path = new.with_name(new.name.removeprefix(".new-"))
            new.rename(self.path)
        except OSError as error:
            raise OutputError(f"cannot write to the folder for temporary files: {error}") from error

    def remove(self) -> None:
        """Delete the folder and everything in it."""
        self._owner.close()
        shutil.rmtree(self.path, ignore_errors=True)


@contextlib.contextmanager
def scratch_folder(parent: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """A folder that is deleted when the block ends."""
    scratch = Scratch(parent)
    try:
        yield scratch.path
    finally:
        scratch.remove()


def remove_orphans(place: Path) -> None:
    """Delete folders of processes that were killed."""
    if fcntl is None or not place.is_dir():
        return
    for folder in place.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, or being removed right now
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / OWNER).open("r+") as owner:
                _lock(owner)
                shutil.rmtree(folder, ignore_errors=True)


def _lock(file: IO[str]) -> None:
    """Take the lock, or raise `OSError` if another process has it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
