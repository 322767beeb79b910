"""`ttf schema`: what the columns of a table are, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .columns import describe
from .options import (
    SOURCES,
    Categorical,
    Decimal,
    Encoding,
    Format,
    Missing,
    Query,
    Quiet,
    Quote,
    Sep,
    Sheet,
    TableName,
    given,
)

if TYPE_CHECKING:
    from ..schema import Schema


def schema(
    table: Annotated[str, typer.Argument(help=f"The table: {SOURCES}.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the schema to this file, to edit and to fit with.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column that users of the rows will predict.")] = None,
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="For differential privacy: leave out reasons and relations, which tell of rows. Check that all the "
            "rest (kinds, dtypes, forms, lists of categories) may be known.",
        ),
    ] = False,
    categorical: Categorical = None,
    sep: Sep = None,
    encoding: Encoding = None,
    quote: Quote = None,
    decimal: Decimal = None,
    missing: Missing = None,
    form: Format = None,
    query: Query = None,
    table_name: TableName = None,
    sheet: Sheet = None,
    quiet: Quiet = False,
) -> None:
    r"""Show the kind of each column and why, and the relations that hold in every row.

    Kinds: numeric, categorical, boolean, datetime, timedelta, identifier, text, constant. In the file, change a "kind",
    give a text column a "placeholder", drop or add "constraints", then fit with it.

    \b
    Examples:
      ttf schema data.csv -o schema.json
      ttf fit data.csv --schema schema.json
      ttf schema data.csv --public -o schema.json
    """
    import dataclasses

    from ..constraints import find_constraints
    from ..files import check_writable
    from ..tables import read_table

    if output is not None:
        check_writable(output)
    options = given(
        sep=sep, encoding=encoding, quote=quote, decimal=decimal, missing=missing, format=form, query=query,
        table=table_name, sheet=sheet,
    )  # fmt: skip
    df = read_table(table, **options)
    found = describe(df, target, categorical)
    if public:
        columns = tuple(dataclasses.replace(column, why="") for column in found.columns)
        found = dataclasses.replace(found, columns=columns, constraints=())
    else:
        found = dataclasses.replace(found, constraints=find_constraints(df, found))
    if output is not None:
        found.save(output)
    if not quiet:
        _show(found)
        if output is not None:
            typer.echo(f"wrote {output}; edit it, then fit with: ttf fit {table} --schema {output}")


def _show(found: Schema) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    table = Table("column", "kind", "dtype", "why", box=None, header_style="bold")
    for column in found.columns:
        table.add_row(*(Text(str(cell)) for cell in (column.name, column.kind, column.dtype, column.why)))
    console.print(table)
    for text in found.constraints or ():
        console.print(Text(f"holds in every row: {text}"))
