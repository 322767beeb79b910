"""`ttf fit`: learn a table and write a model file."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .fit_database import TogetherOptions, fit_together
from .fit_input import InputOptions, Paths, read_input, where
from .options import SOURCES, ColumnOptions, FitOptions, Overwrite, RuntimeOptions, SourceOptions
from .outputs import files_in
from .runs import check_paths, fit_and_save, is_finished, run_folder, run_seed

if TYPE_CHECKING:
    from ..privacy.dp import DP
    from ..synthesizer import TabTreeFormer


@dataclass(frozen=True, kw_only=True)
class LearnOptions(FitOptions):
    """What to learn from one table, with which model and which protection."""

    target: Annotated[
        str | None,
        typer.Option(
            help="Column that will be predicted from the rows; chosen at random if not given.", show_default=False
        ),
    ] = None
    tree: Annotated[str | None, typer.Option(help="lightgbm (default), xgboost, catboost, decision_tree or none.")] = (
        None
    )
    sensitive: Annotated[
        list[str] | None,
        typer.Option(help="A column whose values must not be inferable; by default every column."),
    ] = None
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Fit under differential privacy with this epsilon, e.g. 4: it limits what the model can reveal about "
            "any one row. Needs --schema, which declares what is public.",
            show_default=False,
        ),
    ] = None
    delta: Annotated[
        float | None,
        typer.Option(
            help="With --epsilon: probability that the guarantee fails; by default 1 / (2 rows²).",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Where to write the model, and how to continue an interrupted run."""

    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Model file to write; by default the table's name with .tabtree."),
    ] = None
    overwrite: Overwrite = False
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for a checkpoint every minute, for --resume; as confidential as the table, deleted at the "
            "end.",
            show_default=False,
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue an interrupted run, or start one that can be continued. Its folder is --checkpoint, by "
            "default MODEL.run.",
        ),
    ] = False
    keep_checkpoint: Annotated[
        bool, typer.Option("--keep-checkpoint", help="Do not delete the checkpoints at the end.")
    ] = False


def fit(
    table: Annotated[
        str,
        typer.Argument(
            help=f"The table: {SOURCES}; or a folder of files. A database or a folder of different tables is learned "
            "as linked tables.",
            show_default=False,
        ),
    ],
    learning: LearnOptions,
    together: TogetherOptions,
    columns: ColumnOptions,
    run: RunOptions,
    reading: InputOptions,
    source: SourceOptions,
    runtime: RuntimeOptions,
) -> None:
    r"""Learn a table and write a model file.

    \b
    Examples:
      ttf fit data.csv --target income -o model.tabtree
      ttf fit data.csv --target income --preset L --seed 7
      ttf fit data.csv --target income --privacy strict --sensitive diagnosis --holdout 0.1
      ttf fit "sqlite:///shop.db" --query "select * from orders where year = 2024" -o orders.tabtree
      ttf fit trips.csv --constraint "fare > 0" --constraint "if payment = 'cash' then tip = 0"
      ttf fit data.csv --schema schema.json --set train.steps=500 --drop-missing
      ttf fit folder/of/parquet --target income -o big.tabtree --cache-dir /scratch
      ttf fit data.csv --preset L --resume        # run it again to continue after Ctrl-C, a crash or a kill
      ttf fit shop.duckdb -o shop.tabtree         # all tables; links are detected
      ttf fit folder/ --link "orders.customer_id -> customers.id" --order orders.date
      ttf fit visits.csv --group patient --order day
      ttf fit data.csv --schema schema.json --epsilon 4 --delta 1e-6

    \b
    Ctrl-C or SIGTERM while the networks train writes the best model so far and exits with 130; a second one stops
    at once. An existing model is replaced only with --overwrite.
    """
    if together.asked(table, source):
        fit_together(table, together, learning, columns, run, reading, source, runtime)
        return
    team = _team(learning)
    quiet = runtime.quiet or not team.first
    paths = where(table, run.output, source, reading.holdout is not None)
    folder = run_folder(paths.model, run.checkpoint, run.resume)
    if run.resume and not run.overwrite and is_finished(paths.model):
        if not quiet:
            typer.echo(f"{paths.model} is finished, nothing to continue; fit it again with --overwrite")
        return
    if team.first:
        check_paths(paths, [table, columns.schema_file, *files_in(source.query)], run.overwrite, folder)
    seed = run_seed(folder, learning.seed, team)
    model = build_model(learning, runtime.device, seed, quiet)
    data = read_input(table, learning, columns, reading, source, seed=seed, quiet=quiet)
    if team.first:
        data.check_room(paths.model, learning.preset, model_sections(learning))
    fit_and_save(model, data, paths, folder, run.keep_checkpoint, team)
    if not quiet:
        _report(model, paths, learning.target)


def _team(learning: LearnOptions) -> Any:
    """Return the team of processes that torchrun started; a tree-only fit needs one process and no PyTorch."""
    from ..config.presets import writes_trees
    from ..fitting.request import Alone

    if learning.epsilon is None and writes_trees(learning.preset, learning.privacy, model_sections(learning)):
        return Alone()
    from ..fitting.distributed import join

    return join()


def model_sections(learning: LearnOptions) -> dict[str, Any]:
    """Return the settings by section, including the tree model."""
    sections = learning.sections()
    if learning.tree is not None:
        sections.setdefault("tree", {})["model"] = learning.tree
    return sections


def build_model(learning: LearnOptions, device: str, seed: int | None, quiet: bool) -> TabTreeFormer:
    """Build the synthesizer; invalid settings are refused before the table is read."""
    from ..config.presets import check_privacy
    from ..synthesizer import TabTreeFormer

    return TabTreeFormer(
        learning.preset,
        learning.target,
        **model_sections(learning),
        constraints=learning.constraints,
        budget_seconds=learning.budget_seconds(),
        privacy=check_privacy(learning.privacy),
        sensitive=learning.sensitive,
        dp=_promise(learning.epsilon, learning.delta),
        device=device,
        random_state=seed,
        verbose=not quiet,
    )


def _promise(epsilon: float | None, delta: float | None) -> DP | None:
    """Return the requested differential privacy, if any."""
    from ..errors import ConfigError
    from ..privacy.dp import DP

    if epsilon is None and delta is not None:
        raise ConfigError("--delta has no effect without --epsilon")
    return None if epsilon is None else DP(epsilon=epsilon, delta=delta)


def _report(model: TabTreeFormer, paths: Paths, target: str | None) -> None:
    """Print what was learned and written, and the next commands to run."""
    record, n_columns = model.fitted_.record, len(model.fitted_.schema.names)
    typer.echo(f"learned {record['rows']:,} rows × {n_columns} columns in {record['fit_seconds']:.1f} s")
    typer.echo(f"wrote {paths.model}; sample from it with: ttf sample {paths.model} -n {record['rows']} -o new.csv")
    if paths.train is not None:
        words = "" if target is None else f" --target {shlex.quote(target)}"
        typer.echo(f"learned the rows in {paths.train} and set aside those in {paths.holdout}; evaluate new rows with:")
        typer.echo(f"ttf evaluate {paths.train} new.csv --holdout {paths.holdout}{words} --html report.html")
