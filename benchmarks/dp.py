"""What differential privacy costs: rows of `adult` and `bank-marketing` at several epsilons, one process at a time.

    python -m benchmarks.dp --data ../shared/data --epsilons 1,4,10 --seeds 3
    python -m benchmarks.dp --page docs/dp.md               writes the table of the CSV into the page, and runs nothing

Fits, samples as many rows as were learned, and measures Shape, Trend and the relative error of downstream models
against held-out rows. One row per run goes to a CSV, which a second call completes. The schema is inferred from the
training rows and taken as public; it has no lists and no ranges, unless `--public` says that the lists of categories
and the ranges of numbers are public too.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd

from .pages import as_table, put
from .tables import split as load

KEYS = ["table", "epsilon", "seed", "steps", "public"]
MARKS = "dp"


def run(data: Path, table: str, epsilon: float, seed: int, steps: int, public: bool) -> dict[str, float | str]:
    """One fit and its figures; epsilon 0 means no differential privacy."""
    import torch

    from tabtreeformer import DP, Schema, TabTreeFormer, evaluate

    torch.set_num_threads(1)
    train, test, target = load(data, table, seed)
    schema = Schema.infer(train, target)
    for column in train if public else ():
        real = train[column]
        if pd.api.types.is_numeric_dtype(real.dtype):
            schema = schema.with_public(column, low=real.min(), high=real.max())
        else:
            schema = schema.with_public(column, values=sorted(real.unique()))
    started, cpu = time.perf_counter(), time.process_time()
    settings = {"train": {"steps": steps}} if steps else {}
    dp = DP(epsilon=epsilon, delta=1e-5) if epsilon else None
    model = TabTreeFormer(target=target, dp=dp, **settings, random_state=seed, verbose=False).fit(train, schema=schema)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    rows = model.sample(len(train), random_state=seed)
    scores = evaluate(
        train, test, rows, target=target, schema=schema, metrics=["utility", "shape", "trend"], random_state=seed
    ).scores
    spent = model.fitted_.record.get("privacy", {}).get("dp", {})
    return {
        "table": table, "epsilon": epsilon, "seed": seed, "steps": steps, "public": public, "rows": len(train),
        "utility": scores["utility"].value, "shape": scores["shape"].value, "trend": scores["trend"].value,
        "floor_shape": scores["shape"].floor, "floor_trend": scores["trend"].floor,
        "floor_utility": scores["utility"].floor, "spent": spent.get("epsilon"), "noise": spent.get(
            "training_noise_multiplier"), "fit_seconds": seconds, "cpu_seconds": cpu,
    }  # fmt: skip


def write_page(page: Path, frame: pd.DataFrame) -> None:
    """Put the means into the page, between the marks."""
    head = ["table", "ε", "seeds", "relative error of downstream models", "Shape", "Trend", "CPU seconds of a fit"]
    rows = []
    for (table, epsilon, steps, public), part in frame.groupby(["table", "epsilon", "steps", "public"]):
        name = (
            f"{epsilon:g}" + (f" ({steps:g} steps)" if steps else "") + (", ranges and lists given" if public else "")
        )
        means = [f"{part[value].mean():.3f}" for value in ("utility", "shape", "trend")]
        rows.append([table, name, part["seed"].nunique(), *means, f"{part['cpu_seconds'].mean():.0f}"])
    put(page, MARKS, as_table(head, rows))


def main() -> None:
    """Run what the CSV does not hold yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--tables", default="adult,bank-marketing")
    parser.add_argument("--epsilons", default="1,4,10")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=0, help="steps of a fit; 0: those of the preset")
    parser.add_argument("--public", action="store_true", help="give the lists of categories and the ranges of numbers")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "dp.csv")
    parser.add_argument("--page", type=Path, help="write the table into this page, and run nothing")
    options = parser.parse_args()
    done = pd.read_csv(options.out) if options.out.exists() else pd.DataFrame(columns=KEYS)
    if options.page:
        write_page(options.page, done)
        return
    known = {tuple(row) for row in done[KEYS].itertuples(index=False)}
    rows = done.to_dict("records")
    for seed in range(options.seeds):
        for table in options.tables.split(","):
            for epsilon in map(float, options.epsilons.split(",")):
                if (table, epsilon, seed, options.steps, options.public) in known:
                    continue
                rows.append(run(options.data, table, epsilon, seed, options.steps, options.public))
                options.out.parent.mkdir(parents=True, exist_ok=True)
                pd.DataFrame(rows).to_csv(options.out, index=False)
                print(rows[-1], flush=True)


if __name__ == "__main__":
    main()
