"""`ttf fit-database`: learn tables that belong together and write one model file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from .options import FitOptions, Overwrite, RuntimeOptions
from .outputs import check_output


@dataclass(frozen=True, kw_only=True)
class DatabaseOptions(FitOptions):
    """How tables belong together, and how they are learned."""

    preset: Annotated[
        str, typer.Option(help="auto, or trees: trees that write, in seconds, with little protection.")
    ] = "auto"
    links: Annotated[
        list[str] | None,
        typer.Option(
            "--link",
            metavar="CHILD.COLUMN -> PARENT.KEY",
            help="A link, e.g. 'orders.customer_id -> customers.id'. By default links are found by name, type and "
            "values, and printed. Can be given more than once.",
        ),
    ] = None
    orders: Annotated[
        list[str] | None,
        typer.Option(
            "--order", metavar="TABLE.COLUMN", help="Column by which the rows of a parent are ordered, e.g. a date."
        ),
    ] = None
    dangling: Annotated[
        str, typer.Option(help="Keys that point to no row: error, or missing to learn them as missing.")
    ] = "error"


def fit_database(
    source: Annotated[
        str,
        typer.Argument(
            help="A folder of files, one per table, or a database: shop.duckdb, sqlite:///shop.db.", show_default=False
        ),
    ],
    database: DatabaseOptions,
    runtime: RuntimeOptions,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Model file; by default the source's name with .tabtree.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    r"""Learn tables that belong together: parents and their children, with keys that match.

    \b
    Examples:
      ttf fit-database shop.duckdb -o shop.tabtree
      ttf fit-database folder/ --link "orders.customer_id -> customers.id" --order orders.date
      ttf sample-database shop.tabtree -o new/
    """
    from ..data.io.several import read_tables
    from ..relational import RelationalTabTreeFormer

    path = output or Path(f"{Path(source.rstrip('/')).name.split('.')[0] or 'database'}.tabtree")
    check_output(path, [source], overwrite)
    model = RelationalTabTreeFormer(
        database.preset,
        dangling=database.dangling,
        random_state=database.seed,
        verbose=not runtime.quiet,
        privacy=database.privacy,
        device=runtime.device,
        budget_seconds=database.budget_seconds(),
        **database.sections(),
    )
    model.fit(read_tables(source), database.links, order=_orders(database.orders))
    model.save(path)
    runtime.echo(f"wrote {path}; sample from it with: ttf sample-database {path} -o new/")


def _orders(texts: list[str] | None) -> dict[str, str | int]:
    from ..errors import ConfigError

    orders: dict[str, str | int] = {}
    for text in texts or ():
        table, dot, column = text.partition(".")
        if not dot:
            raise ConfigError(f"--order takes a table and a column, e.g. orders.date, got {text!r}")
        orders[table] = column
    return orders
