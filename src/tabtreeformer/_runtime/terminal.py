"""Text that is safe to print in a terminal, whoever wrote it, and easy to read in a narrow one."""

from __future__ import annotations

import json
import shutil
import textwrap
import unicodedata
from typing import TextIO


def printable(text: object) -> str:
    """The text with its control and direction characters escaped; line ends and tabs stay.

    Otherwise, a column name in a stranger's file could move the cursor, clear the screen or forge lines.
    """
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf") else _escaped(c) for c in str(text))


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1]  # escaped as in JSON, so that JSON stays JSON


def wrapped(text: str, width: int) -> str:
    """A line broken between words, with the continuation indented."""
    indent = text[: len(text) - len(text.lstrip())]
    parts = textwrap.wrap(
        text, max(width, 40), subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(parts)


def line_for(stream: TextIO, text: str) -> str:
    """A line of safe characters: broken between words for a terminal, whole for a file."""
    line = printable(text)
    return wrapped(line, shutil.get_terminal_size().columns) if stream.isatty() else line
