"""The files of a run in progress, from which a killed run can resume and produce the same model.

    run.json                    identity of the run: the table's fingerprint, settings, versions, seed
    tokens.json                 the fingerprint of a table that is read in parts
    clock.json                  seconds spent so far
    trees.checkpoint            trials of the search, then the fitted trees
    shared.checkpoint           state of the shared start
    network_1.checkpoint, …     state of each network
    *.previous.checkpoint       the one before, in case the newest is damaged

A checkpoint is an archive like a model file: JSON and safetensors under checksums, written under another name and
renamed. It contains no rows, but weights and random states from the middle of training: as confidential as the table.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
from torch import Tensor

from ..._runtime.files import check_room, replacing
from ..._runtime.warning import warn
from ...artifact.archive import dump_json, load_json, read_archive, write_archive
from ...errors import ArchiveError, ConfigError, EndedEarlyWarning, OutputError
from ..distributed import ALONE, Team
from ..request import EVERY_SECONDS

MAX_SHARE = 0.02
"""If writing is slow, checkpoints become rarer, so that they take at most this share of the time."""
FORM = "tabtreeformer checkpoint"
MEMBERS = "state.json", "weights.safetensors"
RUN, CLOCK, TOKENS = FILES = "run.json", "clock.json", "tokens.json"

State = dict[str, Any]


@dataclass
class RunFolder:
    """The folder of one run; without a path, a run that leaves nothing behind."""

    path: Path | None = None
    every_seconds: float = EVERY_SECONDS
    note: Callable[[str], None] = lambda message: None
    seconds_before: float = 0.0
    """Time that the run had taken at its last checkpoint."""
    identity: State | None = None
    """Identity of the run in the folder, if there is one."""
    started: float = field(default_factory=time.monotonic)
    team: Team = ALONE
    """Only the first process has a folder; all processes resume from its contents."""

    @classmethod
    def at(
        cls,
        path: str | os.PathLike[str] | None,
        every_seconds: float = EVERY_SECONDS,
        note: Callable[[str], None] = lambda message: None,
        team: Team = ALONE,
    ) -> RunFolder:
        """Open or create a folder; fail now, not in an hour, if it is not writable."""
        if path is None or not team.first:
            return cls(team=team)
        if not every_seconds >= 0:
            raise ConfigError(f"checkpoint_every must be seconds from 0, got {every_seconds!r}")
        folder = Path(path)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)  # without parents: a wrong path should not become a tree of folders
        except OSError as error:
            raise OutputError(f"cannot make the checkpoint folder {folder}: {error.strerror or error}") from error
        clock, identity = _read_json(folder / CLOCK), _read_json(folder / RUN)
        _check_own(folder, clock, identity)
        clock = clock or {"seconds": 0.0}
        _write_json(folder / CLOCK, clock)
        return cls(folder, every_seconds, note, clock["seconds"] if identity else 0.0, identity, team=team)

    @property
    def needed(self) -> bool:
        """Whether the identity of the run matters."""
        return self.path is not None or self.team.size > 1

    @property
    def seconds(self) -> float:
        """Time that the run has taken, excluding interruptions."""
        return self.seconds_before + time.monotonic() - self.started

    @property
    def seed(self) -> int | None:
        """The seed that the run was started with."""
        return None if self.identity is None else int(self.identity["seed"])

    def new_seed(self) -> np.random.SeedSequence:
        """A seed when none was given: the run's own if it is resumed; all processes get the same one."""
        seed = np.random.SeedSequence() if self.seed is None else np.random.SeedSequence(self.seed)
        return np.random.SeedSequence(self.team.share_number(int(str(seed.entropy))))

    def begin(self, identity: State, name: str = RUN) -> None:
        """Record the identity of the run; raise an error if the folder's or another process's differs."""
        self.team.check_same(identity)
        if self.path is None:
            return
        before = _read_json(self.path / name)
        if before is None:
            _write_json(self.path / name, identity)
            return
        if difference := _difference(before, identity):
            raise ConfigError(
                f"the run in {self.path} cannot be continued: {difference}; fit as it was started, or delete the "
                "folder or name another to start again"
            )
        if name == RUN:
            self.note(f"continuing the run in {self.path}, after {self.seconds_before:.0f} s")

    def stage(self, name: str) -> Stage:
        """The checkpoints of one stage."""
        return Stage(self, name)

    def check_room(self, n_bytes: int) -> None:
        """Raise an error before training if there is no room for checkpoints of this size."""
        if self.path is not None:
            check_room(self.path, n_bytes, f"checkpoints in {self.path}")

    def end(self, keep: bool, interrupted: bool) -> None:
        """Clean up after a complete fit; after an interrupted one, warn and say how to resume it."""
        if interrupted:
            with_this = f"{'the same checkpoint_dir' if self.path else 'checkpoint_dir=…'} to be able to continue"
            warn(
                f"the fit was interrupted, and this is the best model so far; fit again with {with_this}",
                EndedEarlyWarning,
            )
        elif not keep:
            self.remove()

    def remove(self) -> None:
        """Delete the files of the run, and the folder if there is nothing else in it."""
        if self.path is None:
            return
        for pattern in ("*.checkpoint", ".*.checkpoint.*.tmp", *FILES, *(f".{name}.*.tmp" for name in FILES)):
            for file in self.path.glob(pattern):
                file.unlink(missing_ok=True)
        if not any(self.path.iterdir()):
            self.path.rmdir()


class Stage:
    """One part of a run, with a file of its own."""

    def __init__(self, folder: RunFolder, name: str) -> None:
        """Name a stage of a run."""
        self._folder, self._name = folder, name
        self._last, self._cost = time.monotonic(), 0.0

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        if self._folder.path is None:
            return False
        every = self._folder.every_seconds
        return time.monotonic() - self._last >= (max(every, self._cost / MAX_SHARE) if every else 0.0)

    def save(self, state: State, tensors: Mapping[str, Tensor] | None = None) -> None:
        """Write the state; a failure is only reported, because a full disk should not end the training."""
        if self._folder.path is None:
            return
        started = time.monotonic()
        cpu = {name: tensor.detach().contiguous().cpu() for name, tensor in (tensors or {}).items()}
        members = dict(zip(MEMBERS, (dump_json(state), safetensors.torch.save(cpu)), strict=True))
        newest, previous = self._files()
        try:
            if newest.exists():
                os.replace(newest, previous)
            write_archive(newest, members, FORM)
            _write_json(self._folder.path / CLOCK, {"seconds": self._folder.seconds})
        except (OutputError, OSError) as error:
            self._folder.note(f"no checkpoint of {self._name} this time, and fitting continues: {error}")
        self._last = time.monotonic()
        self._cost = self._last - started

    def load(self) -> tuple[State, dict[str, Tensor]] | None:
        """The last complete state; None if there is none and the stage starts from scratch."""
        members = self._read()
        team = self._folder.team
        if team.size > 1:
            parts = [team.share(None if members is None else members[name]) for name in MEMBERS]
            members = {name: part for name, part in zip(MEMBERS, parts, strict=True) if part is not None} or None
        if members is None:
            return None
        state, weights = (members[name] for name in MEMBERS)
        return load_json(state), safetensors.torch.load(weights)

    def _read(self) -> dict[str, bytes] | None:
        if self._folder.path is None:
            return None
        for file in self._files():
            try:
                if file.exists():
                    return read_archive(file, form=FORM)
            except ArchiveError as error:
                self._folder.note(f"left out a damaged checkpoint: {error}")
        return None

    def _files(self) -> tuple[Path, Path]:
        assert self._folder.path is not None
        return tuple(self._folder.path / f"{self._name}{age}.checkpoint" for age in ("", ".previous"))  # type: ignore[return-value]


def _check_own(folder: Path, clock: Any, identity: Any) -> None:
    """Refuse a folder in which files with our names are somebody else's: a run replaces and deletes them."""
    no_clock = not (isinstance(clock, dict) and isinstance(clock.get("seconds"), int | float))
    no_run = not (isinstance(identity, dict) and isinstance(identity.get("seed"), str | int))
    foreign = [folder / CLOCK] if clock is not None and no_clock else []
    foreign += [folder / RUN] if identity is not None and (no_run or no_clock) else []
    foreign += list(folder.glob("*.checkpoint")) if clock is None else []
    if foreign:
        raise ConfigError(f"{foreign[0]} is not of a fit, and a run there would replace it; name another folder")


def holds_a_run(path: str | os.PathLike[str]) -> bool:
    """Whether a folder contains an unfinished run."""
    return (Path(path) / RUN).exists()


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first difference, as a sentence."""
    old, new = _flat(load_json(dump_json(before))), _flat(load_json(dump_json(now)))
    for name in [*new, *(name for name in old if name not in new)]:
        if old.get(name) != new.get(name):
            if name == "table":
                return "the table is another one"
            return f"{name.removeprefix('settings.')} was {old.get(name)!r} and is {new.get(name)!r}"
    return None


def _flat(data: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(data, Mapping) or not data:
        return {prefix: data}
    parts = (_flat(value, f"{prefix}.{name}" if prefix else name) for name, value in data.items())
    return {name: value for part in parts for name, value in part.items()}


def _read_json(path: Path) -> Any:
    try:
        return load_json(path.read_bytes()) if path.exists() else None
    except (OSError, ValueError) as error:
        raise ArchiveError(f"cannot read {path}: {error}; delete its folder to start again") from error


def _write_json(path: Path, data: Any) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(dump_json(data))
