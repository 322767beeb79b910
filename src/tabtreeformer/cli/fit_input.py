"""The input of `ttf fit`: the table, whole or in parts, the rows set aside, and the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .columns import describe, public_schema
from .options import ColumnOptions, SourceOptions
from .runs import model_bytes

if TYPE_CHECKING:
    import pandas as pd

    from ..data.schema import Schema
    from .fit import LearnOptions


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """Which rows to learn, and how to read them."""

    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Drop rows with missing values.")] = False
    holdout: Annotated[
        float | None,
        typer.Option(
            help="Share of the rows to set aside for the verdict and for `ttf evaluate`, e.g. 0.2; both parts are "
            "written next to the model.",
            show_default=False,
        ),
    ] = None
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Read the table in parts, so that memory does not grow with the number of rows; by default for "
            "folders and large files. CSV, Parquet, Feather.",
            show_default=False,
        ),
    ] = None
    cache_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the tokens of a table that is read in parts; by default the system's temporary folder."
        ),
    ] = None


@dataclass(frozen=True)
class Paths:
    """The files that a fit writes."""

    model: Path
    train: Path | None = None
    holdout: Path | None = None

    def __iter__(self) -> Any:
        """Iterate over the files that are not None."""
        return (path for path in (self.model, self.train, self.holdout) if path is not None)


@dataclass(frozen=True)
class FitInput:
    """A table that is ready to fit."""

    table: Any
    """A DataFrame, or `Chunks` where it is read in parts."""
    schema: Schema | None
    holdout: pd.DataFrame | None = None
    shape: tuple[int, int] = (0, 0)
    """Rows and columns of the given table."""

    def check_room(self, output: Path, preset: str, sections: Mapping[str, Any]) -> None:
        """Check before fitting that the disk has room for the model."""
        from .._runtime.files import check_writable
        from ..config.presets import configure

        n_rows, n_columns = self.shape
        check_writable(output, model_bytes(configure(preset, sections, n_rows, None, n_columns), n_rows, n_columns))


def where(table: str, output: Path | None, source: SourceOptions, splits: bool) -> Paths:
    """Return the path of the model and, if rows are set aside, of both parts, in the table's format."""
    from .stream import place_of

    place = place_of(table, source.given())
    model = output or Path(place.stem + ".tabtree")
    if not splits:
        return Paths(model)
    stem = model.with_suffix("") if model.suffix == ".tabtree" else model
    return Paths(model, *(stem.with_name(f"{stem.name}.{part}{place.ending}") for part in ("train", "holdout")))


def read_input(
    table: str,
    learning: LearnOptions,
    columns: ColumnOptions,
    reading: InputOptions,
    source: SourceOptions,
    *,
    seed: int | None,
    quiet: bool,
) -> FitInput:
    """Read the table, drop and set aside rows as requested, and infer its schema."""
    from ..data.io import read_table
    from .stream import in_parts, settled

    options = source.given()
    whole = {"drop_missing": reading.drop_missing, "holdout": reading.holdout}
    chunks = in_parts(table, reading.stream, reading.cache_dir, options, **whole)
    if chunks is not None:
        df, schema = settled(chunks, columns.categorical, columns.schema_file)
        if learning.epsilon is not None:
            schema = public_schema(columns)
        return FitInput(df, schema, shape=(chunks.n_rows, chunks.n_columns))
    df, held = read_table(table, **options), None
    shape = df.shape
    if reading.drop_missing:
        df = _without_gaps(df, quiet)
    if reading.holdout is not None:
        df, held = _set_aside(df, reading.holdout, seed)
    schema = describe(df, learning.target, columns) if learning.epsilon is None else public_schema(columns)
    return FitInput(df, schema, held, shape)


def _without_gaps(df: pd.DataFrame, quiet: bool) -> pd.DataFrame:
    kept = df.dropna(ignore_index=True)
    if not quiet and len(kept) < len(df):
        typer.echo(f"dropped {len(df) - len(kept):,} of {len(df):,} rows with missing values", err=True)
    return kept


def _set_aside(df: pd.DataFrame, share: float, seed: int | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split the rows exactly as `holdout=` in Python does with the same seed."""
    from .._runtime.seeds import seed_sequence
    from ..fitting.holdout import split_frame

    return split_frame(df, share, seed_sequence(seed))
