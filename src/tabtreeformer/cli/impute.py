"""`ttf impute`: fill the missing values of a table."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import SOURCES, AcceptRisk, Model, Output, RowsOptions, RuntimeOptions
from .outputs import check_table_output


def impute(
    model: Model,
    rows: Annotated[str, typer.Argument(help=f"Rows with missing values: {SOURCES}.", show_default=False)],
    output: Output,
    files: RowsOptions,
    runtime: RuntimeOptions,
    draws: Annotated[
        int,
        typer.Option(help="Several tables for multiple imputation, one below the other, numbered in a column draw."),
    ] = 1,
    accept_risk: AcceptRisk = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same values.", show_default=False)] = None,
) -> None:
    r"""Fill the missing values of rows, given the values that they have; those stay as they are.

    \b
    Examples:
      ttf impute model.tabtree gaps.csv -o filled.csv
      ttf impute model.tabtree gaps.csv -o filled.csv --draws 5 --seed 7
    """
    from ..data.io import read_table, write_table
    from ..privacy.gate import check_release

    place = check_table_output(output, [model, rows], files.writing())
    fitted = runtime.load(model)
    df = read_table(rows, **files.reading())
    if check_release(model, fitted.fitted_.record, accept_risk, len(df)):
        runtime.echo(f"the model failed its privacy verdict; your reason was written into {model}", err=True)
    gaps = int(df.isna().to_numpy().sum())
    filled = fitted.impute(df, n_draws=draws, random_state=seed)
    if draws > 1:
        import pandas as pd

        filled = pd.concat([table.assign(draw=k) for k, table in enumerate(filled, start=1)], ignore_index=True)
    write_table(filled, output, **files.writing())
    runtime.echo(f"filled {gaps:,} gaps of {len(df):,} rows, written to {place.name}", err=output == "-")
