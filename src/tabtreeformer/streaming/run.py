"""A run that streams rows to disk: parts beside the target, which appears when all are there.

Parts stand in a folder of their own (`.out.parquet.parts` beside `out.parquet`) with `run.json`, which says what is
being written: the rows, the seed, the model's fingerprint. A run that ended early goes on after the last whole parts,
and only if all of this is the same.
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

from .. import engines
from ..archive import write_archive
from ..errors import ConfigError, OutputError, import_extra
from ..files import check_writable, replacing
from ..fitted import Fitted
from ..generation import BLOCK
from ..progress import Progress, stage
from ..tables.place import Place, TableOptions, locate
from .parts import check_form, join
from .request import Request
from .work import WORK, PartWriter, part_name

MOST_CELLS = 4_000_000
"""A part has at most so many values: it is held in memory as a whole."""
MANY = 100_000
"""More rows than this are streamed where nobody says."""
LEAST_PARTS = 64
"""Parts are smaller where the rows would make fewer: what an interruption loses is one of them."""
RUN_FILE, MODEL_FILE = "run.json", "model.tabtree"


@dataclass(frozen=True)
class StreamTarget:
    """Where rows are streamed to: one file, or a folder of parts."""

    path: Path
    place: Place
    """The file, or what a part is called like."""
    options: TableOptions
    given_options: Mapping[str, Any]
    one_file: bool

    @property
    def folder(self) -> Path:
        """Where parts are until all are there."""
        return self.path.with_name(f".{self.path.name}.parts")


def can_stream(target: str, n: int, **options: Any) -> bool:
    """Whether n rows are better streamed there than held in memory: many of them, or a folder."""
    if _is_folder(target):
        return True
    chosen = TableOptions(**options)
    try:
        check_form(locate(target, chosen, OutputError), chosen)
    except ConfigError:
        return False
    return n > MANY


def _is_folder(target: str) -> bool:
    return target.endswith(("/", os.sep)) or Path(target).is_dir()


def check_stream_target(target: str | os.PathLike[str], **options: Any) -> StreamTarget:
    """Say early that rows cannot be streamed there; a name that ends in a slash, or a folder, takes parts."""
    text, chosen = os.fspath(target), TableOptions(**options)
    one_file = not _is_folder(text)
    if one_file:
        path, place = Path(text), locate(text, chosen, OutputError)
    else:
        path = Path(text)
        place = locate(path / f"part.{chosen.format or 'parquet'}", chosen, OutputError)
        if path.is_dir() and any(path.iterdir()):
            raise OutputError(f"cannot write {text}: the folder is not empty; name another, or empty it first")
    check_form(place, chosen)
    if place.form == "parquet":
        import_extra("pyarrow", "parquet")
    check_writable(path if one_file else path.parent / f".{path.name}.probe")
    return StreamTarget(path, place, chosen, options, one_file)


def stream(
    fitted: Fitted,
    request: Request,
    target: StreamTarget,
    progress: Progress,
    *,
    batch_size: int | None = None,
    resume: bool = False,
    seeded: bool = True,
    workers: int = 1,
    engine: str = "processes",
    work: str = WORK,
) -> None:
    """Write the rows of a request to a file or folder; `fitted` has the settings of sampling that hold now.

    Where the seed was not chosen by anyone (not `seeded`), a run that goes on keeps the one that it had.
    """
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
    run = _open(folder, run, target, resume=resume, seeded=seeded)
    request = replace(request, seed=np.random.SeedSequence(int(run["seed"][0]), spawn_key=tuple(run["seed"][1])))
    settings = {
        "request": request.to_json(),
        "part_blocks": run["part_blocks"],
        "folder": str(folder.absolute()),
        "name": str(target.place.path),
        "ending": target.place.ending,
        "options": run["options"],
        "one_file": target.one_file,
        "device": str(next(fitted.models[0].parameters()).device),
    }
    part_rows = run["part_blocks"] * BLOCK
    numbers = range(-(-request.n // part_rows))
    paths = [folder / part_name(number, target.place.ending) for number in numbers]
    left = [number for number in numbers if not paths[number].exists()]
    with stage(progress, "sample", request.n) as advance:
        advance(sum(min(part_rows, request.n - k * part_rows) for k in numbers if k not in set(left)))
        count = _speed(advance)
        if workers == 1 and engine == "processes" and work == WORK:
            here = PartWriter(fitted, request, settings, count)
            for number in left:
                here.write(number)
        else:
            Request.from_json(request.to_json())  # what another process cannot read is said here
            write_archive(folder / MODEL_FILE, members)
            files = {"model": folder / MODEL_FILE}
            for _, rows in engines.run(work, left, settings, files, engine=engine, workers=workers):
                count(rows)
    _finish(folder, paths, target)


def _open(folder: Path, run: dict[str, Any], target: StreamTarget, *, resume: bool, seeded: bool) -> dict[str, Any]:
    """Start a run, or take up the one that is there; returns what holds for it."""
    file = folder / RUN_FILE
    if not file.exists():
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)  # a run that had not even begun
        folder.mkdir()
        with replacing(file) as temporary:
            temporary.write_text(json.dumps(run, indent=1))
        return run
    if not resume:
        raise OutputError(
            f"an unfinished run to {target.path} is there; go on with resume=True (--resume), or delete {folder}"
        )
    before: dict[str, Any] = json.loads(file.read_text())
    # How the rows are cut into parts, and a seed that nobody chose, are those of the run that goes on.
    free = {"part_blocks"} | (set() if seeded else {"seed"})
    other = [name for name in run if name not in free and json.loads(json.dumps(run[name])) != before.get(name)]
    if other:
        raise ConfigError(
            f"the unfinished run to {target.path} was of another {', '.join(other)}; ask for the same, or delete "
            f"{folder}"
        )
    return before


def _finish(folder: Path, paths: list[Path], target: StreamTarget) -> None:
    """Make the target of the parts."""
    if target.one_file:
        join(paths, target.path, target.place.form)
        shutil.rmtree(folder)
        return
    for name in (MODEL_FILE, RUN_FILE):
        (folder / name).unlink(missing_ok=True)
    try:
        os.replace(folder, target.path)
    except OSError as error:
        raise OutputError(
            f"cannot write {target.path}: {error.strerror or error}; the parts are in {folder}"
        ) from error


def _part_blocks(n: int, n_columns: int, batch_size: int | None) -> int:
    rows = batch_size if batch_size is not None else min(MOST_CELLS // n_columns, n // LEAST_PARTS)
    return max(1, -(-rows // BLOCK) if batch_size is not None else rows // BLOCK)


def _fingerprint(members: Mapping[str, bytes]) -> str:
    """What tells a model from others that write other rows; what is noted in its record changes none."""
    digest = hashlib.sha256()
    for name in sorted(set(members) - {"record.json"}):
        digest.update(name.encode() + hashlib.sha256(members[name]).digest())
    return digest.hexdigest()


def _speed(advance: Callable[..., None]) -> Callable[[int], None]:
    """Count rows, and say how many a second since now."""
    started, done = time.perf_counter(), 0

    def count(rows: int) -> None:
        nonlocal done
        done += rows
        advance(rows, **{"rows/s": f"{done / (time.perf_counter() - started):,.0f}"})

    return count
