"""`ttf score`: how likely rows are under a model."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import SOURCES, Model, Output, RowsOptions, RuntimeOptions, Strict
from .outputs import check_table_output


def score(
    model: Model,
    rows: Annotated[str, typer.Argument(help=f"Rows to score: {SOURCES}.", show_default=False)],
    output: Output,
    files: RowsOptions,
    runtime: RuntimeOptions,
    by_column: Annotated[
        bool, typer.Option("--by-column", help="Also write the contribution of each column, given those before it.")
    ] = False,
    outliers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Write only the N least likely rows, each with a reason.", show_default=False),
    ] = None,
    strict: Strict = False,
) -> None:
    r"""Add a column log_prob to rows: how likely each is under the model, in nats; the lowest are outliers.

    An unseen category or a value beyond the learned range makes a row unlikely; the further out, the less likely.

    \b
    Examples:
      ttf score model.tabtree rows.csv -o scored.csv
      ttf score model.tabtree rows.csv -o scored.csv --by-column
      ttf score model.tabtree rows.csv -o odd.csv --outliers 20
    """
    from ..data.io import read_table, write_table

    place = check_table_output(output, [model, rows], files.writing())
    fitted = runtime.load(model)
    df = read_table(rows, **files.reading())
    if outliers is not None:
        odd = fitted.outliers(df, outliers, strict=strict)
        rarest = df.loc[odd.index].assign(log_prob=odd["log_prob"], reason=odd["reason"])
        write_table(rarest, output, **files.writing())
        runtime.echo(f"the {len(odd):,} least likely of {len(df):,} rows, written to {place.name}", err=output == "-")
        return
    parts = fitted.log_prob(df, by_column=True, strict=strict)
    scored = df.assign(log_prob=parts.sum(axis=1))
    if by_column:
        scored = scored.join(parts.add_prefix("log_prob "))
    write_table(scored, output, **files.writing())
    runtime.echo(f"scored {len(df):,} rows, written to {place.name}", err=output == "-")
