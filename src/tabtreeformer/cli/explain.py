"""`ttf explain`: the laws of a model, and how each column is written."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from .._runtime.terminal import line_for, printable
from .options import Model


def explain(
    model: Model,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    r"""Show what a model learned about its table: the laws that rows keep, and how each column is generated.

    You can add or drop these sentences in a schema file, or pass them to `ttf fit` as constraints.

    \b
    Example:
      ttf explain model.tabtree
    """
    from ..laws.laws import EVERY_ROW
    from ..synthesizer import TabTreeFormer

    codec = TabTreeFormer.load(model, device="cpu", verbose=False).fitted_.codec
    columns = codec.laws.explain()
    if as_json:
        plain = {"laws": list(codec.texts), "columns": {str(name): words for name, words in columns.items()}}
        typer.echo(printable(json.dumps(plain, indent=2, ensure_ascii=False)))
        return
    for text in (*codec.laws.announced(), *(f"{EVERY_ROW}: {text}" for text in codec.rules.texts)):
        typer.echo(line_for(sys.stdout, text))
    width = max(len(str(name)) for name in columns)
    for name, words in columns.items():
        typer.echo(line_for(sys.stdout, f"{name!s:{width}}  {words}"))
