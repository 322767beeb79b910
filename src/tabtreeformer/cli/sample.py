"""`ttf sample`: write rows from a model file."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .conditions import CONDITION, named, read_conditions, read_mix
from .options import SOURCES, AcceptRisk, Model, RuntimeOptions, TargetOptions
from .outputs import check_output, check_table_output
from .sample_database import TogetherOptions, is_database, sample_together

if TYPE_CHECKING:
    from ..synthesizer import TabTreeFormer
    from ..tokens import TableCodec


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """Which rows to draw, and how many."""

    number: Annotated[
        list[str] | None,
        typer.Option(
            "-n",
            "--rows",
            metavar="N",
            help="Number of rows. For a database, the number for a table without parents: customers=500; by default "
            "as many as learned.",
            show_default=False,
        ),
    ] = None
    conditions: Annotated[
        list[str] | None,
        typer.Option("--given", metavar="COLUMN=CONDITION", help=f"{CONDITION} Can be given more than once."),
    ] = None
    balance: Annotated[
        str | None, typer.Option(help="Draw the classes of this column equally often.", show_default=False)
    ] = None
    mix: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN=CLASS:SHARE,…", help="Draw the classes of a column in these shares, e.g. class=a:0.3,b:0.7."
        ),
    ] = None
    start_keys: Annotated[
        int | None,
        typer.Option(
            help="Rows written earlier, whose keys are taken: new keys continue after them.", show_default=False
        ),
    ] = None
    keys: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=TABLE",
            help="Use the keys in the column of this name of a table, e.g. customer_id=customers.csv. Can be given "
            "more than once.",
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="sampling.FIELD=VALUE",
            help="Change a sampling setting, e.g. sampling.temperature_category=1.",
        ),
    ] = None
    seed: Annotated[
        int | None, typer.Option(help="Random seed; the same seed gives the same rows.", show_default=False)
    ] = None

    @property
    def reads(self) -> list[str]:
        """The tables whose keys are taken."""
        return [text.partition("=")[2] for text in self.keys or ()]

    def read(self, fitted: TabTreeFormer) -> dict[str, Any]:
        """Return the arguments of `sample`, matched to the model's columns and values."""
        table = fitted.fitted_.codec
        return {
            "given": read_conditions(self.conditions, table) if self.conditions else None,
            "balance": None if self.balance is None else named(self.balance, table),
            "mix": None if self.mix is None else read_mix(self.mix, table),
            "start_keys": self.start_keys,
            "keys": dict(_chosen_keys(text, table) for text in self.keys) if self.keys else None,
        }


def _chosen_keys(text: str, table: TableCodec) -> tuple[str | int, list[Any]]:
    """Read `customer_id=customers.csv` as a column and its values in that table."""
    from ..data.io import read_table
    from ..errors import ConfigError

    column, _, source = text.partition("=")
    name = named(column, table)
    if not source:
        raise ConfigError(f"--keys {text!r} names no table; write it as COLUMN=TABLE, e.g. customer_id=customers.csv")
    keys = read_table(source)
    if column not in keys:
        raise ConfigError(
            f"--keys {text!r}: {source} has no column {column!r}, only {', '.join(map(str, keys.columns))}"
        )
    return name, keys[column].dropna().drop_duplicates().tolist()


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """How to write many rows in parts."""

    batch_size: Annotated[
        int | None,
        typer.Option(help="Stream: rows per part; one part at a time is in memory.", show_default=False),
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run with the same output.")] = False
    workers: Annotated[int, typer.Option(help="Stream: number of local processes or Ray actors.")] = 1
    engine: Annotated[str, typer.Option(help="Where the workers run: local processes, or ray.")] = "processes"

    @property
    def asked(self) -> bool:
        """Return whether any of these options was given."""
        return self != StreamOptions()


def sample(
    model: Model,
    output: Annotated[
        str, typer.Option("--output", "-o", help=f"Where to write the rows: {SOURCES}.", show_default=False)
    ],
    question: QuestionOptions,
    streaming: StreamOptions,
    together: TogetherOptions,
    target: TargetOptions,
    runtime: RuntimeOptions,
    accept_risk: AcceptRisk = None,
) -> None:
    r"""Write exactly the requested number of new rows, all of which meet the conditions.

    More than 100,000 rows are streamed to .csv, .jsonl and .parquet: memory use stays constant, and an interrupted run
    continues with --resume. A folder (a name that ends in a slash) gets one file per part. The same seed gives the same
    rows, however they are written.

    \b
    Examples:
      ttf sample model.tabtree -n 1000 -o new.csv
      ttf sample model.tabtree -n 1000 -o new.parquet --seed 7
      ttf sample model.tabtree -n 100000000 -o parts/ --seed 7 --workers 2
      ttf sample model.tabtree -n 1000 -o "sqlite:///shop.db" --table new_orders
      ttf sample model.tabtree -n 500 -o new.csv --given sex=Female --given age=30..40 --given "hours=>=40"
      ttf sample model.tabtree -n 500 -o new.csv --given "state=CA,NY" --given "job=!=none" --given note=missing
      ttf sample model.tabtree -n 500 -o new.csv --balance class
      ttf sample shop.tabtree -o new/             # all tables of a database
      ttf sample shop.tabtree -o new.duckdb -n customers=500 --given customers.country=DE --children orders=3
      ttf sample failed.tabtree -n 500 -o new.csv --accept-risk "stays in this room, for a unit test"
      ttf sample model.tabtree -n 500 -o new.csv --mix "class=a:0.3,b:0.7"
    """
    import time

    from ..privacy.gate import check_release

    options = target.given()
    if is_database(model):
        sample_together(model, output, question, together, options, runtime, accept_risk)
        return
    rows = _one_number(question.number)
    goal = _goal(output, rows, [model, *question.reads], streaming, options)
    if goal.finished_file:
        runtime.echo(f"{goal.name} is complete, nothing to continue; write it again with --overwrite")
        return
    fitted = runtime.load(model)
    _set_sampling(fitted, question.settings)
    if check_release(model, fitted.fitted_.record, accept_risk, rows):
        runtime.echo(f"the privacy verdict does not allow these rows; your reason was recorded in {model}", err=True)
    started = time.perf_counter()
    _write(fitted, output, rows, question, streaming if goal.streamed else None, options)
    if goal.finished_folder:
        return  # the run has already reported this
    speed = "" if streaming.resume else f" ({rows / (time.perf_counter() - started):,.0f} rows/s)"
    runtime.echo(
        f"wrote {rows:,} rows × {len(fitted.fitted_.schema.names)} columns to {goal.name}{speed}", err=output == "-"
    )


def _one_number(texts: list[str] | None) -> int:
    from ..errors import ConfigError

    if not texts:
        raise ConfigError("give the number of rows with -n, e.g. -n 1000")
    try:
        return int(texts[-1])
    except ValueError:
        raise ConfigError(f"-n takes a whole number, got {texts[-1]!r}") from None


@dataclass(frozen=True)
class _Goal:
    """The output of a run, and what already exists there."""

    name: str
    streamed: bool = False
    finished_file: bool = False
    """Whether the file that `--resume` would continue is already complete."""
    finished_folder: bool = False


def _goal(output: str, rows: int, reads: list[Any], streaming: StreamOptions, options: dict[str, Any]) -> _Goal:
    """Check the target before anything is computed for it."""
    from ..sampling.streaming import can_stream, check_stream_target

    if not (streaming.asked or can_stream(output, rows, **options)):
        return _Goal(check_table_output(output, reads, options).name)
    target, overwrite = check_stream_target(output, **options), bool(options.get("overwrite"))
    if target.one_file and streaming.resume and not overwrite and target.path.exists() and not target.folder.exists():
        return _Goal(str(target.path), streamed=True, finished_file=True)
    if target.one_file:
        check_output(target.path, reads, overwrite)
    return _Goal(str(target.path), streamed=True, finished_folder=target.finished)


def _set_sampling(fitted: TabTreeFormer, settings: list[str] | None) -> None:
    """Change sampling settings; all others are fixed by the fit."""
    from ..config.override import parse_settings
    from ..errors import ConfigError

    sections = parse_settings(settings or ())
    if set(sections) - {"sampling"}:
        raise ConfigError(f"only sampling settings can change after fitting, got {', '.join(sections)}")
    if sections:
        fitted.set_params(sampling={**dataclasses.asdict(fitted.fitted_.config.sampling), **sections["sampling"]})


def _write(
    fitted: TabTreeFormer,
    output: str,
    rows: int,
    question: QuestionOptions,
    streaming: StreamOptions | None,
    options: dict[str, Any],
) -> None:
    """Draw the rows and write them, in parts if `streaming` asks for it."""
    import warnings

    from ..data.io import write_table
    from ..errors import PrivacyWarning

    asked = question.read(fitted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # `check_release` has already asked for a reason
        if streaming is not None:
            parts = dataclasses.asdict(streaming)
            fitted.sample_to(output, rows, question.seed, accept_risk=True, **asked, **parts, **options)
        else:
            write_table(fitted.sample(rows, question.seed, accept_risk=True, **asked), output, **options)
