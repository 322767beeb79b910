"""`ttf impute`: fill the gaps of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    SOURCES,
    AcceptRisk,
    Decimal,
    Device,
    Encoding,
    Format,
    Missing,
    Overwrite,
    Quiet,
    Quote,
    Sep,
    given,
)


def impute(
    model: Annotated[Path, typer.Argument(help="A model file that `ttf fit` wrote.", show_default=False)],
    rows: Annotated[str, typer.Argument(help=f"Rows with gaps: {SOURCES}.", show_default=False)],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to; forms as above.", show_default=False)],
    draws: Annotated[
        int,
        typer.Option(help="Several tables for multiple imputation, one below the other, numbered in a column draw."),
    ] = 1,
    accept_risk: AcceptRisk = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same values.", show_default=False)] = None,
    device: Device = "auto",
    sep: Sep = None,
    encoding: Encoding = None,
    quote: Quote = None,
    decimal: Decimal = None,
    missing: Missing = None,
    form: Format = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    r"""Fill the missing cells of rows, given what the rows have; what is there stays as it is.

    \b
    Examples:
      ttf impute model.tabtree gaps.csv -o filled.csv
      ttf impute model.tabtree gaps.csv -o filled.csv --draws 5 --seed 7
    """
    from ..gate import check_release
    from ..synthesizer import TabTreeFormer
    from ..tables import check_target, read_table, write_table

    options = given(sep=sep, encoding=encoding, quote=quote, decimal=decimal, missing=missing)
    place = check_target(output, **options, overwrite=overwrite)
    fitted = TabTreeFormer.load(model, device=device, verbose=not quiet)
    df = read_table(rows, **options, **given(format=form))
    if check_release(model, fitted.fitted_.record, accept_risk, len(df)) and not quiet:
        typer.echo(f"the model failed its privacy verdict; your reason was written into {model}", err=True)
    gaps = int(df.isna().to_numpy().sum())
    filled = fitted.impute(df, n_draws=draws, random_state=seed)
    if draws > 1:
        import pandas as pd

        filled = pd.concat([table.assign(draw=k) for k, table in enumerate(filled, start=1)], ignore_index=True)
    write_table(filled, output, **options, overwrite=overwrite)
    if not quiet:
        typer.echo(f"filled {gaps:,} gaps of {len(df):,} rows, written to {place.name}")
