"""Ctrl-C or SIGTERM while networks train: the first ends the run with its best model, the second at once."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from .._runtime.progress import Progress

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def ending_on_interrupt(asked: threading.Event, progress: Progress) -> Iterator[None]:
    """Set `asked` on the first signal; do nothing if the program has its own handler, or in other threads.

    If Ctrl-C is ignored, as in a job that a shell runs in the background, it stays ignored, and SIGTERM still works.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = (signal.default_int_handler, signal.SIG_DFL)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    if before[signal.SIGINT] not in (*usual, signal.SIG_IGN):
        yield
        return
    before = {number: handler for number, handler in before.items() if handler in usual}

    def end(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        progress.note("stopping with the best so far; interrupt again to stop at once")

    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
