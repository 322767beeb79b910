"""`ttf explain`: the laws of a model, and how each column is written by them."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from .options import Model


def explain(
    model: Model,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    r"""Say what a model knows of its table: the laws that rows keep, and what is learned of each column.

    Sentences can be given to a fit, as constraints or in a schema file; any can be dropped or added there.

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
        typer.echo(json.dumps(plain, indent=2, ensure_ascii=False))
        return
    for text in (*codec.laws.announced(), *(f"{EVERY_ROW}: {text}" for text in codec.rules.texts)):
        typer.echo(text)
    width = max(len(str(name)) for name in columns)
    for name, words in columns.items():
        typer.echo(f"{name!s:{width}}  {words}")
