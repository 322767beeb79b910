"""How well laws found in some rows of a table hold in the others, and how long the search takes.

    python -m benchmarks.law_search --data ../shared/data
    python -m benchmarks.law_search --wide 300               a made-up table of this many columns
    python -m benchmarks.law_search --page docs/lab/laws.md  writes the tables of the CSV into the page

Laws are found in a random 70 % of each table and checked in the rest, as `auto` would express it. A law is false if it
was reported without exceptions and more than one fresh row in a thousand breaks it; rows outside a range that allows
exceptions (`lat, long within zipcode`) are reported exceptions. A control with every column shuffled has no laws.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measured import asked, parser
from benchmarks.pages import as_table
from tabtreeformer import Schema
from tabtreeformer._runtime.threads import use_cores
from tabtreeformer.laws import Frame, Laws, find_laws

SEEN, FLOOR = 0.7, 5
MAX_BROKEN = 0.001


def main() -> None:
    """Search every table, or a wide one."""
    arguments = parser(__doc__, "law_search.csv")
    arguments.add_argument("--wide", type=int, help="search a made table of this many columns instead")
    options = asked(arguments, {"searches": means})
    use_cores(1)
    tables = [("wide", wide(options.wide))] if options.wide else list(read(options.data))
    rows = [searched(name, frame, seed) for name, frame in tables for seed in range(options.seeds)]
    before = pd.read_csv(options.results) if options.results.exists() else pd.DataFrame({"table": []})
    before = before[~before["table"].isin([row["table"] for row in rows])]
    pd.concat([before, pd.DataFrame(rows)], ignore_index=True).to_csv(options.results, index=False)


def read(folder: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """All tables below a folder."""
    for path in sorted([*folder.rglob("*.csv"), *folder.rglob("*.csv.gz")]):
        yield path.name.partition(".")[0], pd.read_csv(path)


def wide(n_columns: int, n_rows: int = 5000) -> pd.DataFrame:
    """Columns of all sorts, a twentieth of them sums of three others."""
    r = np.random.default_rng(0)
    columns: dict[str, Any] = {}
    for k in range(n_columns):
        kind = k % 5
        if kind == 0:
            columns[f"c{k}"] = r.lognormal(3, 1, n_rows).round(2)
        elif kind == 1:
            columns[f"c{k}"] = r.integers(0, 40, n_rows)
        elif kind == 2:
            columns[f"c{k}"] = r.choice([f"w{i}" for i in range(8)], n_rows)
        elif kind == 3:
            columns[f"c{k}"] = np.where(r.random(n_rows) < 0.6, 0, r.integers(1, 900, n_rows))
        else:
            parts = [columns[f"c{r.integers(0, k // 5) * 5}"] for _ in range(3)] if k > 40 and k % 20 == 4 else None
            columns[f"c{k}"] = r.normal(50, 9, n_rows).round(1) if parts is None else sum(parts).round(2)
    return pd.DataFrame(columns)


def searched(name: str, df: pd.DataFrame, seed: int) -> dict[str, Any]:
    """Find laws in most rows, and count those that the others break."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(df))
    cut = round(SEEN * len(df))
    seen, fresh = (df.iloc[np.sort(own)].reset_index(drop=True) for own in (order[:cut], order[cut:]))
    schema = Schema.infer(seen)
    frame = schema.validate(seen)
    started = time.process_time()
    laws = find_laws(frame, schema, floor=FLOOR, rng=np.random.default_rng(seed))
    seconds = time.process_time() - started
    broken = false_laws(laws, schema.validate(fresh))
    mixed = pd.DataFrame({column: seen[column].to_numpy()[rng.permutation(len(seen))] for column in seen})
    own = Schema.infer(mixed)
    chance = find_laws(own.validate(mixed), own, floor=FLOOR, rng=np.random.default_rng(seed))
    control = [law.text for law in chance.laws if law.reads]
    for text, share in broken.items():
        print(f"   false: {text} ({share:.2%} of the fresh rows)")
    for text in control:
        print(f"   in shuffled columns: {text}")
    row = {"table": name, "seed": seed, "rows": len(seen), "columns": df.shape[1], "laws": len(laws.laws),
           "false": len(broken), "shuffled": len(control), "cpu_seconds": round(seconds, 2)}  # fmt: skip
    print(row, flush=True)
    return row


def false_laws(laws: Laws, fresh: pd.DataFrame) -> dict[str, float]:
    """Laws announced without exception that too many fresh rows break, with the share of those."""
    frame, found = Frame.read(fresh, laws.schema), {}
    for law in laws.laws:
        applies, keeps = law.holds(frame)
        share = float((applies & ~keeps).sum() / max(frame.n_rows, 1))
        announced = law.exceptions or getattr(law, "near", False) or "~" in law.text or hasattr(law, "min_share")
        if share > MAX_BROKEN and not announced:
            found[law.text] = share
        frame = law.express(frame)
    return found


def means(results: pd.DataFrame) -> str:
    """One line per table, sums over seeds."""
    rows = []
    for table, group in results.groupby("table", sort=False):
        seconds = f"{group['cpu_seconds'].mean():.2f}"
        counts = [int(group[name].sum()) for name in ("laws", "false", "shuffled")]
        first = group.iloc[0]
        rows.append([table, f"{first['rows']:,}", int(first["columns"]), len(group), *counts, seconds])
    head = ("table", "rows", "columns", "seeds", "laws", "false", "in shuffled columns", "CPU s per search")
    return as_table(head, rows)


if __name__ == "__main__":
    main()
