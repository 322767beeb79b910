"""`ttf impute`: fill the missing values of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from .conditions import named
from .options import SOURCES, AcceptRisk, Model, Output, RowsOptions, RuntimeOptions, Strict
from .outputs import check_table_output


@dataclass(frozen=True, kw_only=True)
class GapOptions:
    """Which missing values to fill, and how often."""

    draws: Annotated[
        int,
        typer.Option(
            help="Number of imputed tables for multiple imputation, stacked, with a column draw that numbers them."
        ),
    ] = 1
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", help="Fill only this column. Can be given more than once.", show_default=False),
    ] = None
    strict: Strict = False
    seed: Annotated[
        int | None, typer.Option(help="Random seed; the same seed gives the same values.", show_default=False)
    ] = None


def impute(
    model: Model,
    rows: Annotated[str, typer.Argument(help=f"Rows with missing values: {SOURCES}.", show_default=False)],
    output: Output,
    files: RowsOptions,
    runtime: RuntimeOptions,
    filling: GapOptions,
    accept_risk: AcceptRisk = None,
) -> None:
    r"""Fill the missing values of rows, given their other values, which stay unchanged.

    \b
    Examples:
      ttf impute model.tabtree gaps.csv -o filled.csv
      ttf impute model.tabtree gaps.csv -o filled.csv --draws 5 --seed 7
      ttf impute model.tabtree gaps.csv -o filled.csv --column age --column town
    """
    from ..data.io import read_table, write_table
    from ..privacy.gate import check_release

    place = check_table_output(output, [model, rows], files.writing())
    fitted = runtime.load(model)
    df = read_table(rows, **files.reading())
    if check_release(model, fitted.fitted_.record, accept_risk, rows=0):
        runtime.echo(f"the model failed its privacy verdict; your reason was recorded in {model}", err=True)
    chosen = None if filling.columns is None else [named(c, fitted.fitted_.codec) for c in filling.columns]
    gaps = int(df[[n for n in df.columns if chosen is None or n in chosen]].isna().to_numpy().sum())
    filled = fitted.impute(df, n_draws=filling.draws, random_state=filling.seed, columns=chosen, strict=filling.strict)
    if filling.draws > 1:
        import pandas as pd

        filled = pd.concat([table.assign(draw=k) for k, table in enumerate(filled, start=1)], ignore_index=True)
    write_table(filled, output, **files.writing())
    runtime.echo(f"filled {gaps:,} missing values in {len(df):,} rows, written to {place.name}", err=output == "-")
