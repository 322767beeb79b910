"""`ttf sample`: write rows from a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def sample(
    model: Annotated[Path, typer.Argument(help="A model file that `ttf fit` wrote.", show_default=False)],
    rows: Annotated[int, typer.Option("-n", "--rows", help="How many rows.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to: .csv, .csv.gz or .parquet.", show_default=False)
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="sampling.FIELD=VALUE", help="A sampling setting, as sampling.temperature_category=1."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same rows.", show_default=False)] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    r"""Write exactly as many new rows as asked for.

    \b
    Examples:
      ttf sample model.tabtree -n 1000 -o new.csv
      ttf sample model.tabtree -n 1000 -o new.parquet --seed 7
    """
    import dataclasses
    import time

    from ..config import parse_settings
    from ..errors import ConfigError
    from ..files import check_writable
    from ..synthesizer import TabTreeFormer
    from .tables import check_form, write_table

    check_form(output)
    check_writable(output)
    fitted = TabTreeFormer.load(model, device=device, verbose=not quiet)
    sections = parse_settings(settings or ())
    if set(sections) - {"sampling"}:
        raise ConfigError(f"only settings of sampling can change after fitting, got {', '.join(sections)}")
    if sections:
        fitted.set_params(sampling={**dataclasses.asdict(fitted.fitted_.config.sampling), **sections["sampling"]})
    started = time.perf_counter()
    df = fitted.sample(rows, random_state=seed)
    seconds = time.perf_counter() - started
    write_table(df, output)
    if not quiet:
        typer.echo(f"wrote {len(df):,} rows × {df.shape[1]} columns to {output} ({len(df) / seconds:,.0f} rows/s)")
