"""The folders that a program may use: whatever the request, it reads and writes nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import ConfigError, OutputError


class Folders:
    """Folders named by the user; links that lead out of them count as outside."""

    def __init__(self, paths: Sequence[str | Path]) -> None:
        if not paths:
            raise ConfigError("name at least one folder that may be read and written")
        self.roots = tuple(Path(path).resolve() for path in paths)
        for given, root in zip(paths, self.roots, strict=True):
            if not root.is_dir():
                raise ConfigError(f"{given} is not a folder; name folders that exist")

    def existing(self, path: str) -> Path:
        """An existing file inside, to be read."""
        found = self._inside(path)
        if not found.is_file():
            raise ConfigError(f"there is no file {path}; these folders may be used: {self}")
        return found

    def new(self, path: str) -> Path:
        """A new file inside, to be written; nothing is ever replaced."""
        found = self._inside(path)
        if found.exists():
            raise OutputError(f"{path} exists already; name a new file")
        if not found.parent.is_dir():
            raise OutputError(f"there is no folder {found.parent}; name a file in a folder that exists")
        return found

    def _inside(self, path: str) -> Path:
        if "\0" in path:
            raise ConfigError("a path must not contain a null character")
        # Relative paths start at the first folder.
        found = (self.roots[0] / path).resolve()
        if not any(found.is_relative_to(root) for root in self.roots):
            raise ConfigError(f"{path} is outside the folders that may be used: {self}")
        return found

    def __str__(self) -> str:
        return ", ".join(map(str, self.roots))
