"""`ttf sample` with a model of linked tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import RuntimeOptions

if TYPE_CHECKING:
    from ..relational import RelationalTabTreeFormer
    from .sample import QuestionOptions


@dataclass(frozen=True, kw_only=True)
class TogetherOptions:
    """Options for models of several tables."""

    scale: Annotated[
        float | None,
        typer.Option(
            help="For a database: its size relative to the original, e.g. 2 for twice as many rows.", show_default=False
        ),
    ] = None
    children: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE=N", help="For a database: number of rows of a table per parent. Can be given more than once."
        ),
    ] = None
    ending: Annotated[
        str, typer.Option(help="For a database: extension of the files in a folder, .csv, .parquet or .jsonl.")
    ] = ".csv"


def is_database(path: Path) -> bool:
    """Return whether a model file contains several tables."""
    from ..artifact.archive import DATABASE, form_of

    return form_of(path) == DATABASE


def sample_together(
    model: Path,
    output: str,
    question: QuestionOptions,
    together: TogetherOptions,
    options: dict[str, Any],
    runtime: RuntimeOptions,
    accept_risk: str | None,
) -> None:
    """Write new tables with matching keys and the columns and types of the original tables."""
    import warnings

    from ..data.io import write_table
    from ..data.io.several import check_tables_target, is_folder, write_tables
    from ..errors import ConfigError, PrivacyWarning
    from ..privacy.gate import check_release
    from ..relational import RelationalTabTreeFormer
    from .outputs import check_not_read, check_table_output

    if question.balance or question.mix or question.settings:
        raise ConfigError("--balance, --mix and --set are not available for linked tables")
    fitted = RelationalTabTreeFormer.load(model, device=runtime.device, verbose=not runtime.quiet)
    overwrite = bool(options.get("overwrite"))
    one = fitted.has_groups
    if one:
        check_table_output(output, [model], options)
    else:
        check_tables_target(output, list(fitted.tables_), ending=together.ending, overwrite=overwrite)
        for name in fitted.tables_:
            check_not_read(Path(output) / f"{name}{together.ending}", [model])
    if check_release(model, {"privacy": fitted.privacy_}, accept_risk, sum(t.n_rows for t in fitted.tables_.values())):
        runtime.echo(f"the model failed its privacy verdict; your reason was recorded in {model}", err=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # `check_release` has already asked for a reason
        number = _numbers(question.number, one=one)
        asked: dict[str, Any] = {
            "scale": 1.0 if together.scale is None else together.scale,
            "given": _conditions(question.conditions, fitted),
            "children": _children(together.children),
            "random_state": question.seed,
        }
        if not one and is_folder(output):
            written = fitted.sample_to(output, number, ending=together.ending, overwrite=overwrite, **asked)
            runtime.echo(", ".join(f"{name}: {n:,} rows" for name, n in written.items()) + f" in {output}")
            return
        tables = fitted.sample(number, **asked)
    if one:
        write_table(tables, output, **options)
        runtime.echo(f"wrote {len(tables):,} rows × {tables.shape[1]} columns to {output}", err=output == "-")
        return
    write_tables(tables, output, overwrite=overwrite)
    runtime.echo(", ".join(f"{name}: {len(table):,} rows" for name, table in tables.items()) + f" in {output}")


def _numbers(texts: list[str] | None, *, one: bool) -> dict[str, int] | int | None:
    from ..errors import ConfigError

    if texts and len(texts) == 1 and texts[0].isdecimal():
        return int(texts[0])
    if texts and one:
        raise ConfigError(f"-n takes the number of groups, got {texts[0]!r}")
    return _pairs(texts, "-n takes a table and a number, e.g. customers=500") or None


def _children(texts: list[str] | None) -> dict[str, int] | None:
    return _pairs(texts, "--children takes a table and a number, e.g. orders=3") or None


def _pairs(texts: list[str] | None, usage: str) -> dict[str, int]:
    from ..errors import ConfigError

    numbers: dict[str, int] = {}
    for text in texts or ():
        table, _, number = text.rpartition("=")
        if not table or not number.isdecimal():
            raise ConfigError(f"{usage}, got {text!r}")
        numbers[table] = int(number)
    return numbers


def _conditions(texts: list[str] | None, fitted: RelationalTabTreeFormer) -> dict[str, Any] | None:
    """Parse conditions on `table.column` as the model of that table does."""
    from ..errors import ConfigError
    from .conditions import read_conditions

    read: dict[str, Any] = {}
    for text in texts or ():
        name, dot, rest = text.partition(".")
        table = fitted.tables_.get(name)
        if not dot or table is None or table.model is None:
            raise ConfigError(
                f"--given takes a table, a column and a condition, e.g. customers.country=DE, got {text!r}"
            )
        for column, value in read_conditions([rest], table.model.fitted_.codec).items():
            read[f"{name}.{column}"] = value
    return read or None
