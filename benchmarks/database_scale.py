"""How time and memory grow with the total number of rows, on the made-up shop of `examples/shop.py`.

    python -m benchmarks.database_scale
    python -m benchmarks.database_scale --sizes 1000 4000 16000 --page docs/lab/databases.md

Each size has its own process: it makes the shop, learns it with trees, and writes a shop of the same size to files.
The last lines write shops of several sizes from one model and show how memory grows when only the new tables grow.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import runpy
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tabtreeformer import RelationalTabTreeFormer

from .pages import ROOT, as_table, put

SCALES = (10, 40)
"""Sizes of new databases compared with the smallest one that is learned."""


def main() -> None:
    """Measure all sizes, print a table, and write it to a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 4_000, 16_000, 64_000], help="customers")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    jobs = [(size, 1.0) for size in options.sizes] + [(min(options.sizes), float(scale)) for scale in SCALES]
    context = multiprocessing.get_context("spawn")
    lines = []
    for job in jobs:
        with context.Pool(1) as pool:
            lines.append(pool.apply(measure, job))
        print(lines[-1], flush=True)
    head = ["customers learned", "rows learned", "fit, CPU s", "rows written", "write, CPU s", "peak memory, MiB"]
    growth = [lines[: len(options.sizes)], lines[len(options.sizes) :]]
    text = as_table(head, [[f"{line[name]:,.4g}" if isinstance(line[name], float) else f"{line[name]:,}"
                            for name in head] for line in lines])  # fmt: skip
    text += (
        f"\n\nTime grows with the rows to the power of {_power(growth[0], 'rows learned', 'fit, CPU s'):.2f} (fit) and "
        f"{_power(growth[0], 'rows written', 'write, CPU s'):.2f} (new rows); 1 is linear. A large table that no other "
        "points to is written in pieces; all other new tables are in memory."
    )
    print(text)
    if options.page:
        put(options.page, "scale", text)


def measure(n_customers: int, scale: float) -> dict[str, Any]:
    """Learn a shop and write a new one."""
    tables = runpy.run_path(str(ROOT / "examples" / "shop.py"))["make"](n_customers)
    n_rows = sum(map(len, tables.values()))
    started = time.process_time()
    model = RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(tables)
    fitted = time.process_time()
    del tables
    with TemporaryDirectory() as folder:
        written = model.sample_to(Path(folder) / "new", scale=scale, random_state=0)
    return {
        "customers learned": n_customers,
        "rows learned": n_rows,
        "fit, CPU s": fitted - started,
        "rows written": sum(written.values()),
        "write, CPU s": time.process_time() - fitted,
        "peak memory, MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def _power(lines: list[dict[str, Any]], rows: str, seconds: str) -> float:
    """The power of the rows with which time grows, over the upper half of the sizes."""
    upper = lines[len(lines) // 2 - 1 :]
    x, y = (np.log([line[name] for line in upper]) for name in (rows, seconds))
    return float(np.polyfit(x, y, 1)[0])


if __name__ == "__main__":
    main()
