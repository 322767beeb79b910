"""`ttf card`: what a model was fitted on, and how good and how safe its rows are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .._runtime.terminal import printable
from .options import Model, Overwrite
from .outputs import check_output


def card(
    model: Model,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON instead of Markdown.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write it to this file.", show_default=False)
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    r"""Print the model card: size of the data, settings, versions, scores, protection, and what the verdict does not
    cover.

    \b
    Examples:
      ttf card people.tabtree
      ttf card people.tabtree -o card.md
      ttf card people.tabtree --json
    """
    import json

    from .._runtime.files import replacing
    from ..privacy.card import model_card, to_markdown

    if output is not None:
        check_output(output, [model], overwrite)
    content = model_card(model)
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n" if as_json else to_markdown(content)
    if output is None:
        typer.echo(printable(text), nl=False)
        return
    with replacing(output) as temporary:
        temporary.write_text(text, encoding="utf-8")
