"""Runs of `ttf fit` that can go on: where their folder is, how they end, and whether a model will have room."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ..config import Config
    from ..synthesizer import TabTreeFormer
    from ..training.team import Team


def run_folder(output: Path, checkpoint: Path | None, resume: bool) -> Path | None:
    """The folder of the run, beside the model if only `--resume` says that there is one."""
    from ..errors import ConfigError
    from ..training.checkpoint import holds_a_run

    folder = checkpoint or (output.with_name(output.name + ".run") if resume else None)
    if folder is not None and not resume and holds_a_run(folder):
        raise ConfigError(f"{folder} holds an unfinished run; go on with --resume, or delete it to start anew")
    return folder


def run_seed(folder: Path | None, seed: int | None, team: Team) -> int | None:
    """A run that goes on keeps its seed; one that may have to, or has several processes, needs one."""
    from ..training.checkpoint import RunFolder

    if seed is not None or (folder is None and team.size == 1):
        return seed
    return int(str(RunFolder.at(folder, team=team).new_seed().entropy))


def fit_and_save(
    model: TabTreeFormer, df: Any, schema: Any, held: Any, output: Path, folder: Path | None, keep: bool, team: Team
) -> None:
    """Fit, write the model, and only then let go of what a new attempt would need; one of several processes writes."""
    from ..errors import EndedEarlyWarning
    from ..training.checkpoint import RunFolder

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EndedEarlyWarning)
        model.fit(df, schema, held, checkpoint_dir=folder, keep_checkpoint=True)
    if team.first:
        model.save(output)
    if model.fitted_.record.get("interrupted"):
        how = "the same command and --resume" if folder else "--resume from the start, to be able to go on next time"
        if team.first:
            typer.echo(f"ttf: stopped early; wrote the best so far to {output}; fit with {how}", err=True)
        raise typer.Exit(130)
    if folder is not None and not keep:
        RunFolder.at(folder, team=team).remove()


def model_bytes(config: Config, n_rows: int, n_columns: int) -> int:
    """About what a model file takes, before trees and codec are known: on the large side."""
    model, tokens = config.model, config.tokens
    layers = model.layers * (4 * model.width**2 + 2 * model.width * model.feed_forward)
    ids = n_columns * (tokens.bins + tokens.quantiles) if model.softmax == "allowed" else tokens.quantiles
    n_trees = int(config.tree.params.get("n_estimators", 50)) if config.tree.model != "none" else 0
    weights = 2 * 4 * (layers + 2 * ids * model.width)
    return weights + 4 * n_rows * n_trees
