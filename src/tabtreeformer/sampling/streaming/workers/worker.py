"""A worker process, run with `python -m`: a line of JSON in, a line of JSON out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from .work import attempted, prepare


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not come between answers
    work = None
    for line in sys.stdin:
        message = json.loads(line)
        if work is None:
            work, error = attempted(partial(_prepare, message))
            result = None
        else:
            result, error = attempted(partial(work, message["job"]))
        answers.write(json.dumps({"result": result} if error is None else {"error": error}) + "\n")
        answers.flush()


def _prepare(message: dict[str, Any]) -> Callable[[Any], Any]:
    files = {name: Path(path) for name, path in message["files"].items()}
    return prepare(message["work"], message["settings"], files, message["cores"])


if __name__ == "__main__":
    main()
