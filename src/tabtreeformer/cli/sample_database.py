"""`ttf sample-database`: write new tables from a model of a database."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Model, Overwrite, RuntimeOptions


def sample_database(
    model: Model,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="A folder (a name that ends in a slash) or a database.", show_default=False
        ),
    ],
    runtime: RuntimeOptions,
    scale: Annotated[float, typer.Option(help="Size compared with the tables that were learned.")] = 1.0,
    rows: Annotated[
        list[str] | None,
        typer.Option("--rows", metavar="TABLE=N", help="Rows of a table without parents. Can be given more than once."),
    ] = None,
    ending: Annotated[str, typer.Option(help="Ending of the files in a folder: .csv, .parquet, .jsonl.")] = ".csv",
    seed: Annotated[int | None, typer.Option(help="Same seed, same tables.", show_default=False)] = None,
    overwrite: Overwrite = False,
) -> None:
    r"""Write new tables whose keys match, with the columns and types of those that were learned.

    \b
    Examples:
      ttf sample-database shop.tabtree -o new/
      ttf sample-database shop.tabtree -o new.duckdb --scale 0.1 --seed 7
      ttf sample-database shop.tabtree -o new/ --rows customers=500
    """
    from ..data.io.several import check_tables_target, write_tables
    from ..relational import RelationalTabTreeFormer

    fitted = RelationalTabTreeFormer.load(model, device=runtime.device, verbose=not runtime.quiet)
    check_tables_target(output, list(fitted.tables_), ending=ending, overwrite=overwrite)
    tables = fitted.sample(_numbers(rows), scale=scale, random_state=seed)
    named = tables if isinstance(tables, dict) else {"rows": tables}
    write_tables(named, output, ending=ending, overwrite=overwrite)
    runtime.echo(", ".join(f"{name}: {len(table):,} rows" for name, table in named.items()) + f" in {output}")


def _numbers(texts: list[str] | None) -> dict[str, int] | None:
    from ..errors import ConfigError

    numbers: dict[str, int] = {}
    for text in texts or ():
        table, _, number = text.rpartition("=")
        if not table or not number.isdecimal():
            raise ConfigError(f"--rows takes a table and a number, e.g. customers=500, got {text!r}")
        numbers[table] = int(number)
    return numbers or None
