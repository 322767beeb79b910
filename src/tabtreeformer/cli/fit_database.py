"""`ttf fit-database`: learn tables that belong together and write one model file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Overwrite, RuntimeOptions
from .outputs import check_output


@dataclass(frozen=True, kw_only=True)
class DatabaseOptions:
    """How tables belong together, and how they are learned."""

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
    preset: Annotated[
        str, typer.Option(help="auto, or trees: trees that write, in seconds, with little protection.")
    ] = "auto"
    privacy: Annotated[str, typer.Option(help="balanced, strict or off.")] = "balanced"
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.FIELD=VALUE", help="Any setting, e.g. train.steps=200."),
    ] = None
    budget: Annotated[
        str | None, typer.Option(help="Fit within about this time, shared by the tables, e.g. 5m.", show_default=False)
    ] = None
    seed: Annotated[int | None, typer.Option(help="Same seed, same model.", show_default=False)] = None


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
    from .._runtime.progress import parse_duration
    from ..config.override import parse_settings
    from ..data.io.several import read_tables
    from ..relational import RelationalTabTreeFormer

    path = output or Path(f"{Path(source.rstrip('/')).name.split('.')[0] or 'database'}.tabtree")
    check_output(path, [source], overwrite)
    sections: dict[str, Any] = dict(parse_settings(database.settings or ()))
    model = RelationalTabTreeFormer(
        database.preset,
        dangling=database.dangling,
        random_state=database.seed,
        verbose=not runtime.quiet,
        privacy=database.privacy,
        device=runtime.device,
        budget_seconds=None if database.budget is None else parse_duration(database.budget),
        **sections,
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
