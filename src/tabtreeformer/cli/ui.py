"""`ttf ui`: a local web page, from uploading a table to downloading new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def ui(
    folder: Annotated[
        Path | None,
        typer.Option(help="Keep tables and models here; by default they are deleted when the page is closed."),
    ] = None,
    port: Annotated[int, typer.Option(help="Port on the loopback address; 0 picks a free one.")] = 0,
    max_megabytes: Annotated[int, typer.Option(help="Maximum upload size in megabytes.", min=1)] = 200,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    r"""Open a local web page: drop a table, review it, fit, read the verdict, download rows (needs the extra ui).

    The server listens on the loopback address only and requires the token in the page's address. It loads nothing from
    the network, and no data leaves the machine. Ctrl-C stops it.

    \b
    Examples:
      ttf ui
      ttf ui --folder work --no-browser
    """
    from ..errors import ConfigError, OutputError, import_extra

    for module in ("starlette", "uvicorn", "jinja2", "python_multipart"):
        import_extra(module, "ui")
    from ..apps.ui.server import serve

    if folder is not None and not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder; create it first, or leave --folder out")

    def announce(address: str) -> None:
        typer.echo(f"open {address}")
        if browser:
            import webbrowser

            webbrowser.open(address)

    try:
        serve(folder, port, max_megabytes * 2**20, announce)
    except OSError as error:
        raise OutputError(f"cannot listen on port {port}: {error.strerror or error}; choose another --port") from error
