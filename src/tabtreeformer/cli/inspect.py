"""`ttf inspect`: what is in a model file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .._runtime.terminal import line_for, printable
from .options import Model


def inspect(
    model: Model,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show what is in a model file: columns, sizes, settings and training history."""
    from ..synthesizer import TabTreeFormer

    summary = TabTreeFormer.load(model, device="cpu", verbose=False).summary()
    if as_json:
        typer.echo(printable(json.dumps(summary, indent=2, ensure_ascii=False)))
    else:
        _show(model, summary)


def _show(path: Path, summary: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..privacy.gate import failed, file_leaks, known_level, level_line, reasons_of

    console = Console(highlight=False, soft_wrap=True)
    megabytes = path.stat().st_size / 2**20
    _say(f"{path}  {megabytes:.1f} MB, preset {summary['preset']}, learned {_rows(summary)} rows")
    if not summary["networks"]:
        _say(f"trees      no network, at least {summary['config']['forest']['leaf_rows']} rows per leaf")
    else:
        _show_networks(summary)
    _say(f"written by tabtreeformer {summary['versions']['tabtreeformer']}")
    if level := known_level(summary):
        _say(f"privacy    {level_line(level)}")
    if failed(summary):
        _say(f"privacy    FAIL: {reasons_of(summary['privacy'])}")
    if file_leaks(summary):
        _say(f"this file  FAIL, share rows instead: {reasons_of(summary['privacy']['file'])}")
    table = Table("column", "kind", "dtype", "ids", box=None, header_style="bold")
    for column in summary["columns"]:
        ids = " + ".join(str(size) for size in column["ids"])
        table.add_row(*(Text(printable(cell)) for cell in (column["name"], column["kind"], column["dtype"], ids)))
    console.print(table)
    for text in summary["laws"]:
        _say(text)


def _rows(summary: dict[str, Any]) -> str:
    """The number of rows learned, and the total if the budget was too small for all of them."""
    rows = f"{summary['rows']:,}"
    return f"{rows} of {summary['of_rows']:,}" if "of_rows" in summary else rows


def _say(text: str) -> None:
    typer.echo(line_for(sys.stdout, text))


def _show_networks(summary: dict[str, Any]) -> None:
    tree = f"{summary['tree_model']}, {summary['trees']} trees"
    if summary["trees"] and summary["tree_target"] is not None:
        tree += f" predicting {summary['tree_target']!r}"
    _say(f"trees      {tree}")
    networks = f"{summary['networks']} networks of {summary['parameters']:,} parameters"
    _say(f"networks   {networks}, {summary['length']} tokens per row, {summary['vocabulary']:,} known tokens")
    for run in summary["training"]:
        loss = f", validation loss {min(v[2] for v in run['validations']):.4f}" if run["validations"] else ""
        kept = f", weights of step {run['best_step']}" if run["best_step"] else ""
        rate = run["rows"] / run["seconds"] if run["seconds"] else 0
        _say(f"training   {run['name']}: {run['steps']} steps, {rate:,.0f} rows/s{loss}{kept}")
