"""The command line `ttf`. Commands import what they need when they run, so that help answers at once."""

from __future__ import annotations

import sys
from inspect import cleandoc
from typing import Annotated, Any

import typer

from .._version import __version__
from ..errors import TabTreeFormerError
from .audit import audit
from .benchmark import benchmark
from .card import card
from .evaluate import evaluate
from .fit import fit
from .impute import impute
from .inspect import inspect
from .predict import predict
from .sample import sample
from .schema import schema
from .score import score

app = typer.Typer(
    name="ttf",
    help="Learn a table and write new rows that look, behave and type exactly like it.",
    epilog=(
        "\b\nStart with:\n  ttf fit data.csv --target y -o model.tabtree\n  ttf sample model.tabtree -n 1000 -o new.csv"
    ),
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for command in (fit, sample, impute, score, predict, inspect, schema, evaluate, benchmark, audit, card):
    # Docstrings are raw; what keeps help from running examples together is a real backspace.
    app.command(help=cleandoc(command.__doc__ or "").replace(r"\b", "\b"))(command)


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
    """Run `ttf`: a foreseen failure is one line on stderr and exit code 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or (len(arguments) == 1 and not arguments[0].startswith("-")):
        arguments = [*arguments, "--help"]  # a bare command asks for help
    try:
        sys.exit(app(arguments, prog_name="ttf", standalone_mode=False) or 0)
    except _UsageFault as error:
        _fail(error.format_message())
    except TabTreeFormerError as error:
        _fail(str(error))
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("ttf: stopped", err=True)
        sys.exit(130)


# typer brings its own click or uses the installed one, by version; its own names are the same in both.
_UsageFault: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")


def _fail(message: str) -> None:
    typer.echo("ttf: " + " ".join(message.split()), err=True)
    sys.exit(2)
