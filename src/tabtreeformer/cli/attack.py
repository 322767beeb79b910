"""`ttf attack`: can an attacker who fits the same model on other rows tell who was in the training table?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from .._runtime.terminal import printable
from .options import SOURCES, Model, ReadOptions, RuntimeOptions

if TYPE_CHECKING:
    from ..privacy.shadows import ShadowAttack


@dataclass(frozen=True, kw_only=True)
class AttackOptions:
    """Held-out rows, number of shadow models, and the limits that decide."""

    holdout: Annotated[
        str,
        typer.Option(help="Rows of the same kind that the model was not fitted on: at least 50.", show_default=False),
    ]
    shadows: Annotated[
        int, typer.Option(help="Number of shadow models to fit; each takes as long as the original fit.")
    ] = 8
    level: Annotated[str, typer.Option(help="Whose limits to apply: balanced or strict.")] = "balanced"
    seed: Annotated[int, typer.Option(help="Seed of the shadow models.")] = 0
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False


def attack(
    model: Model,
    train: Annotated[
        str, typer.Argument(help=f"The table that the model was fitted on: {SOURCES}.", show_default=False)
    ],
    asked: AttackOptions,
    reading: ReadOptions,
    runtime: RuntimeOptions,
) -> None:
    r"""Attack a model with shadow models: the same model, fitted again on random halves of the rows.

    Much stronger than the attacks at the end of a fit, and as slow as fitting that many models.
    Exit code 0: neither the model's rows nor its file reveal members; 1: one of them does; 2: the attack could not run.

    \b
    Examples:
      ttf attack people.tabtree people.csv --holdout others.csv
      ttf attack people.tabtree people.csv --holdout others.csv --shadows 16 --json
    """
    import json

    from ..data.io import read_table

    members, others = (read_table(place, **reading.given()) for place in (train, asked.holdout))
    result = runtime.load(model).attack(
        members, others, n_shadows=asked.shadows, level=asked.level, random_state=asked.seed
    )
    if asked.as_json:
        typer.echo(json.dumps(result.to_json(), indent=1, ensure_ascii=False))
    else:
        _show(result)
    if result.rows_leak or result.file_leaks:
        raise typer.Exit(1)


def _show(result: ShadowAttack) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..privacy.shadows import FILE_ATTACK

    console = Console(highlight=False, soft_wrap=True)
    table = Table("attack", "needs", "AUC", "95 % interval", "found at 1 %", "at 10 %", box=None, header_style="bold")
    for name, facts in result.attacks.items():
        low, high = facts["auc_interval"]
        table.add_row(
            name,
            "the file" if name == FILE_ATTACK else "rows",
            f"{facts['auc']:.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{facts['true_positives']:.1%}",
            f"{facts['true_positives_at_10']:.1%}",
        )
    console.print(table)
    for found in result.findings:
        if found.leak:
            console.print(Text(printable(f"LEAK  {found.measure}: {found.text}")))
    rows, file = ("FAIL" if leaks else "PASS" for leaks in (result.rows_leak, result.file_leaks))
    console.print(
        Text(
            f"rows {rows}, file {file}: {result.n_members:,} training rows against {result.n_others:,} others, "
            f"{result.n_shadows} shadow models"
        )
    )
