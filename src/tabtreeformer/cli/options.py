"""Options shared by several commands, each declared once: table format, schema, device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._runtime.terminal import printable

if TYPE_CHECKING:
    from ..synthesizer import TabTreeFormer

SOURCES = (
    "a file (.csv, .tsv, .jsonl, also compressed as .gz; .parquet, .feather, .xlsx, .duckdb), a table in a file "
    "(shop.duckdb#orders), a database URL (sqlite:///shop.db#orders) or - for a pipe"
)

Model = Annotated[Path, typer.Argument(help="A model file written by `ttf fit`.", show_default=False)]
Output = Annotated[
    str, typer.Option("--output", "-o", help="Where to write the rows; the same formats as above.", show_default=False)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
AcceptRisk = Annotated[
    str | None,
    typer.Option(
        "--accept-risk",
        metavar="REASON",
        help="Write rows although the model failed its privacy verdict, or more rows than its privacy level covers; "
        "the reason is recorded in the model file.",
        show_default=False,
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Stop at a value that the model does not know, e.g. an unseen category."),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace an existing file or database table. An input file is never replaced."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", help="csv, jsonl, parquet, feather, excel or duckdb, if the file extension does not tell."
    ),
]
Neutralize = Annotated[
    bool,
    typer.Option(
        "--neutralize",
        help="In a CSV file, put an apostrophe before text that a spreadsheet would run as a formula, e.g. '=1+1'.",
    ),
]
Query = Annotated[str | None, typer.Option(help="SQL query that selects the rows, e.g. 'select * from orders'.")]
TableName = Annotated[str | None, typer.Option("--table", help="Name of the table in a database.")]
Sheet = Annotated[str | None, typer.Option(help="Sheet in an Excel file.")]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Treat this numeric column as categorical. Can be given more than once."),
]


@dataclass(frozen=True, kw_only=True)
class RuntimeOptions:
    """Which device to use, and how much to print."""

    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto"
    quiet: Quiet = False

    def load(self, path: Path) -> TabTreeFormer:
        """Read a model file."""
        from ..synthesizer import TabTreeFormer

        return TabTreeFormer.load(path, device=self.device, verbose=not self.quiet)

    def echo(self, message: str, err: bool = False) -> None:
        """Print a line, unless `--quiet` was given."""
        if not self.quiet:
            typer.echo(printable(message), err=err)


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """What to fit, under which protection, for one table or several."""

    preset: Annotated[
        str,
        typer.Option(
            help="auto: sized to the table, runs on a CPU. trees: decision trees only; takes seconds, little "
            "protection. S, L, NM: the paper's models, for a GPU; NM has no masks and no privacy."
        ),
    ] = "auto"
    privacy: Annotated[
        str,
        typer.Option(
            help="balanced: the fit ends with a privacy verdict on the rows. strict: the verdict covers the model "
            "file too, and auto stops before it memorises. off: no verdict."
        ),
    ] = "balanced"
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="SECTION.FIELD=VALUE",
            help="Any setting, e.g. train.steps=200. Can be given more than once.",
        ),
    ] = None
    constraint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SENTENCE",
            help="A rule that every new row must keep, in addition to the laws that are found, e.g. 'fare > 0' or "
            "\"if paid = 'cash' then "
            'tip = 0". Can be given more than once.',
        ),
    ] = None
    budget: Annotated[
        str | None,
        typer.Option(help="Approximate time for the fit, e.g. 90s, 5m or 1h.", show_default=False),
    ] = None
    seed: Annotated[
        int | None, typer.Option(help="Random seed; the same seed gives the same model.", show_default=False)
    ] = None

    def sections(self) -> dict[str, Any]:
        """Return the settings by section."""
        from ..config.override import parse_settings

        return dict(parse_settings(self.settings or ()))

    @property
    def constraints(self) -> str | list[str]:
        """The given constraints, in addition to the laws that are found."""
        return "auto" if self.constraint is None else ["auto", *self.constraint]

    def budget_seconds(self) -> float | None:
        """The budget in seconds."""
        from .._runtime.progress import parse_duration

        return None if self.budget is None else parse_duration(self.budget)


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Format of a text file."""

    sep: Annotated[str | None, typer.Option(help="Separator of a CSV file, e.g. ';' or tab; by default detected.")] = (
        None
    )
    encoding: Annotated[
        str | None,
        typer.Option(
            help="Encoding of a text file, e.g. latin-1; by default from its byte-order mark, else UTF-8 or cp1252.",
            show_default=False,
        ),
    ] = None
    quote: Annotated[str | None, typer.Option(help="Quote character of a CSV file.")] = None
    decimal: Annotated[
        str | None, typer.Option(help="Decimal separator of a CSV file, . or a comma; by default detected.")
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the options that were given, as fields of `TableOptions`; the rest keep its defaults."""
        return {_FIELDS.get(name, name): value for name, value in vars(self).items() if value is not None}


_FIELDS = {"form": "format", "table_name": "table"}
"""Options named differently from the fields of `TableOptions`, because `format` and `table` are taken here."""


@dataclass(frozen=True, kw_only=True)
class ReadOptions(TextOptions):
    """Format of an input file."""

    missing: Annotated[
        list[str] | None,
        typer.Option(help="Text that marks a missing value in a CSV file, e.g. '?'. Can be given more than once."),
    ] = None
    form: Format = None


@dataclass(frozen=True, kw_only=True)
class SourceOptions(ReadOptions):
    """Format of an input table, in a file or a database."""

    query: Query = None
    table_name: TableName = None
    sheet: Sheet = None


@dataclass(frozen=True, kw_only=True)
class RowsOptions(ReadOptions):
    """For commands that read rows and write them again: the text options apply to both files."""

    neutralize: Neutralize = False
    overwrite: Overwrite = False

    def reading(self) -> dict[str, Any]:
        """Return the options for reading the rows."""
        return {name: value for name, value in self.given().items() if name not in ("overwrite", "neutralize")}

    def writing(self) -> dict[str, Any]:
        """Return the options for writing the rows; the output format follows from the file extension."""
        return {name: value for name, value in self.given().items() if name != "format"}


@dataclass(frozen=True, kw_only=True)
class TargetOptions(TextOptions):
    """Format of an output table."""

    form: Format = None
    table_name: TableName = None
    sheet: Sheet = None
    neutralize: Neutralize = False
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """What the columns are, where the table itself does not show it."""

    categorical: Categorical = None
    schema_file: Annotated[
        Path | None,
        typer.Option("--schema", help="Schema of the table: a file written by `ttf schema`, edited or not."),
    ] = None
