"""`ttf benchmark`: compare generators on the user's own table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .columns import describe
from .options import SOURCES, ColumnOptions, Overwrite, Quiet, ReadOptions
from .outputs import check_outputs

if TYPE_CHECKING:
    from ..evaluation.compare import GeneratorSpec

DEFAULT = ("auto", "holdout", "identity", "marginals", "bootstrap", "arf", "tvae", "ctgan", "tabularargn")


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions:
    """Which generators to compare, for how long, and where to write the results."""

    target: Annotated[
        str, typer.Option(help="Column that will be predicted from the synthetic rows.", show_default=False)
    ]
    generators: Annotated[
        str | None,
        typer.Option(
            help="Names separated by commas, or files with a class Generator; by default auto, the controls and all "
            "other installed packages. Always available: auto, trees, S, L, NM, holdout, identity, marginals, "
            "bootstrap.",
            show_default=False,
        ),
    ] = None
    generators_from: Annotated[
        Path | None,
        typer.Option(
            help="Folder with more generators (a generators.json and their files), e.g. benchmarks/generators of the "
            "repository; detected if the package runs from a checkout.",
            show_default=False,
        ),
    ] = None
    seeds: Annotated[int, typer.Option(help="Number of splits, and of fits per generator.", min=1)] = 1
    budget: Annotated[
        str, typer.Option(help="Maximum processor time for one fit and its rows, e.g. 90s, 5m or 1h.")
    ] = "10m"
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the comparison page.")] = Path(
        "comparison.html"
    )
    overwrite: Overwrite = False
    results: Annotated[
        Path | None,
        typer.Option(
            help="CSV file of all numbers; a second call adds what is missing. By default next to the page, ending in "
            ".runs.csv."
        ),
    ] = None
    environments: Annotated[
        Path | None,
        typer.Option(
            "--envs",
            help="Folder of virtual environments for generators, as made by `python -m benchmarks envs`.",
        ),
    ] = None


def benchmark(
    table: Annotated[str, typer.Argument(help=f"The table: {SOURCES}.", show_default=False)],
    asked: BenchmarkOptions,
    columns: ColumnOptions,
    reading: ReadOptions,
    quiet: Quiet = False,
) -> None:
    r"""Compare generators on your table: the same rows, the same scores, one page.

    \b
    Examples:
      ttf benchmark people.csv --target income
      ttf benchmark people.csv --target income --generators auto,tvae,mine.py --seeds 3 -o people.html
    """
    from .._runtime.progress import parse_duration
    from ..data.io import read_table
    from ..errors import import_extra
    from ..evaluation.compare import Limits, Results, compare, from_frame

    path = asked.results or asked.output.with_suffix(".runs.csv")
    reads = [
        table,
        columns.schema_file,
        *(name for name in (asked.generators or "").split(",") if name.endswith(".py")),
    ]
    check_outputs([asked.output], [*reads, path], asked.overwrite)
    check_outputs([path, asked.output], reads, True)  # results of an earlier call are extended, not replaced
    import_extra("jinja2", "report")
    df = read_table(table, **reading.given())
    own = from_frame(df, asked.target, Path(table).stem, describe(df, asked.target, columns))
    ready, absent = _ready(asked.generators, asked.environments, asked.generators_from)
    store = Results(path)
    limits = Limits(budget_seconds=parse_duration(asked.budget))
    for note in () if quiet else own.notes:
        typer.echo(note, err=True)
    for run in compare([own], ready, range(asked.seeds), store, limits):
        if not quiet:
            took = f" in {run.values['fit_seconds']:.0f} s" if "fit_seconds" in run.values else ""
            typer.echo(f"{run.generator}, seed {run.seed}: {run.status}{took} {run.message}".rstrip(), err=True)
    _write_page(asked, own, store, ready, absent)
    if not quiet:
        typer.echo(f"wrote {asked.output} and {store.path}")


def _write_page(asked: BenchmarkOptions, own: Any, store: Any, ready: list[GeneratorSpec], absent: list[str]) -> None:
    """Write the page of the requested runs, in the order of the generators."""
    from ..evaluation.compare.page import write_page

    names = [spec.name for spec in ready]
    runs = [r for r in store.runs() if r.table == own.name and r.seed < asked.seeds and r.generator in names]
    facts = {
        "table": own.name, "rows": len(own.frame), "columns": own.frame.shape[1], "target": asked.target,
        "seeds": asked.seeds, "notes": own.notes, "absent": absent,
    }  # fmt: skip
    families = {spec.name: spec.family for spec in ready}
    write_page(asked.output, sorted(runs, key=lambda r: names.index(r.generator)), facts, families)


def _ready(names: str | None, environments: Path | None, folder: Path | None) -> tuple[list[GeneratorSpec], list[str]]:
    """Return the generators that can run here and those that are not installed; an explicitly named one must be
    installed.
    """
    from ..errors import ConfigError
    from ..evaluation.compare import choose, located
    from .generators import known

    available = known(folder)
    if names is None:
        there = {spec.name for spec in available}
        wanted = [name for name in DEFAULT if name in there]
        absent = [name for name in DEFAULT if name not in there]
    else:
        wanted, absent = names.split(","), []
    ready = []
    for spec in choose(wanted, available):
        found = located(spec, environments)
        if found is not None:
            ready.append(found)
        elif names is not None:
            raise ConfigError(
                f"{spec.name} is not installed (no module {spec.module}); install it, or give a folder of "
                "environments with --envs"
            )
        else:
            absent.append(spec.name)
    return ready, absent
