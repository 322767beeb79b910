"""`ttf audit`: does a model file contain values of real rows?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._runtime.terminal import printable
from .options import Model, ReadOptions
from .sample_database import is_database

if TYPE_CHECKING:
    from ..privacy.audit import Audit


def audit(
    model: Model,
    reading: ReadOptions,
    train: Annotated[
        str | None,
        typer.Option(
            help="The table that the model was fitted on; without it only the origin of each value is checked.",
            show_default=False,
        ),
    ] = None,
    rare_floor: Annotated[
        int, typer.Option(help="A value in fewer training rows than this counts as rare: it could identify a person.")
    ] = 5,
    unit: Annotated[
        str | None,
        typer.Option(help="For a database: the table whose rows are protected, as in `ttf fit --unit`."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also list every part of the file and the origin of its values.")
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Print the private values that were found.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    r"""Report the origin of every number and text in a model file, and search it for values of real rows.

    Exit code 0: nothing found; 1: something found; 2: the file or the table could not be read.

    \b
    Examples:
      ttf audit people.tabtree
      ttf audit people.tabtree --train people.csv
      ttf audit people.tabtree --train people.csv --show
      ttf audit shop.tabtree --train shop/ --unit customers
    """
    import json

    from ..data.io import read_table
    from ..privacy.audit import audit as walk

    if is_database(model):
        result = _audited_database(model, train, unit, rare_floor, reading)
    else:
        table = None if train is None else read_table(train, **reading.given())
        result = walk(model, table, rare_floor=rare_floor)
    if as_json:
        typer.echo(json.dumps(result.to_json(show), indent=1, ensure_ascii=False))
    else:
        _show(result, show, verbose)
    if not result.passed:
        raise typer.Exit(1)


def _audited_database(model: Path, train: str | None, unit: str | None, floor: int, reading: ReadOptions) -> Audit:
    """Search a database's model file for values that few units have."""
    from ..data.io import read_table
    from ..data.io.several import holds_several, read_tables
    from ..errors import ConfigError
    from ..relational.audit import audit_database

    if train is None:
        raise ConfigError("an audit of a database needs its tables; give its tables with --train")
    options = reading.given()
    tables = read_tables(train, **options) if holds_several(train, **options) else {"": read_table(train, **options)}
    return audit_database(model, tables, unit=unit, rare_floor=floor)


def _show(result: Audit, show: bool, verbose: bool) -> None:
    """Print the verdict, the findings and, with --verbose, the inventory."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    walked = f"{sum(place['count'] for place in result.places):,} numbers and texts"
    against = (
        "origins only; give --train to look for values of real rows"
        if result.rows is None
        else f"compared with {result.rows:,} training rows, values of fewer than {result.rare_floor} are rare"
    )
    verdict = "PASS" if result.passed else "FAIL"
    kinds = f"{len(result.findings)} findings" if result.findings else "nothing found"
    console.print(Text(f"{verdict}  {result.path}: {kinds} in {walked}; {against}"))
    for finding in result.findings:
        console.print(Text(printable(f"FOUND  {finding.kind}: {finding.sentence(show)}")))
    if result.coincidences:
        console.print(
            Text(f"by chance: {result.coincidences:,} numbers match rare values, no more than unrelated numbers would")
        )
    if not verbose:
        console.print(Text(f"--verbose lists all {len(result.places):,} kinds of values and their origins"))
        return
    table = Table("member", "path", "values", "origin", box=None, header_style="bold")
    for place in result.places:
        cells = (place["member"], place["path"], f"{place['count']:,}", f"{place['kind']}: {place['origin']}")
        table.add_row(*(Text(printable(cell)) for cell in cells))
    console.print(table)
