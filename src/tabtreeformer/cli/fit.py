"""`ttf fit`: learn a table from a file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .columns import describe
from .options import (
    SOURCES,
    Categorical,
    Decimal,
    Device,
    Encoding,
    Format,
    Missing,
    Query,
    Quiet,
    Quote,
    Sep,
    Sheet,
    TableName,
    given,
)
from .runs import fit_and_save, model_bytes, run_folder, run_seed

if TYPE_CHECKING:
    import pandas as pd

    from ..private import DP
    from ..schema import Schema


def fit(
    table: Annotated[str, typer.Argument(help=f"The table: {SOURCES}; or a folder of files.", show_default=False)],
    target: Annotated[
        str | None,
        typer.Option(
            help="Column that users of the rows will predict; drawn by the seed if not given.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Model file; by default the table's name with .tabtree.")
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            help="auto: sized by the table, for a CPU. S, L, NM: the paper's models, for a GPU; NM has no masks and "
            "no privacy."
        ),
    ] = "auto",
    tree: Annotated[
        str | None, typer.Option(help="lightgbm (default), xgboost, catboost, decision_tree or none.")
    ] = None,
    categorical: Categorical = None,
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")] = False,
    schema_file: Annotated[
        Path | None,
        typer.Option("--schema", help="What the columns are: a file that `ttf schema` wrote and you may have edited."),
    ] = None,
    privacy: Annotated[
        str,
        typer.Option(
            help="balanced: a verdict on the rows ends the fit. strict: on the model file too, and auto stops before "
            "it memorises. off: no verdict."
        ),
    ] = "balanced",
    sensitive: Annotated[
        list[str] | None,
        typer.Option(help="A column whose values nobody should be able to infer; all, unless some are named."),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            help="Share of the rows to set aside for the verdict and for `ttf evaluate`, as 0.2; they are written "
            "beside the model.",
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.FIELD=VALUE", help="Any setting, as train.steps=200. Can be repeated."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Fit within about this time, as 90s, 5m or 1h.", show_default=False),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write here, every minute, what --resume needs; as confidential as the table, deleted at the end.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with a run that was stopped or killed, or start one that can; its folder is that of "
            "--checkpoint, else MODEL.run.",
        ),
    ] = False,
    keep_checkpoint: Annotated[
        bool, typer.Option("--keep-checkpoint", help="Leave the checkpoints of a run that ended well.")
    ] = False,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Read the table in parts, with memory that does not follow its rows; by default where it is a folder, "
            "or large. CSV, Parquet, Feather.",
            show_default=False,
        ),
    ] = None,
    cache_dir: Annotated[
        Path | None,
        typer.Option(help="Folder for the tokens of a table that is read in parts; by default the system's."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Fit under differential privacy: at most so much may be told of any one row, as 4. Needs --schema, "
            "which says what is public.",
            show_default=False,
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="With --epsilon: chance that it does not hold; by default rows ** -1.1.", show_default=False),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same model.", show_default=False)] = None,
    device: Device = "auto",
    sep: Sep = None,
    encoding: Encoding = None,
    quote: Quote = None,
    decimal: Decimal = None,
    missing: Missing = None,
    form: Format = None,
    query: Query = None,
    table_name: TableName = None,
    sheet: Sheet = None,
    quiet: Quiet = False,
) -> None:
    r"""Learn a table and write a model file.

    \b
    Examples:
      ttf fit data.csv --target income -o model.tabtree
      ttf fit data.csv --target income --preset L --seed 7
      ttf fit data.csv --target income --privacy strict --sensitive diagnosis --holdout 0.1
      ttf fit "sqlite:///shop.db" --query "select * from orders where year = 2024" -o orders.tabtree
      ttf fit data.csv --schema schema.json --set train.steps=500 --drop-missing
      ttf fit folder/of/parquet --target income -o big.tabtree --cache-dir /scratch
      ttf fit data.csv --preset L --resume        # the same command again goes on after Ctrl-C, a crash or a kill
      ttf fit data.csv --schema schema.json --epsilon 4 --delta 1e-6

    \b
    Ctrl-C while the networks train writes the best model so far and exits with 130; a second one stops at once.
    """
    from ..config import parse_settings
    from ..files import check_writable
    from ..presets import check_privacy, configure
    from ..progress import parse_duration
    from ..synthesizer import TabTreeFormer
    from ..tables import read_table
    from ..training.team import join
    from .stream import in_parts, place_of, settled

    options = given(
        sep=sep, encoding=encoding, quote=quote, decimal=decimal, missing=missing, format=form, query=query,
        table=table_name, sheet=sheet,
    )  # fmt: skip
    place = place_of(table, options)
    output = output or Path(place.stem + ".tabtree")
    team = join()
    if team.first:
        check_writable(output)
    quiet = quiet or not team.first
    folder = run_folder(output, checkpoint, resume)
    seed = run_seed(folder, seed, team)
    sections: dict[str, Any] = dict(parse_settings(settings or ()))
    if tree is not None:
        sections.setdefault("tree", {})["model"] = tree
    parts, schema = None, None
    chunks = in_parts(table, stream, cache_dir, options, drop_missing=drop_missing, holdout=holdout)
    df: Any = None
    if chunks is not None:
        df, schema = settled(chunks, categorical, schema_file)
    else:
        df = read_table(table, **options)
    n_rows, n_columns = df.shape if chunks is None else (chunks.n_rows, chunks.n_columns)
    if team.first:
        check_writable(output, model_bytes(configure(preset, sections, n_rows, None, n_columns), n_rows, n_columns))
    if drop_missing:
        kept = df.dropna(ignore_index=True)
        if not quiet and len(kept) < len(df):
            typer.echo(f"left out {len(df) - len(kept):,} of {len(df):,} rows with missing values", err=True)
        df = kept
    held = None
    if holdout is not None:
        df, held, parts = _set_aside(df, holdout, seed, output, place.ending, team.first)
    dp = private(epsilon, delta)
    if dp:
        schema = public_schema(schema_file, categorical)
    elif chunks is None:
        schema = describe(df, target, categorical, schema_file)

    model = TabTreeFormer(
        preset,
        target,
        **sections,
        budget_seconds=None if budget is None else parse_duration(budget),
        privacy=check_privacy(privacy),
        sensitive=sensitive,
        dp=dp,
        device=device,
        random_state=seed,
        verbose=not quiet,
    )
    fit_and_save(model, df, schema, held, output, folder, keep_checkpoint, team)
    if not quiet:
        record, n_columns = model.fitted_.record, len(model.fitted_.schema.names)
        typer.echo(f"learned {record['rows']:,} rows × {n_columns} columns in {record['fit_seconds']:.1f} s")
        typer.echo(f"wrote {output}; sample from it with: ttf sample {output} -n {record['rows']} -o new.csv")
        if parts:
            target_words = "" if target is None else f" --target {shlex.quote(target)}"
            typer.echo(f"set rows aside in {parts[1]}, learned those of {parts[0]}; judge new rows with:")
            typer.echo(f"ttf evaluate {parts[0]} new.csv --holdout {parts[1]}{target_words} --html report.html")


def private(epsilon: float | None, delta: float | None) -> DP | None:
    """The promise that the options make."""
    from ..errors import ConfigError
    from ..private import DP

    if epsilon is None and delta is not None:
        raise ConfigError("--delta means nothing without --epsilon")
    return None if epsilon is None else DP(epsilon=epsilon, delta=delta)


def public_schema(schema_file: Path | None, categorical: list[str] | None) -> Schema | None:
    """The schema as the file has it: under differential privacy nothing of it may be looked up in the rows."""
    from ..schema import CATEGORICAL, Schema

    if schema_file is None:
        return None
    schema = Schema.load(schema_file)
    for name in categorical or ():
        schema = schema.with_kind(name, CATEGORICAL)
    return schema


def _set_aside(
    df: pd.DataFrame, share: float, seed: int | None, output: Path, ending: str, writes: bool
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[Path, Path]]:
    """Split rows off at random; write both parts beside the model, in the format of the table."""
    import numpy as np

    from ..gate import split_off
    from ..tables import write_table

    stem = output.with_suffix("") if output.suffix == ".tabtree" else output
    paths = stem.with_name(f"{stem.name}.train{ending}"), stem.with_name(f"{stem.name}.holdout{ending}")
    numbers = split_off(len(df), share, np.random.default_rng(seed))
    parts = [df.iloc[rows].reset_index(drop=True) for rows in numbers]
    for part, path in zip(parts, paths, strict=True):
        if writes:
            write_table(part, path)
    return parts[0], parts[1], paths
