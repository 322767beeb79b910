"""The report as an object: a notebook displays it, and it can be saved as one file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from html import escape

from ..._runtime.files import replacing
from .. import Evaluation
from .verdict import verdicts

HEIGHT = 720
"""Pixels of the report in a notebook; it scrolls inside."""


@dataclass(frozen=True, repr=False)
class Report:
    """A page, and the evaluation that it shows."""

    page: str = field()
    evaluation: Evaluation

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to one file."""
        with replacing(path) as temporary:
            temporary.write_text(self.page, encoding="utf-8")

    def __repr__(self) -> str:
        rows = self.evaluation.facts["rows"]
        said = " ".join(f"{v.question} {v.word}." for v in verdicts(self.evaluation))
        return f"Report on {rows['synthetic']:,} synthetic rows and {rows['train']:,} training rows: {said}"

    def _repr_html_(self) -> str:
        # A frame keeps the page's style and script out of the notebook, and its own content policy.
        return (
            f'<iframe srcdoc="{escape(self.page)}" sandbox="allow-scripts" title="report" width="100%" '
            f'height="{HEIGHT}" style="border:1px solid rgba(128,140,155,.45);border-radius:8px"></iframe>'
        )
