"""`ttf predict`: the most likely values of a column."""

from __future__ import annotations

from typing import Annotated

import typer

from .conditions import named
from .options import SOURCES, Model, Output, RowsOptions, RuntimeOptions, Strict
from .outputs import check_table_output


def predict(
    model: Model,
    rows: Annotated[str, typer.Argument(help=f"Rows to predict for: {SOURCES}.", show_default=False)],
    output: Output,
    files: RowsOptions,
    runtime: RuntimeOptions,
    target: Annotated[
        str | None, typer.Option(help="Column to predict; by default the target of the fit.", show_default=False)
    ] = None,
    probabilities: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    strict: Strict = False,
) -> None:
    r"""Add a prediction to rows, given all other values: the most likely class of a column, or the mean of a number.

    \b
    Examples:
      ttf predict model.tabtree rows.csv --target income -o predicted.csv
      ttf predict model.tabtree rows.csv --target income --proba -o predicted.csv
    """
    from ..data.io import read_table, write_table

    place = check_table_output(output, [model, rows], files.writing())
    fitted = runtime.load(model)
    df = read_table(rows, **files.reading())
    name = fitted.fitted_.tree_target if target is None else named(target, fitted.fitted_.codec)
    said = fitted.predict(df, target=name, strict=strict)
    predicted = df.assign(**{f"predicted {said.name}": said})
    if probabilities:
        predicted = predicted.join(fitted.predict_proba(df, target=name, strict=strict).add_prefix(f"{said.name} = "))
    write_table(predicted, output, **files.writing())
    runtime.echo(f"predicted {said.name!r} for {len(df):,} rows, written to {place.name}", err=output == "-")
