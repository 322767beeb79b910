"""`ttf mcp`: an MCP server on standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def mcp(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders that the server may read and write; it touches nothing else.")
    ],
    real_rows: Annotated[
        bool, typer.Option("--real-rows", help="Also offer a tool that shows rows of real tables to the assistant.")
    ] = False,
) -> None:
    r"""Serve assistants over the Model Context Protocol (extra mcp): describe, fit, sample, impute, evaluate, card.

    The server talks over standard input and output; it opens no port.

    \b
    Examples:
      ttf mcp ~/tables
      ttf mcp ~/tables ~/models --real-rows
    """
    from ..apps.mcp_server import build_server

    build_server(folders, real_rows=real_rows).run()
