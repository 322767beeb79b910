"""Big tables with trees: processor seconds and memory of a whole fit, verdict included, and of writing rows.

    python -m benchmarks.scale_trees --rows 1000000

The table is made by `make_table`; run each size in its own process, so that its peak memory is measured separately.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

N_NEW = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None, help="where the table is made; by default the system's")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print(measure(Path(folder) / "table.parquet", options.rows))


def measure(path: Path, n_rows: int) -> str:
    """Make a table, fit it and write rows; what that took, in a line."""
    from tabtreeformer import TabTreeFormer

    from . import make_table

    make_table.write(path, n_rows)
    began, clock = time.process_time(), time.perf_counter()
    model = TabTreeFormer("trees", random_state=0).fit(path)
    fitted, wall = time.process_time(), time.perf_counter() - clock
    model.sample(N_NEW, accept_risk=True)
    written = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    columns = len(model.fitted_.schema.names)
    return (
        f"{n_rows:,} rows × {columns} columns: fit {fitted - began:.1f} CPU s ({wall:.1f} s), {N_NEW:,} new rows "
        f"{written - fitted:.1f} CPU s, peak {peak:,.0f} MiB"
    )


if __name__ == "__main__":
    main()
