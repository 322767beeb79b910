"""A worker process, run with `python -m`: a line of JSON in, a line of JSON out."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from .work import described, prepare


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not come between answers
    work = None
    for line in sys.stdin:
        message = json.loads(line)
        answer: dict[str, Any]
        try:
            if work is None:
                files = {name: Path(path) for name, path in message["files"].items()}
                work = prepare(message["work"], message["settings"], files, message["cores"])
                answer = {"result": None}
            else:
                answer = {"result": work(message["job"])}
        except Exception as error:
            answer = {"error": described(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
