"""The command line `ttf`. Commands import their dependencies when they run, so that `--help` is fast."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .._runtime.terminal import line_for
from .._version import __version__
from ..errors import ReadingWarning, TabTreeFormerError
from .attack import attack
from .audit import audit
from .benchmark import benchmark
from .card import card
from .command import command
from .evaluate import evaluate
from .explain import explain
from .fit import fit
from .impute import impute
from .inspect import inspect
from .mcp import mcp
from .predict import predict
from .push import push
from .sample import sample
from .schema import schema
from .score import score
from .ui import ui


class _Commands(TyperGroup):
    """typer ends a command that was stopped without a word."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None


app = typer.Typer(
    name="ttf",
    cls=_Commands,
    help="Learn a table and write new rows with the same columns, types and statistics.",
    epilog=(
        "\b\nStart with:\n  ttf fit data.csv --target y -o model.tabtree\n  ttf sample model.tabtree -n 1000 -o new.csv"
    ),
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for function in (
    fit,
    sample,
    impute,
    score,
    predict,
    inspect,
    explain,
    schema,
    evaluate,
    benchmark,
    audit,
    attack,
    card,
    push,
    mcp,
    ui,
):
    # Docstrings are raw strings, but click keeps lines apart only after a real backspace character.
    app.command(help=cleandoc(function.__doc__ or "").replace(r"\b", "\b"))(command(function))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ttf {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> None:
    """Run `ttf`: an expected error is one line on stderr and exit code 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or (len(arguments) == 1 and not arguments[0].startswith("-")):
        arguments = [*arguments, "--help"]  # a command without arguments shows its help
    try:
        with _terminating_as_interrupting(), _warning_in_one_line(quiet=not {"-q", "--quiet"}.isdisjoint(arguments)):
            sys.exit(app(arguments, prog_name="ttf", standalone_mode=False) or 0)
    except _UsageFault as error:
        _fail(error.format_message())
    except TabTreeFormerError as error:
        _fail(str(error))
    except (typer.Abort, KeyboardInterrupt):  # the latter before the command began
        typer.echo("ttf: stopped", err=True)
        sys.exit(130)


@contextlib.contextmanager
def _terminating_as_interrupting() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C: temporary files are removed, and a fit ends with the best model so far."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _warning_in_one_line(quiet: bool) -> Iterator[None]:
    """Print warnings of this package as one-line notes, without the line of code."""
    show = warnings.showwarning

    def noted(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if category.__module__.startswith("tabtreeformer"):
            if not quiet:
                _say(str(message))
        else:
            show(message, category, *where, **more)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=ReadingWarning)
        warnings.showwarning = noted
        yield


# Depending on its version, typer bundles click or uses the installed one; these names exist in both.
_UsageFault: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


def _say(message: str) -> None:
    """One line; in a terminal it is broken between words."""
    typer.echo(line_for(sys.stderr, "ttf: " + " ".join(message.split())), err=True)


def _fail(message: str) -> None:
    _say(message)
    sys.exit(2)
