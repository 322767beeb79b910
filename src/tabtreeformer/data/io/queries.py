"""Read-only queries: a single statement that writes nothing.

This is the first of two safeguards. The second is the database itself: SQLite and DuckDB files are opened read-only,
and servers are asked for a read-only transaction, which is rolled back.
"""

from __future__ import annotations

import re

from ...errors import ConfigError

WRITING = frozenset({
    "insert", "update", "delete", "merge", "replace", "upsert", "drop", "alter", "create", "truncate", "rename",
    "grant", "revoke", "copy", "export", "import", "vacuum", "attach", "detach", "pragma", "install", "load", "set",
    "reset", "use", "call", "exec", "execute", "do", "lock", "unlock", "begin", "start", "commit", "rollback",
    "savepoint", "checkpoint", "analyze", "reindex",
})  # fmt: skip
"""First words of statements that change something."""

_NOISE = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$", re.DOTALL
)
"""Text, quoted names and comments."""
_WORD = re.compile(r"[();]|\w+")


def check_query(query: str | None) -> None:
    """Reject a query that would write, however it is wrapped."""
    if query is None:
        return
    words = _WORD.findall(_NOISE.sub(" ", query).lower())
    while words and words[-1] == ";":
        words.pop()
    if ";" in words:
        raise ConfigError("the query must be one statement; leave out what follows the semicolon")
    first = next((word for word in words if word not in "()"), "")
    if first in WRITING:
        raise ConfigError(f"the query must read rows, but it starts with {first.upper()}")
    for before, word in zip(["", *words], words, strict=False):
        # `with x as (…) delete from t`, and `with x as (delete from t returning *) select …`
        opens = before in ("(", ")")
        if (opens and word in {"insert", "update", "delete", "merge", "replace"}) or word == "into":
            raise ConfigError(f"the query must read rows, but it holds {word.upper()}, which writes")
