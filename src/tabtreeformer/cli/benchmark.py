"""`ttf benchmark`: generators side by side on a table of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .columns import describe
from .options import SOURCES, Categorical, Decimal, Encoding, Format, Missing, Quiet, Quote, Sep, given

if TYPE_CHECKING:
    from ..compare import GeneratorSpec

DEFAULT = ("auto", "holdout", "identity", "marginals", "bootstrap", "arf", "tvae", "ctgan", "tabularargn")


def benchmark(
    table: Annotated[str, typer.Argument(help=f"The table: {SOURCES}.", show_default=False)],
    target: Annotated[str, typer.Option(help="Column that users of the rows will predict.", show_default=False)],
    generators: Annotated[
        str | None,
        typer.Option(
            help="Names with commas between, or files with a class Generator; by default those that are installed. "
            "Known: auto, S, L, NM, holdout, identity, marginals, bootstrap, arf, ctgan, tvae, tabularargn, "
            "forestdiffusion, realtabformer, great.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Splits and fits a generator.", min=1)] = 1,
    budget: Annotated[str, typer.Option(help="Most processor time of a fit and its rows, as 90s, 5m or 1h.")] = "10m",
    output: Annotated[Path, typer.Option("--output", "-o", help="The comparison page.")] = Path("comparison.html"),
    results: Annotated[
        Path | None,
        typer.Option(
            help="All numbers as CSV, which a second call completes; by default beside the page, ending in .runs.csv."
        ),
    ] = None,
    environments: Annotated[
        Path | None,
        typer.Option(
            "--envs", help="Folder of virtual environments of generators, as python -m benchmarks makes them."
        ),
    ] = None,
    categorical: Categorical = None,
    schema_file: Annotated[
        Path | None,
        typer.Option("--schema", help="What the columns are: a file that `ttf schema` wrote and you may have edited."),
    ] = None,
    sep: Sep = None,
    encoding: Encoding = None,
    quote: Quote = None,
    decimal: Decimal = None,
    missing: Missing = None,
    form: Format = None,
    quiet: Quiet = False,
) -> None:
    r"""Compare generators on your table: the same rows, the same judge, one page.

    \b
    Examples:
      ttf benchmark people.csv --target income
      ttf benchmark people.csv --target income --generators auto,tvae,mine.py --seeds 3 -o people.html
    """
    from ..compare import Limits, Results, compare, from_frame
    from ..compare.page import write_page
    from ..errors import import_extra
    from ..files import check_writable
    from ..progress import parse_duration
    from ..tables import read_table

    check_writable(output)
    import_extra("jinja2", "report")
    options = given(sep=sep, encoding=encoding, quote=quote, decimal=decimal, missing=missing, format=form)
    df = read_table(table, **options)
    own = from_frame(df, target, Path(table).stem, describe(df, target, categorical, schema_file))
    ready, absent = _ready(generators, environments)
    store = Results(results or output.with_suffix(".runs.csv"))  # page.csv may well be the table
    limits = Limits(budget_seconds=parse_duration(budget))
    for note in () if quiet else own.notes:
        typer.echo(note, err=True)
    for run in compare([own], ready, range(seeds), store, limits):
        if not quiet:
            took = f" in {run.values['fit_seconds']:.0f} s" if "fit_seconds" in run.values else ""
            typer.echo(f"{run.generator}, seed {run.seed}: {run.status}{took} {run.message}".rstrip(), err=True)
    runs = [r for r in store.runs() if r.table == own.name and r.seed < seeds]
    names = [spec.name for spec in ready]
    runs = sorted((r for r in runs if r.generator in names), key=lambda r: names.index(r.generator))
    facts = {
        "table": own.name, "rows": len(own.frame), "columns": own.frame.shape[1], "target": target, "seeds": seeds,
        "notes": own.notes, "absent": absent,
    }  # fmt: skip
    write_page(output, runs, facts, {spec.name: spec.family for spec in ready})
    if not quiet:
        typer.echo(f"wrote {output} and {store.path}")


def _ready(names: str | None, environments: Path | None) -> tuple[list[GeneratorSpec], list[str]]:
    """The generators that can run here; what was asked for by name and cannot is an error."""
    from ..compare import choose, located
    from ..errors import ConfigError

    ready, absent = [], []
    for spec in choose(DEFAULT if names is None else names.split(",")):
        found = located(spec, environments)
        if found is not None:
            ready.append(found)
        elif names is not None:
            raise ConfigError(
                f"{spec.name} is not installed: there is no module {spec.module} here; install it, or name a folder of "
                "environments with --envs"
            )
        else:
            absent.append(spec.name)
    return ready, absent
