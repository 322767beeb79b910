"""Options that several commands share: where a table is and how it is written down, the device, how much to say."""

from __future__ import annotations

from typing import Annotated, Any

import typer

SOURCES = (
    "a file (.csv, .tsv, .jsonl, also packed as .gz; .parquet, .feather, .xlsx, .duckdb), a table in one "
    "(shop.duckdb#orders) or a database URL (sqlite:///shop.db#orders)"
)

Sep = Annotated[
    str | None,
    typer.Option(help="What stands between the fields of a CSV file, as ';' or tab; found out when reading."),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Of a text file, as latin-1; by default its own mark, else UTF-8.", show_default=False),
]
Quote = Annotated[str | None, typer.Option(help="What stands around fields of a CSV file that hold a separator.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal point of a CSV file, . or a comma; found out when reading.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="What stands for a missing value in a CSV file, as '?'. Can be given more than once."),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="csv, jsonl, parquet, feather, excel or duckdb, where the ending does not say."),
]
Query = Annotated[str | None, typer.Option(help="What to ask a database for, as 'select * from orders'.")]
TableName = Annotated[str | None, typer.Option("--table", help="Which table of a database.")]
Sheet = Annotated[str | None, typer.Option(help="Which sheet of an Excel file.")]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Treat this column of numbers as categories. Can be given more than once."),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
AcceptRisk = Annotated[
    str | None,
    typer.Option(
        "--accept-risk",
        metavar="REASON",
        help="Write rows of a model that failed its privacy verdict; the reason is kept in the model file.",
        show_default=False,
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a table of a database that is there already.")]


def given(**options: Any) -> dict[str, Any]:
    """Keep the options that were given; the others have the defaults of `TableOptions`."""
    return {name: value for name, value in options.items() if value is not None}
