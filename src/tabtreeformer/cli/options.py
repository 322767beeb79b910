"""Options that several commands share, each declared once: how a table is stored, what its columns are, the device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ..synthesizer import TabTreeFormer

SOURCES = (
    "a file (.csv, .tsv, .jsonl, also compressed as .gz; .parquet, .feather, .xlsx, .duckdb), a table in a file "
    "(shop.duckdb#orders), a database URL (sqlite:///shop.db#orders) or - for a pipe"
)

Model = Annotated[Path, typer.Argument(help="A model file written by `ttf fit`.", show_default=False)]
Output = Annotated[
    str, typer.Option("--output", "-o", help="Where to write the rows; same formats as above.", show_default=False)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
AcceptRisk = Annotated[
    str | None,
    typer.Option(
        "--accept-risk",
        metavar="REASON",
        help="Write rows of a model that failed its privacy verdict, or more rows than its level holds for; "
        "the reason is recorded in the model file.",
        show_default=False,
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Stop at a value that the model has never learned, e.g. an unseen category."),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace an existing file or database table. A file that is read is never replaced."
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="csv, jsonl, parquet, feather, excel or duckdb, where the ending does not say it."),
]
Neutralize = Annotated[
    bool,
    typer.Option(
        "--neutralize",
        help="Put an apostrophe before text in a CSV file that a spreadsheet would compute, e.g. '=1+1'.",
    ),
]
Query = Annotated[str | None, typer.Option(help="SQL to read rows with, e.g. 'select * from orders'.")]
TableName = Annotated[str | None, typer.Option("--table", help="Table of a database.")]
Sheet = Annotated[str | None, typer.Option(help="Sheet of an Excel file.")]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Treat this column of numbers as categories. Can be given more than once."),
]


@dataclass(frozen=True, kw_only=True)
class RuntimeOptions:
    """Where a model computes, and how much is printed."""

    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto"
    quiet: Quiet = False

    def load(self, path: Path) -> TabTreeFormer:
        """Read a model file."""
        from ..synthesizer import TabTreeFormer

        return TabTreeFormer.load(path, device=self.device, verbose=not self.quiet)

    def echo(self, message: str, err: bool = False) -> None:
        """Print a line, unless nothing is to be printed."""
        if not self.quiet:
            typer.echo(message, err=err)


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """How much is learned, and under which protection, of one table or of several."""

    preset: Annotated[
        str,
        typer.Option(
            help="auto: sized by the table, for a CPU. trees: trees that write, in seconds, with little protection. "
            "S, L, NM: the paper's models, for a GPU; NM has no masks and no privacy."
        ),
    ] = "auto"
    privacy: Annotated[
        str,
        typer.Option(
            help="balanced: the fit ends with a verdict on the rows. strict: on the model file too, and auto stops "
            "before it memorises. off: no verdict."
        ),
    ] = "balanced"
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="SECTION.FIELD=VALUE", help="Any setting, e.g. train.steps=200. Can be repeated."
        ),
    ] = None
    constraint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SENTENCE",
            help="What every new row keeps, beside the laws that are found, e.g. 'fare > 0' or \"if paid = 'cash' then "
            'tip = 0". Can be repeated.',
        ),
    ] = None
    budget: Annotated[
        str | None,
        typer.Option(help="Fit within about this time, e.g. 90s, 5m or 1h.", show_default=False),
    ] = None
    seed: Annotated[int | None, typer.Option(help="Same seed, same model.", show_default=False)] = None

    def sections(self) -> dict[str, Any]:
        """The settings by section."""
        from ..config.override import parse_settings

        return dict(parse_settings(self.settings or ()))

    @property
    def constraints(self) -> str | list[str]:
        """The sentences that were given, beside those that are found."""
        return "auto" if self.constraint is None else ["auto", *self.constraint]

    def budget_seconds(self) -> float | None:
        """The budget in seconds."""
        from .._runtime.progress import parse_duration

        return None if self.budget is None else parse_duration(self.budget)


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How a text file is stored."""

    sep: Annotated[
        str | None, typer.Option(help="Separator of a CSV file, e.g. ';' or tab; detected when reading.")
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            help="Encoding of a text file, e.g. latin-1; by default its byte-order mark, else UTF-8.",
            show_default=False,
        ),
    ] = None
    quote: Annotated[str | None, typer.Option(help="Quote character of a CSV file.")] = None
    decimal: Annotated[
        str | None, typer.Option(help="Decimal point of a CSV file, . or a comma; detected when reading.")
    ] = None

    def given(self) -> dict[str, Any]:
        """The options that were given, as fields of `TableOptions`; the others have its defaults."""
        return {_FIELDS.get(name, name): value for name, value in vars(self).items() if value is not None}


_FIELDS = {"form": "format", "table_name": "table"}
"""Names of options that differ from those of `TableOptions`: `format` and `table` have other meanings here."""


@dataclass(frozen=True, kw_only=True)
class ReadOptions(TextOptions):
    """How a file that is read is stored."""

    missing: Annotated[
        list[str] | None,
        typer.Option(help="Word for a missing value in a CSV file, e.g. '?'. Can be given more than once."),
    ] = None
    form: Format = None


@dataclass(frozen=True, kw_only=True)
class SourceOptions(ReadOptions):
    """How a table that is read is stored, in a file or in a database."""

    query: Query = None
    table_name: TableName = None
    sheet: Sheet = None


@dataclass(frozen=True, kw_only=True)
class RowsOptions(ReadOptions):
    """Of a command that reads rows and writes them again: the text options hold for both files."""

    neutralize: Neutralize = False
    overwrite: Overwrite = False

    def reading(self) -> dict[str, Any]:
        """Options to read the rows with."""
        return {name: value for name, value in self.given().items() if name not in ("overwrite", "neutralize")}

    def writing(self) -> dict[str, Any]:
        """Options to write the rows with; the format of the output is that of its ending."""
        return {name: value for name, value in self.given().items() if name != "format"}


@dataclass(frozen=True, kw_only=True)
class TargetOptions(TextOptions):
    """How a table that is written is stored."""

    form: Format = None
    table_name: TableName = None
    sheet: Sheet = None
    neutralize: Neutralize = False
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """What the columns of a table are, where the table itself does not show it."""

    categorical: Categorical = None
    schema_file: Annotated[
        Path | None,
        typer.Option("--schema", help="What the columns are: a file that `ttf schema` wrote and you may have edited."),
    ] = None
