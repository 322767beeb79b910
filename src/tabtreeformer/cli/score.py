"""`ttf score`: how likely rows are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import SOURCES, Decimal, Device, Encoding, Format, Missing, Overwrite, Quiet, Quote, Sep, given


def score(
    model: Annotated[Path, typer.Argument(help="A model file that `ttf fit` wrote.", show_default=False)],
    rows: Annotated[str, typer.Argument(help=f"Rows to judge: {SOURCES}.", show_default=False)],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to; forms as above.", show_default=False)],
    by_column: Annotated[
        bool, typer.Option("--by-column", help="Also the part of each column, given those before it.")
    ] = False,
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
    r"""Add a column log_prob to rows: how likely the model finds them, in nats; the lowest are outliers.

    \b
    Examples:
      ttf score model.tabtree rows.csv -o scored.csv
      ttf score model.tabtree rows.csv -o scored.csv --by-column
    """
    from ..synthesizer import TabTreeFormer
    from ..tables import check_target, read_table, write_table

    options = given(sep=sep, encoding=encoding, quote=quote, decimal=decimal, missing=missing)
    place = check_target(output, **options, overwrite=overwrite)
    fitted = TabTreeFormer.load(model, device=device, verbose=not quiet)
    df = read_table(rows, **options, **given(format=form))
    parts = fitted.log_prob(df, by_column=True)
    scored = df.assign(log_prob=parts.sum(axis=1))
    if by_column:
        scored = scored.join(parts.add_prefix("log_prob "))
    write_table(scored, output, **options, overwrite=overwrite)
    if not quiet:
        typer.echo(f"scored {len(df):,} rows, written to {place.name}")
