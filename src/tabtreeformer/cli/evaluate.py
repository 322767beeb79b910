"""`ttf evaluate`: judge synthetic rows, whatever tool wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .columns import describe
from .options import SOURCES, Categorical, Decimal, Encoding, Format, Missing, Quiet, Quote, Sep, given

if TYPE_CHECKING:
    from ..evaluation import Evaluation


def evaluate(
    train: Annotated[str, typer.Argument(help=f"The rows that were learned from: {SOURCES}.", show_default=False)],
    synthetic: Annotated[str, typer.Argument(help="The rows to judge.", show_default=False)],
    holdout: Annotated[
        str | None,
        typer.Option(help="Real rows that were not learned from; without them privacy cannot be judged."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Column that users will predict; without it utility cannot be judged.")
    ] = None,
    categorical: Categorical = None,
    schema_file: Annotated[
        Path | None,
        typer.Option("--schema", help="What the columns are: a file that `ttf schema` wrote and you may have edited."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this metric. Can be given more than once. One of utility, shape, trend, detection, "
            "dcr, copies, membership, neighbour_ratio, singling_out, linkability, inference."
        ),
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(help="A column whose values nobody should be able to infer; all, unless some are named."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="The model file that wrote the rows: its own verdict, and risks that were accepted, are shown too.",
            show_default=False,
        ),
    ] = None,
    tuned: Annotated[
        bool, typer.Option("--tuned", help="Tune the models of the utility metric as the paper does; takes minutes.")
    ] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all numbers to this file.")] = None,
    html_file: Annotated[Path | None, typer.Option("--html", help="Write a report to this file.")] = None,
    hide_rows: Annotated[
        bool, typer.Option("--hide-rows", help="Leave out the part of the report that shows real rows.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    sep: Sep = None,
    encoding: Encoding = None,
    quote: Quote = None,
    decimal: Decimal = None,
    missing: Missing = None,
    form: Format = None,
    quiet: Quiet = False,
) -> None:
    r"""Judge synthetic rows: useful, faithful, safe?

    Every number stands beside what real held-out rows score and what independent columns score.

    \b
    Examples:
      ttf evaluate train.csv new.csv --holdout test.csv --target income
      ttf evaluate train.csv new.csv --holdout test.csv --target income --html report.html --json scores.json
    """
    from ..errors import import_extra
    from ..evaluation import evaluate as judge
    from ..files import check_writable, replacing
    from ..progress import Console, Silent
    from ..tables import TableOptions, locate, read_table

    options = given(sep=sep, encoding=encoding, quote=quote, decimal=decimal, missing=missing, format=form)
    for path in (json_file, html_file):
        if path is not None:
            check_writable(path)
    if html_file is not None:
        import_extra("jinja2", "report")
    real, new = read_table(train, **options), read_table(synthetic, **options)
    test = None if holdout is None else read_table(holdout, **options)
    schema = describe(real, target, categorical, schema_file)
    evaluation = judge(
        real,
        test,
        new,
        target=target,
        schema=schema,
        metrics=metric,
        sensitive=sensitive,
        utility="tuned" if tuned else "quick",
        random_state=seed,
        progress=Silent() if quiet else Console(),
    )
    if model is not None:
        evaluation = _beside_the_model(evaluation, model)
    if json_file is not None:
        import json

        with replacing(json_file) as temporary:
            temporary.write_text(json.dumps(evaluation.to_json(), indent=1, ensure_ascii=False), encoding="utf-8")
    if html_file is not None:
        from ..report import write_report

        title = " against ".join(locate(table, TableOptions(**options)).title for table in (synthetic, train))
        write_report(html_file, evaluation, real, test, new, schema=schema, title=title, show_rows=not hide_rows)
    if not quiet:
        _show(evaluation)
        for path in (json_file, html_file):
            if path is not None:
                typer.echo(f"wrote {path}")


def _beside_the_model(evaluation: Evaluation, path: Path) -> Evaluation:
    """Add what a model file says of itself to the facts of an evaluation."""
    from dataclasses import replace

    from ..card import model_card

    privacy = model_card(path)["privacy"] or {}
    facts = {"name": path.name, "verdict": privacy.get("verdict", "not judged")}
    facts |= {name: privacy.get(name) or [] for name in ("reasons", "accepted_risk")}
    return replace(evaluation, facts={**evaluation.facts, "model": facts})


def _show(evaluation: Evaluation) -> None:
    """The scores as a table, and the three verdicts."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..report.verdict import judge

    console = Console(highlight=False)
    table = Table("metric", "synthetic", "real held-out", "independent", "goal", box=None, header_style="bold")
    for name, score in evaluation.scores.items():
        numbers = ("–" if n is None or n != n else f"{n:.3f}" for n in (score.value, score.ceiling, score.floor))
        table.add_row(name, *numbers, {"half": "0.5"}.get(score.goal, score.goal))
    console.print(table)
    for verdict in judge(evaluation):
        console.print(Text(f"{verdict.question} {verdict.word}. {verdict.sentence}"))
    about = evaluation.facts.get("model")
    if about:
        console.print(Text(f"Verdict of {about['name']} when it was fitted: {about['verdict']}."))
        for entry in about["accepted_risk"]:
            console.print(Text(f"Accepted risk ({entry.get('time')}, {entry.get('rows')} rows): {entry.get('reason')}"))
