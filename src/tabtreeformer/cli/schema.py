"""`ttf schema`: the kind of each column, and why."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._runtime.terminal import printable, wrapped
from .columns import with_categories
from .options import SOURCES, Categorical, Overwrite, Quiet, SourceOptions
from .outputs import check_output, files_in

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ..data.schema import Schema

FILE_WIDTH = 200
"""Characters per line when the output is not a terminal, so that a reason fits on one line."""
NONE_KEPT = "(none kept)"
"""What is shown of a column none of whose values a model would keep."""
WIDE = 110
"""Characters per line that a table of all facts needs; a narrower terminal gets two lines per column."""
FLOOR = 5
"""Minimum number of rows of a value that a law may name; the default of a fit."""


def schema(
    table: Annotated[str, typer.Argument(help=f"The table: {SOURCES}.", show_default=False)],
    source: SourceOptions,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the schema to this file, to edit and to use in a fit.")
    ] = None,
    overwrite: Overwrite = False,
    target: Annotated[str | None, typer.Option(help="Column that will be predicted from the rows.")] = None,
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="For differential privacy: omit reasons and laws, which reveal something about the rows. Check that "
            "everything else (kinds, dtypes, forms, lists of categories) may be public.",
        ),
    ] = False,
    categorical: Categorical = None,
    quiet: Quiet = False,
) -> None:
    r"""Show the kind of each column and why, and the laws between columns that hold always or nearly always.

    Kinds: numeric, categorical, boolean, datetime, timedelta, identifier, text, constant. In the file, change a "kind",
    give a text column a "placeholder", drop or add "constraints", then fit with it.

    \b
    Examples:
      ttf schema data.csv -o schema.json
      ttf fit data.csv --schema schema.json
      ttf schema data.csv --public -o schema.json
    """
    import numpy as np

    from ..data.io import read_table
    from ..data.schema import Schema
    from ..laws import find_laws

    if output is not None:
        check_output(output, [table, *files_in(source.query)], overwrite)
    df = read_table(table, **source.given())
    found = with_categories(Schema.infer(df, target), categorical)
    said: tuple[str, ...] = ()
    if public:
        columns = tuple(dataclasses.replace(column, why="") for column in found.columns)
        found = dataclasses.replace(found, columns=columns, constraints=())
    else:
        laws = find_laws(found.validate(df), found, floor=FLOOR, rng=np.random.default_rng(0))
        found, said = dataclasses.replace(found, constraints=laws.texts), laws.announced()
    if output is not None:
        found.save(output)
    if not quiet:
        _show(found, said, None if public else df)
        if output is not None:
            typer.echo(f"wrote {output}; edit it, then fit with: ttf fit {table} --schema {output}")


def _examples(series: pd.Series, meaning: str | None) -> str:
    """Return up to three of the most frequent values, leaving out those that no model would keep."""
    from ..data.schema.meanings import PERSONAL

    if meaning in PERSONAL:
        return NONE_KEPT
    counts = series.value_counts()
    frequent = counts.index[counts >= FLOOR][:3]
    return ", ".join(f"{value!s:.20}" for value in frequent) or NONE_KEPT


def _show(found: Schema, said: tuple[str, ...], df: pd.DataFrame | None) -> None:
    """Print the columns and, unless `--public`, the share of missing values and examples of frequent values."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    names = ("column", "kind", "dtype", *(() if df is None else ("missing", "e.g.")), "why")
    rows = []
    for column in found.columns:
        shown = (
            () if df is None else (f"{df[column.name].isna().mean():.1%}", _examples(df[column.name], column.meaning))
        )
        kind = column.kind if column.meaning is None else f"{column.kind} ({column.meaning})"
        rows.append(tuple(map(printable, (column.name, kind, column.dtype, *shown, column.why))))
    if console.width < WIDE:
        _show_narrow(console, names, rows)
    else:
        table = Table(*names, box=None, header_style="bold")
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
    for text in map(printable, said):
        console.print(Text(wrapped(text, console.width) if console.is_terminal else text))


def _show_narrow(console: Console, names: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Two lines per column: facts under their names, then examples and the reason."""
    from rich.text import Text

    n_facts = len(names) - 1 if len(names) == 4 else 4
    widths = [max(len(row[k]) for row in (names, *rows)) for k in range(n_facts)]
    for row in (names, *rows):
        facts = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        rest = row[n_facts:]
        said = f"{rest[-1]}; frequent: {rest[0]}" if len(rest) == 2 and rest[0] != NONE_KEPT else rest[-1]
        console.print(Text(facts, style="bold"))
        if row is not names and said:
            console.print(Text(wrapped(f"    {said}", console.width)))
