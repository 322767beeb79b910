"""`ttf push`: a model file to the Hugging Face Hub."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Model


def push(
    model: Model,
    repository: Annotated[str, typer.Argument(help="user/name; created where it does not exist.")],
    public: Annotated[bool, typer.Option("--public", help="Make a new repository public.")] = False,
    revision: Annotated[str | None, typer.Option(help="Branch to commit to.", show_default=False)] = None,
    accept_risk: Annotated[
        str | None,
        typer.Option(help="Why a model that failed its verdict is uploaded; the file keeps it.", show_default=False),
    ] = None,
) -> None:
    r"""Upload a model file to the Hugging Face Hub, with its card as README; needs the extra hub and a stored token.

    \b
    Examples:
      ttf push people.tabtree me/people
      ttf push people.tabtree me/people --public
    """
    from .. import TabTreeFormer

    loaded = TabTreeFormer.load(model, verbose=False)
    typer.echo(loaded.push_to_hub(repository, private=not public, revision=revision, accept_risk=accept_risk))
