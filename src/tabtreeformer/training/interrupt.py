"""Ctrl-C while networks train: the first ends the run with the best so far, the second at once."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from ..progress import Progress


@contextlib.contextmanager
def ending_on_interrupt(asked: threading.Event, progress: Progress) -> Iterator[None]:
    """Set `asked` on the first SIGINT; leave a program that handles it by itself alone, and threads too."""
    own = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not own or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        progress.note("ending with the best so far; interrupt again to stop at once")

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
