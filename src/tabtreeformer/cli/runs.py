"""Resumable runs of `ttf fit`: their folder, how they end, and the disk space for the model."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .outputs import Source, check_not_read, check_output

if TYPE_CHECKING:
    from ..config.settings import Config
    from ..fitting.distributed import Team
    from ..synthesizer import TabTreeFormer
    from .fit_input import FitInput, Paths


def run_folder(output: Path, checkpoint: Path | None, resume: bool) -> Path | None:
    """Return the folder of the run; with `--resume` alone it is next to the model."""
    from ..errors import ConfigError

    folder = checkpoint or (output.with_name(output.name + ".run") if resume else None)
    if folder is None:
        return None
    from ..fitting.checkpoint.folder import holds_a_run

    if not resume and holds_a_run(folder):
        raise ConfigError(f"{folder} holds an unfinished run; continue it with --resume, or delete it to start again")
    return folder


def run_seed(folder: Path | None, seed: int | None, team: Team) -> int | None:
    """Return the seed of a run: a continued run keeps its seed, and a resumable or distributed one needs one."""
    if seed is not None or (folder is None and team.size == 1):
        return seed
    from ..fitting.checkpoint.folder import RunFolder

    return int(str(RunFolder.at(folder, team=team).new_seed().entropy))


def is_finished(output: Path) -> bool:
    """Return whether the model exists and was not left by an interrupted run."""
    record = _record(output)
    return record is not None and not record.get("interrupted")


def check_paths(paths: Paths, reads: Sequence[Source], overwrite: bool, folder: Path | None) -> None:
    """Refuse to replace files, except those that this run wrote when it was interrupted."""
    record = _record(paths.model) if folder is not None else None
    own = record is not None and bool(record.get("interrupted"))
    for path in paths:
        check_output(path, reads, overwrite or own)
    if folder is not None:
        check_not_read(folder, reads)


def _record(output: Path) -> dict[str, Any] | None:
    """Read the record of a model file; None if there is no such file."""
    from ..artifact.archive import read_archive
    from ..artifact.limits import MEMBERS
    from ..errors import ArchiveError

    try:
        record: dict[str, Any] = json.loads(read_archive(output, MEMBERS)["record.json"])
    except (ArchiveError, ValueError):
        return None
    return record


def fit_and_save(
    model: TabTreeFormer, data: FitInput, paths: Paths, folder: Path | None, keep: bool, team: Team
) -> None:
    """Fit, write the files, then delete the checkpoints; of several processes, one writes."""
    from ..errors import EndedEarlyWarning, PrivacyWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EndedEarlyWarning)
        model.fit(data.table, schema=data.schema, holdout=data.holdout, checkpoint_dir=folder, keep_checkpoint=True)
    if team.first:
        _write_parts(data, paths)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)  # the fit has already shown the verdict
            model.save(paths.model)
    if model.fitted_.record.get("interrupted"):
        how = "the same command and --resume" if folder else "--resume from the start, to be able to continue next time"
        if team.first:
            typer.echo(f"ttf: stopped early; wrote the best so far to {paths.model}; fit with {how}", err=True)
        raise typer.Exit(130)
    if folder is not None and not keep:
        from ..fitting.checkpoint.folder import RunFolder

        RunFolder.at(folder, team=team).remove()


def _write_parts(data: FitInput, paths: Paths) -> None:
    """Write the training rows and the rows set aside."""
    from ..data.io import write_table

    if paths.train is not None and paths.holdout is not None:
        write_table(data.table, paths.train)
        write_table(data.holdout, paths.holdout)


def model_bytes(config: Config, n_rows: int, n_columns: int) -> int:
    """Estimate the size of a model file, before trees and codec are known; rather too large than too small."""
    model, tokens = config.model, config.tokens
    layers = model.layers * (4 * model.width**2 + 2 * model.width * model.feed_forward)
    ids = n_columns * (tokens.bins + tokens.quantiles) if model.softmax != "vocabulary" else tokens.quantiles
    n_trees = int(config.tree.params.get("n_estimators", 50)) if config.tree.model != "none" else 0
    weights = 2 * 4 * (layers + 2 * ids * model.width)
    return weights + 4 * n_rows * n_trees
