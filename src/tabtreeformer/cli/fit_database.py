"""`ttf fit` on linked tables: a folder or database of several tables, or one table with groups of rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import ColumnOptions, RuntimeOptions, SourceOptions
from .outputs import check_output

if TYPE_CHECKING:
    from .fit import LearnOptions, RunOptions
    from .fit_input import InputOptions


@dataclass(frozen=True, kw_only=True)
class TogetherOptions:
    """How tables, or the rows of one table, are linked."""

    links: Annotated[
        list[str] | None,
        typer.Option(
            "--link",
            metavar="CHILD.COLUMN -> PARENT.KEY",
            help="For several tables: a link, e.g. 'orders.customer_id -> customers.id'. By default links are "
            "detected from names, types and values, and printed. Can be given more than once.",
        ),
    ] = None
    group: Annotated[
        str | None,
        typer.Option(help="For one table: the column that identifies a group of rows, e.g. a patient's id."),
    ] = None
    orders: Annotated[
        list[str] | None,
        typer.Option(
            "--order",
            metavar="[TABLE.]COLUMN",
            help="Column that orders the rows of a group or of a parent, e.g. orders.date.",
        ),
    ] = None
    unit: Annotated[
        str | None,
        typer.Option(
            help="For several tables: the table whose rows are protected, each together with all rows linked to it."
        ),
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="For several tables: a table without parents to copy unchanged, because its rows are public and not "
            "about people, e.g. countries. Can be given more than once.",
        ),
    ] = None
    dangling: Annotated[
        str,
        typer.Option(
            help="For several tables: whether a key that matches no row is an error or is learned as missing."
        ),
    ] = "error"

    def asked(self, table: str, source: SourceOptions) -> bool:
        """Return whether there are several tables, or groups of rows, to learn."""
        from ..data.io.several import holds_several

        if self.group is not None or self.links:
            return True
        return source.query is None and source.table_name is None and holds_several(table, **source.given())


def fit_together(
    table: str,
    together: TogetherOptions,
    learning: LearnOptions,
    columns: ColumnOptions,
    run: RunOptions,
    reading: InputOptions,
    source: SourceOptions,
    runtime: RuntimeOptions,
) -> None:
    """Learn linked tables or grouped rows, and write one model file."""
    from .._runtime.progress import parse_duration
    from ..data.io import read_table
    from ..data.io.several import read_tables
    from ..relational import RelationalTabTreeFormer
    from .fit import model_sections

    _refuse(learning, columns, run, reading)
    path = run.output or Path(f"{Path(table.rstrip('/')).name.split('.')[0] or 'database'}.tabtree")
    check_output(path, [table], run.overwrite)
    model = RelationalTabTreeFormer(
        learning.preset,
        unit=together.unit,
        keep=tuple(together.keep or ()),
        dangling=together.dangling,
        random_state=learning.seed,
        verbose=not runtime.quiet,
        privacy=learning.privacy,
        device=runtime.device,
        budget_seconds=None if learning.budget is None else parse_duration(learning.budget),
        **model_sections(learning),
    )
    options = source.given()
    if together.group is not None:
        order = _single_order(together.orders)
        model.fit(read_table(table, **options), group=together.group, order=order)
    else:
        model.fit(read_tables(table, **options), together.links, order=_orders(together.orders))
    model.save(path)
    runtime.echo(f"wrote {path}; sample from it with: ttf sample {path} -o new{'.csv' if together.group else '/'}")


def _refuse(learning: LearnOptions, columns: ColumnOptions, run: RunOptions, reading: InputOptions) -> None:
    """Refuse options that have no effect on linked tables."""
    from ..errors import ConfigError

    given = {
        "--target": learning.target,
        "--constraint": learning.constraint,
        "--sensitive": learning.sensitive,
        "--epsilon": learning.epsilon,
        "--delta": learning.delta,
        "--categorical": columns.categorical,
        "--schema": columns.schema_file,
        "--checkpoint": run.checkpoint,
        "--resume": run.resume,
        "--keep-checkpoint": run.keep_checkpoint,
        "--holdout": reading.holdout,
        "--stream": reading.stream,
        "--drop-missing": reading.drop_missing,
    }
    for name, value in given.items():
        if value:
            raise ConfigError(f"{name} is not available for linked tables; leave it out")


def _single_order(texts: list[str] | None) -> str | None:
    from ..errors import ConfigError

    if texts and len(texts) > 1:
        raise ConfigError("--group takes a single --order")
    return texts[0] if texts else None


def _orders(texts: list[str] | None) -> dict[str, Any]:
    from ..errors import ConfigError

    orders: dict[str, Any] = {}
    for text in texts or ():
        table, dot, column = text.partition(".")
        if not dot:
            raise ConfigError(f"--order takes a table and a column, e.g. orders.date, got {text!r}")
        orders[table] = column
    return orders
