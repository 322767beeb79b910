"""A run that streams rows to disk: parts are written next to the target, which appears when all are complete.

Parts are in a separate folder (`.out.parquet.parts` for `out.parquet`) with `run.json`, which describes the run: the
request, the seed, the model's fingerprint. An interrupted run continues after the complete parts, and only if all of
this is the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..._runtime.files import check_writable, replacing
from ..._runtime.progress import Progress, stage
from ...artifact.archive import write_archive
from ...artifact.fitted import Fitted
from ...data.io.location import Place, TableOptions, locate
from ...errors import ConfigError, OutputError, import_extra
from ..writer import BLOCK
from . import workers as engines
from .parts import check_form, join
from .request import SampleRequest
from .work import WORK, PartWriter, part_name

MAX_CELLS = 4_000_000
"""Maximum number of values in a part, which is held in memory."""
MANY = 100_000
"""Above this number of rows, streaming is the default."""
MIN_PARTS = 64
"""Minimum number of parts, because an interruption loses one of them."""
RUN_FILE, MODEL_FILE = "run.json", "model.tabtree"
FINISHED_FILE = ".finished.json"
"""File in a complete folder of parts that identifies the run. Readers of folders skip hidden files."""


@dataclass(frozen=True)
class StreamTarget:
    """The target of a stream: one file, or a folder of parts."""

    path: Path
    place: Place
    """The file; for a folder, a file with the format of the parts."""
    options: TableOptions
    given_options: Mapping[str, Any]
    one_file: bool

    @property
    def folder(self) -> Path:
        """Folder of the parts until all are complete."""
        return self.path.with_name(f".{self.path.name}.parts")

    @property
    def finished(self) -> bool:
        """Whether a run has completed this folder."""
        return not self.one_file and (self.path / FINISHED_FILE).is_file()


def can_stream(target: str, n: int, **options: Any) -> bool:
    """Whether to stream n rows to this target: if there are many, or it is a folder."""
    if _is_folder(target):
        return True
    chosen = TableOptions(**options)
    place = locate(target, chosen, OutputError)
    try:
        check_form(place, chosen)
    except ConfigError:
        return False
    return n > MANY and not place.is_pipe


def _is_folder(target: str) -> bool:
    return target.endswith(("/", os.sep)) or Path(target).is_dir()


def check_stream_target(target: str | os.PathLike[str], **options: Any) -> StreamTarget:
    """Check a target early; a folder, or a name that ends in a slash, takes parts."""
    text, chosen = os.fspath(target), TableOptions(**options)
    one_file = not _is_folder(text)
    if one_file:
        path, place = Path(text), locate(text, chosen, OutputError)
        if place.is_pipe:
            raise ConfigError(f"{place.name} cannot be continued; name a file to stream rows to")
    else:
        path = Path(text)
        place = locate(path / f"part.{chosen.format or 'parquet'}", chosen, OutputError)
        if path.exists() and not path.is_dir():
            raise OutputError(f"cannot write {text}: {path} is a file; name another folder")
        if path.is_dir() and any(path.iterdir()) and not (path / FINISHED_FILE).is_file():
            raise OutputError(f"cannot write {text}: the folder is not empty; name another, or empty it first")
    check_form(place, chosen)
    if place.form == "parquet":
        import_extra("pyarrow", "parquet")
    check_writable(path if one_file else path.parent / f".{path.name}.probe")
    return StreamTarget(path, place, chosen, options, one_file)


@dataclass(frozen=True)
class Workers:
    """The workers that write the parts: this process, or several of an engine."""

    n: int = 1
    engine: str = "processes"
    work: str = WORK

    @property
    def are_here(self) -> bool:
        """Whether this process is the only worker."""
        return self == Workers()


def stream(
    fitted: Fitted,
    request: SampleRequest,
    target: StreamTarget,
    progress: Progress,
    *,
    batch_size: int | None = None,
    resume: bool = False,
    seeded: bool = True,
    workers: Workers | None = None,
) -> None:
    """Write the rows of a request to a file or folder; `fitted` has the current sampling settings.

    If the user gave no seed (not `seeded`), a continued run keeps its own.
    """
    workers = workers or Workers()
    members = fitted.to_members()
    folder, part_blocks = target.folder, _part_blocks(request.n, len(fitted.schema.names), batch_size)
    run = {
        **request.to_json(),
        "model": _fingerprint(members),
        "part_blocks": part_blocks,
        "block": BLOCK,
        "form": target.place.form,
        "options": dict(target.given_options),
        "one_file": target.one_file,
    }
    if target.finished:
        _check_same(target, run, seeded)
        progress.note(f"{target.path} is complete: all {request.n:,} rows are there, nothing to do")
        return
    run = _open(folder, run, target, resume=resume, seeded=seeded)
    request = replace(request, seed=np.random.SeedSequence(int(run["seed"][0]), spawn_key=tuple(run["seed"][1])))
    settings = _settings(fitted, request, target, run)
    part_rows = run["part_blocks"] * BLOCK
    numbers = range(-(-request.n // part_rows))
    paths = [folder / part_name(number, target.place.ending) for number in numbers]
    left = [number for number in numbers if not paths[number].exists()]
    with stage(progress, "sample", request.n) as advance:
        advance(sum(min(part_rows, request.n - k * part_rows) for k in numbers if k not in set(left)))
        count = _speed(advance)
        if workers.are_here:
            here = PartWriter(fitted, request, settings, count)
            for number in left:
                here.write(number)
        else:
            SampleRequest.from_json(request.to_json())  # raises an error if it cannot be sent to another process
            write_archive(folder / MODEL_FILE, members)
            files = {"model": folder / MODEL_FILE}
            for _, rows in engines.run(workers.work, left, settings, files, engine=workers.engine, workers=workers.n):
                count(rows)
    _finish(folder, paths, target, run)


def _settings(fitted: Fitted, request: SampleRequest, target: StreamTarget, run: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a worker, as plain data."""
    return {
        "request": request.to_json(),
        "part_blocks": run["part_blocks"],
        "folder": str(target.folder.absolute()),
        "name": str(target.place.path),
        "ending": target.place.ending,
        "options": run["options"],
        "one_file": target.one_file,
        "device": str(next(fitted.models[0].parameters()).device) if fitted.models else "cpu",
    }


def _open(folder: Path, run: dict[str, Any], target: StreamTarget, *, resume: bool, seeded: bool) -> dict[str, Any]:
    """Start a run or continue an existing one; returns its description."""
    file = folder / RUN_FILE
    if not file.exists():
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)  # a run that had not started
        folder.mkdir()
        with replacing(file) as temporary:
            temporary.write_text(json.dumps(run, indent=1))
        return run
    if not resume:
        raise OutputError(
            f"an unfinished run to {target.path} is there; continue it with resume=True (--resume), or delete {folder}"
        )
    before: dict[str, Any] = json.loads(file.read_text())
    # A continued run keeps its division into parts and, if the user gave none, its seed.
    free = {"part_blocks"} | (set() if seeded else {"seed"})
    other = [name for name in run if name not in free and json.loads(json.dumps(run[name])) != before.get(name)]
    if other:
        raise ConfigError(
            f"the unfinished run to {target.path} has a different {', '.join(other)}; use the same, or delete {folder}"
        )
    return before


def _check_same(target: StreamTarget, run: Mapping[str, Any], seeded: bool) -> None:
    """Refuse a complete folder that contains other rows than requested."""
    before, now = json.loads((target.path / FINISHED_FILE).read_text()), _digests(run)
    if before.get("asked") != now["asked"] or (seeded and before.get("seeded") != now["seeded"]):
        raise OutputError(
            f"cannot write {target.path}: the folder holds rows of another run; name another, or empty it first"
        )


def _digests(run: Mapping[str, Any]) -> dict[str, str]:
    """Fingerprints that identify a run without revealing the request, because the folder may be shared."""
    asked = {name: value for name, value in run.items() if name not in ("part_blocks", "seed")}
    content = {"asked": asked, "seeded": {**asked, "seed": run["seed"]}}
    return {
        name: hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest() for name, value in content.items()
    }


def _finish(folder: Path, paths: list[Path], target: StreamTarget, run: Mapping[str, Any]) -> None:
    """Create the target from the parts."""
    if target.one_file:
        join(paths, target.path, target.place.form)
        shutil.rmtree(folder)
        return
    with replacing(folder / FINISHED_FILE) as temporary:
        temporary.write_text(json.dumps({"rows": run["n"], **_digests(run)}, indent=1))
    for name in (MODEL_FILE, RUN_FILE):
        (folder / name).unlink(missing_ok=True)
    try:
        os.replace(folder, target.path)
    except OSError as error:
        raise OutputError(
            f"cannot write {target.path}: {error.strerror or error}; the parts are in {folder}"
        ) from error


def _part_blocks(n: int, n_columns: int, batch_size: int | None) -> int:
    rows = batch_size if batch_size is not None else min(MAX_CELLS // n_columns, n // MIN_PARTS)
    return max(1, -(-rows // BLOCK) if batch_size is not None else rows // BLOCK)


def _fingerprint(members: Mapping[str, bytes]) -> str:
    """Fingerprint of a model, without its record."""
    digest = hashlib.sha256()
    for name in sorted(set(members) - {"record.json"}):
        digest.update(name.encode() + hashlib.sha256(members[name]).digest())
    return digest.hexdigest()


def _speed(advance: Callable[..., None]) -> Callable[[int], None]:
    """Count rows and show rows per second."""
    started, done = time.perf_counter(), 0

    def count(rows: int) -> None:
        nonlocal done
        done += rows
        advance(rows, **{"rows/s": f"{done / (time.perf_counter() - started):,.0f}"})

    return count
