"""`ttf sample`: write rows from a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .conditions import CONDITION, named, read_conditions, read_mix
from .options import (
    SOURCES,
    AcceptRisk,
    Decimal,
    Device,
    Encoding,
    Format,
    Overwrite,
    Quiet,
    Quote,
    Sep,
    Sheet,
    TableName,
    given,
)


def sample(
    model: Annotated[Path, typer.Argument(help="A model file that `ttf fit` wrote.", show_default=False)],
    rows: Annotated[int, typer.Option("-n", "--rows", help="How many rows.", show_default=False)],
    output: Annotated[str, typer.Option("--output", "-o", help=f"Where to: {SOURCES}.", show_default=False)],
    conditions: Annotated[
        list[str] | None,
        typer.Option("--given", metavar="COLUMN=CONDITION", help=f"{CONDITION} Can be given more than once."),
    ] = None,
    balance: Annotated[
        str | None, typer.Option(help="A column whose classes come equally often.", show_default=False)
    ] = None,
    mix: Annotated[
        str | None,
        typer.Option(metavar="COLUMN=CLASS:SHARE,…", help="Shares of a column's classes, as class=a:0.3,b:0.7."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="sampling.FIELD=VALUE", help="A sampling setting, as sampling.temperature_category=1."
        ),
    ] = None,
    accept_risk: AcceptRisk = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same rows.", show_default=False)] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(help="Stream: rows of a part, of which one at a time is in memory.", show_default=False),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run to the same place that ended early.")] = (
        False
    ),
    workers: Annotated[int, typer.Option(help="Stream: so many processes, or actors of the engine.")] = 1,
    engine: Annotated[str, typer.Option(help="Who the workers are: processes here, or ray.")] = "processes",
    device: Device = "auto",
    sep: Sep = None,
    encoding: Encoding = None,
    quote: Quote = None,
    decimal: Decimal = None,
    form: Format = None,
    table_name: TableName = None,
    sheet: Sheet = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    r"""Write exactly as many new rows as asked for, all of which meet what is given.

    More than 100,000 rows are streamed to .csv, .jsonl and .parquet: memory does not grow with them, and a run that
    ended early goes on with --resume. A folder (a name that ends in a slash) takes parts. The rows of a seed are the
    same however they are written.

    \b
    Examples:
      ttf sample model.tabtree -n 1000 -o new.csv
      ttf sample model.tabtree -n 1000 -o new.parquet --seed 7
      ttf sample model.tabtree -n 100000000 -o parts/ --seed 7 --workers 2
      ttf sample model.tabtree -n 1000 -o "sqlite:///shop.db" --table new_orders
      ttf sample model.tabtree -n 500 -o new.csv --given sex=Female --given age=30..40 --given "hours=>=40"
      ttf sample model.tabtree -n 500 -o new.csv --given "state=CA,NY" --given "job=!=none" --given note=missing
      ttf sample model.tabtree -n 500 -o new.csv --balance class
      ttf sample failed.tabtree -n 500 -o new.csv --accept-risk "stays in this room, for a unit test"
      ttf sample model.tabtree -n 500 -o new.csv --mix "class=a:0.3,b:0.7"
    """
    import dataclasses
    import time
    import warnings

    from ..config import parse_settings
    from ..errors import ConfigError, PrivacyWarning
    from ..gate import check_release
    from ..streaming import can_stream, check_stream_target
    from ..synthesizer import TabTreeFormer
    from ..tables import check_target, write_table

    options = given(
        sep=sep, encoding=encoding, quote=quote, decimal=decimal, format=form, table=table_name, sheet=sheet,
        overwrite=overwrite,
    )  # fmt: skip
    asked = batch_size is not None or resume or workers != 1 or engine != "processes"
    streamed = asked or can_stream(output, rows, **options)
    name = str(check_stream_target(output, **options).path if streamed else check_target(output, **options).name)
    fitted = TabTreeFormer.load(model, device=device, verbose=not quiet)
    sections = parse_settings(settings or ())
    if set(sections) - {"sampling"}:
        raise ConfigError(f"only settings of sampling can change after fitting, got {', '.join(sections)}")
    if sections:
        fitted.set_params(sampling={**dataclasses.asdict(fitted.fitted_.config.sampling), **sections["sampling"]})
    if check_release(model, fitted.fitted_.record, accept_risk, rows) and not quiet:
        typer.echo(f"the model failed its privacy verdict; your reason was written into {model}", err=True)
    table = fitted.fitted_.codec
    question: dict[str, Any] = {
        "given": read_conditions(conditions, table) if conditions else None,
        "balance": None if balance is None else named(balance, table),
        "mix": None if mix is None else read_mix(mix, table),
    }
    how: dict[str, Any] = {"batch_size": batch_size, "resume": resume, "workers": workers, "engine": engine}
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # said and answered above
        if streamed:
            fitted.sample_to(output, rows, seed, **question, **how, **options)
        else:
            df = fitted.sample(rows, seed, **question)
    seconds = time.perf_counter() - started
    if not streamed:
        write_table(df, output, **options)
    if not quiet:
        speed = "" if resume else f" ({rows / seconds:,.0f} rows/s)"
        typer.echo(f"wrote {rows:,} rows × {len(table.schema.names)} columns to {name}{speed}")
