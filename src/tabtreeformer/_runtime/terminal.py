"""Text that a terminal can be trusted with, whoever wrote it."""

from __future__ import annotations

import json
import unicodedata


def printable(text: object) -> str:
    """The text with its control and direction characters written out; line ends and tabs stay.

    A column name of a stranger's file could otherwise move the cursor, clear the screen or forge lines.
    """
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf") else _escaped(c) for c in str(text))


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1]  # in the way of JSON, so that JSON stays JSON
