"""A worker process, run with `python -m`: reads and writes lines of JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from ....errors import TabTreeFormerError
from .work import prepare


def main() -> None:
    """Answer until the input ends, or until an unexpected error ends the process."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries must not mix with answers
    sys.excepthook = partial(_say_why, answers)
    work: Callable[[Any], Any] | None = None
    for line in sys.stdin:
        message, result = json.loads(line), None
        try:
            if work is None:
                work = _prepare(message)
            else:
                result = work(message["job"])
        except TabTreeFormerError as error:
            _answer(answers, {"error": [type(error).__name__, str(error)]})
        else:
            _answer(answers, {"result": result})


def _answer(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _say_why(answers: TextIO, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Report an uncaught error to the caller and print its traceback."""
    if issubclass(kind, Exception):
        _answer(answers, {"error": [kind.__name__, str(error)]})
    sys.__excepthook__(kind, error, trace)


def _prepare(message: dict[str, Any]) -> Callable[[Any], Any]:
    files = {name: Path(path) for name, path in message["files"].items()}
    return prepare(message["work"], message["settings"], files, message["cores"])


if __name__ == "__main__":
    main()
