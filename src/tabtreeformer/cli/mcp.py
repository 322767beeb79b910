"""`ttf mcp`: a server for assistants, on standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def mcp(
    folders: Annotated[list[Path], typer.Argument(help="Folders that may be read and written; nothing else is.")],
    real_rows: Annotated[
        bool, typer.Option("--real-rows", help="Also offer a tool that shows rows of real tables to the assistant.")
    ] = False,
) -> None:
    r"""Serve assistants over the Model Context Protocol (extra mcp): describe, fit, sample, impute, evaluate, card.

    The server speaks on standard input and output, as assistants start it; it opens no port.

    \b
    Examples:
      ttf mcp ~/tables
      ttf mcp ~/tables ~/models --real-rows
    """
    from ..apps.mcp_server import build_server

    build_server(folders, real_rows=real_rows).run()
