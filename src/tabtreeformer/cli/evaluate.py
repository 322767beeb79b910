"""`ttf evaluate`: score synthetic rows, written by any tool."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .columns import describe
from .options import SOURCES, ColumnOptions, Overwrite, Quiet, ReadOptions
from .outputs import check_outputs

if TYPE_CHECKING:
    from ..evaluation import Evaluation


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """What to measure, which reference rows to use, and where to write the results."""

    holdout: Annotated[
        str | None,
        typer.Option(help="Real rows that the generator was not fitted on; privacy cannot be measured without them."),
    ] = None
    target: Annotated[
        str | None, typer.Option(help="Column that users will predict; utility cannot be measured without it.")
    ] = None
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="Compute only this metric. Can be given more than once. One of utility, shape, trend, detection, "
            "laws, grain, detection_derived, shape_unseen, trend_unseen, detection_unseen, dcr, copies, "
            "membership, membership_density, neighbour_ratio, singling_out, linkability, inference."
        ),
    ] = None
    sensitive: Annotated[
        list[str] | None,
        typer.Option(help="A column whose values must not be inferable; by default every column."),
    ] = None
    model: Annotated[
        Path | None,
        typer.Option(
            help="The model file that wrote the rows: its verdict and accepted risks are added to the report.",
            show_default=False,
        ),
    ] = None
    tuned: Annotated[
        bool, typer.Option("--tuned", help="Tune the models of the utility metric, as in the paper; takes minutes.")
    ] = False
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all numbers to this file.")] = None
    html_file: Annotated[Path | None, typer.Option("--html", help="Write a report to this file.")] = None
    overwrite: Overwrite = False
    hide_rows: Annotated[
        bool, typer.Option("--hide-rows", help="Omit the part of the report that shows real rows.")
    ] = False
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same numbers.")] = 0


def evaluate(
    train: Annotated[str, typer.Argument(help=f"The training rows: {SOURCES}.", show_default=False)],
    synthetic: Annotated[str, typer.Argument(help="The synthetic rows.", show_default=False)],
    asked: EvaluateOptions,
    columns: ColumnOptions,
    reading: ReadOptions,
    quiet: Quiet = False,
) -> None:
    r"""Score synthetic rows: useful, faithful, safe?

    Every score is shown next to that of real held-out rows and of a baseline with independent columns.

    \b
    Examples:
      ttf evaluate train.csv new.csv --holdout test.csv --target income
      ttf evaluate train.csv new.csv --holdout test.csv --target income --html report.html --json scores.json
    """
    from .._runtime.progress import Console, Silent
    from ..data.io import read_table
    from ..errors import import_extra
    from ..evaluation import evaluate as measure

    reads = [train, synthetic, asked.holdout, asked.model, columns.schema_file]
    check_outputs([asked.json_file, asked.html_file], reads, asked.overwrite)
    if asked.html_file is not None:
        import_extra("jinja2", "report")
    options = reading.given()
    real, new = read_table(train, **options), read_table(synthetic, **options)
    test = None if asked.holdout is None else read_table(asked.holdout, **options)
    schema = describe(real, asked.target, columns)
    evaluation = measure(
        real,
        test,
        new,
        target=asked.target,
        schema=schema,
        metrics=asked.metric,
        sensitive=asked.sensitive,
        utility="tuned" if asked.tuned else "quick",
        random_state=asked.seed,
        progress=Silent() if quiet else Console(),
    )
    evaluation = _about_the_tables(evaluation, (train, asked.holdout, synthetic), options)
    if asked.model is not None:
        evaluation = _beside_the_model(evaluation, asked.model)
    title = _title(synthetic, train, options)
    _write(evaluation, (real, test, new), asked, schema=schema, title=title)
    if not quiet:
        _show(evaluation)
        for path in (asked.json_file, asked.html_file):
            if path is not None:
                typer.echo(f"wrote {path}")


def _title(synthetic: str, train: str, options: dict[str, Any]) -> str:
    from ..data.io import TableOptions, locate

    return " against ".join(locate(table, TableOptions(**options)).title for table in (synthetic, train))


def _about_the_tables(evaluation: Evaluation, names: tuple[str | None, ...], options: dict[str, Any]) -> Evaluation:
    """Add the names of the tables, without their folders, to the evaluation's metadata."""
    from dataclasses import replace

    from ..data.io import TableOptions, locate

    roles = ("training rows", "held-out rows", "synthetic rows")
    found = {
        role: locate(name, TableOptions(**options)).title
        for role, name in zip(roles, names, strict=True)
        if name is not None
    }
    return replace(evaluation, facts={**evaluation.facts, "tables": found})


def _write(evaluation: Evaluation, tables: tuple[Any, Any, Any], asked: EvaluateOptions, **about: Any) -> None:
    """Write the numbers and the report if requested."""
    import json

    from .._runtime.files import replacing

    if asked.json_file is not None:
        with replacing(asked.json_file) as temporary:
            temporary.write_text(json.dumps(evaluation.to_json(), indent=1, ensure_ascii=False), encoding="utf-8")
    if asked.html_file is not None:
        from ..evaluation.report import write_report

        write_report(asked.html_file, evaluation, *tables, **about, show_rows=not asked.hide_rows)


def _beside_the_model(evaluation: Evaluation, path: Path) -> Evaluation:
    """Add the model file's verdict and accepted risks to the evaluation's metadata."""
    from dataclasses import replace

    from ..privacy.card import model_card

    card = model_card(path)
    privacy, model = card["privacy"] or {}, card["model"]
    facts: dict[str, Any] = {"name": path.name, "verdict": privacy.get("verdict", "not judged")}
    facts["about"] = {
        "preset": str(model["preset"]),
        "learned": f"{card['data']['rows']:,} rows",
        **({"fitted in": f"{model['fit_seconds']:.0f} s"} if model.get("fit_seconds") else {}),
        "by tabtreeformer": str(card["versions"].get("tabtreeformer", "of unknown version")),
    }
    facts |= {name: privacy.get(name) or [] for name in ("reasons", "accepted_risk")}
    return replace(evaluation, facts={**evaluation.facts, "model": facts})


def _show(evaluation: Evaluation) -> None:
    """The scores as a table, and the three verdicts."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..evaluation.report.verdict import verdicts

    console = Console(highlight=False)
    table = Table("metric", "synthetic", "real held-out", "independent", "goal", box=None, header_style="bold")
    for name, score in evaluation.scores.items():
        numbers = ("–" if n is None or n != n else f"{n:.3f}" for n in (score.value, score.ceiling, score.floor))
        table.add_row(name, *numbers, {"half": "0.5"}.get(score.goal, score.goal))
    console.print(table)
    for verdict in verdicts(evaluation):
        console.print(Text(f"{verdict.question} {verdict.word}. {verdict.sentence}"))
    about = evaluation.facts.get("model")
    if about:
        console.print(Text(f"Verdict of {about['name']} when it was fitted: {about['verdict']}."))
        for entry in about["accepted_risk"]:
            console.print(Text(f"Accepted risk ({entry.get('time')}, {entry.get('rows')} rows): {entry.get('reason')}"))
