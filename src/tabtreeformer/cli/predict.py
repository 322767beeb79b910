"""`ttf predict`: what a column is likely to be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .conditions import named
from .options import SOURCES, Decimal, Device, Encoding, Format, Missing, Overwrite, Quiet, Quote, Sep, given


def predict(
    model: Annotated[Path, typer.Argument(help="A model file that `ttf fit` wrote.", show_default=False)],
    rows: Annotated[str, typer.Argument(help=f"Rows to predict for: {SOURCES}.", show_default=False)],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to; forms as above.", show_default=False)],
    target: Annotated[
        str | None, typer.Option(help="Column to predict; by default that of the trees.", show_default=False)
    ] = None,
    chances: Annotated[bool, typer.Option("--proba", help="Also the chances of each class.")] = False,
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
    r"""Add a column to rows: the likeliest class of a column, or the mean of a number, given all else that they have.

    \b
    Examples:
      ttf predict model.tabtree rows.csv --target income -o predicted.csv
      ttf predict model.tabtree rows.csv --target income --proba -o predicted.csv
    """
    from ..synthesizer import TabTreeFormer
    from ..tables import check_target, read_table, write_table

    options = given(sep=sep, encoding=encoding, quote=quote, decimal=decimal, missing=missing)
    place = check_target(output, **options, overwrite=overwrite)
    fitted = TabTreeFormer.load(model, device=device, verbose=not quiet)
    df = read_table(rows, **options, **given(format=form))
    name = fitted.fitted_.tree_target if target is None else named(target, fitted.fitted_.codec)
    said = fitted.predict(df, target=name)
    predicted = df.assign(**{f"predicted {said.name}": said})
    if chances:
        predicted = predicted.join(fitted.predict_proba(df, target=name).add_prefix(f"{said.name} = "))
    write_table(predicted, output, **options, overwrite=overwrite)
    if not quiet:
        typer.echo(f"predicted {said.name!r} of {len(df):,} rows, written to {place.name}")
