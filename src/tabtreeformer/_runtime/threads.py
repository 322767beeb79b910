"""How many CPU threads PyTorch uses: small networks become much slower if threads wait for each other at each step."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager

SMALL_WIDTH = 128
"""Networks narrower than this run on one thread each."""


_most_cores: int | None = None


def available_cores() -> int:
    """Cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if _most_cores is None else min(cores, _most_cores)


def use_cores(most: int) -> None:
    """Leave other cores alone from here on: otherwise, processes that share a machine wait for each other.

    If PyTorch has not been imported, which takes seconds, the environment sets the limit for a later import.
    """
    global _most_cores
    _most_cores = most
    torch = sys.modules.get("torch")
    if torch is None:
        os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(most))
    else:
        torch.set_num_threads(most)


@contextmanager
def threads_for(width: int) -> Iterator[None]:
    """Use one thread for a small network, PyTorch's own choice for others; restore the setting afterwards.

    If PyTorch has not been imported, it is not about to be used.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    if width < SMALL_WIDTH:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def both(work: Callable[[int], None], give_up: Callable[[], None]) -> None:
    """Do work(0) and work(1), at once if there are cores; if one fails or the user interrupts, call `give_up`.

    Two threads are enough, because PyTorch releases Python's lock while it computes.
    """
    import torch

    if available_cores() < 2:
        work(0)
        work(1)
        return
    threads = max(1, torch.get_num_threads() // 2)

    def one(j: int) -> None:
        torch.set_num_threads(threads)  # the setting of the main thread does not apply here
        work(j)

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(one, j) for j in range(2)]
        done = False
        try:
            for run in as_completed(runs):
                run.result()
            done = True
        finally:
            if not done:
                give_up()
