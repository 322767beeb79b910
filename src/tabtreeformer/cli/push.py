"""`ttf push`: upload a model file to the Hugging Face Hub."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Model


def push(
    model: Model,
    repository: Annotated[str, typer.Argument(help="user/name; created if it does not exist.")],
    public: Annotated[bool, typer.Option("--public", help="Make the repository public if it is new.")] = False,
    revision: Annotated[str | None, typer.Option(help="Branch to commit to.", show_default=False)] = None,
    accept_risk: Annotated[
        str | None,
        typer.Option(
            help="Upload although the model failed its verdict; the reason is recorded in the file.", show_default=False
        ),
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
