"""`ttf score`: how likely rows are."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import SOURCES, Model, Output, RowsOptions, RuntimeOptions
from .outputs import check_table_output


def score(
    model: Model,
    rows: Annotated[str, typer.Argument(help=f"Rows to score: {SOURCES}.", show_default=False)],
    output: Output,
    files: RowsOptions,
    runtime: RuntimeOptions,
    by_column: Annotated[
        bool, typer.Option("--by-column", help="Also the part of each column, given those before it.")
    ] = False,
) -> None:
    r"""Add a column log_prob to rows: how likely each is under the model, in nats; the lowest are outliers.

    \b
    Examples:
      ttf score model.tabtree rows.csv -o scored.csv
      ttf score model.tabtree rows.csv -o scored.csv --by-column
    """
    from ..data.io import read_table, write_table

    place = check_table_output(output, [model, rows], files.writing())
    fitted = runtime.load(model)
    df = read_table(rows, **files.reading())
    parts = fitted.log_prob(df, by_column=True)
    scored = df.assign(log_prob=parts.sum(axis=1))
    if by_column:
        scored = scored.join(parts.add_prefix("log_prob "))
    write_table(scored, output, **files.writing())
    runtime.echo(f"scored {len(df):,} rows, written to {place.name}", err=output == "-")
