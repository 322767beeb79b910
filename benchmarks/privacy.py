"""What attacks find: the paper's tables × settings × seeds, measured by the gate at the end of every fit.

    python -m benchmarks.privacy --data ../shared/data                      seven small tables, three seeds, auto
    python -m benchmarks.privacy --settings auto,S-like,NM-like --seeds 3
    python -m benchmarks.privacy --tables adult --budget 240
    python -m benchmarks.privacy --models out/models                        models are kept there and read from there
    python -m benchmarks.privacy --models out/models --judge                kept models get the verdict of today's rules
    python -m benchmarks.privacy --write                                    the tables of docs/lab/privacy.md

One row per run goes to a CSV, which a second call completes; each run has its own process on one thread. A fifth of
the rows is held out: every figure is the worst of three comparisons, each network on the half that it never saw and the
whole model on the held-out rows.

`S-like` and `NM-like` are not the paper's S and NM, which take hours on a CPU: they share its tokens, loss, masks,
prompts, patience and temperatures, but use a network of width 48 with 2 layers, 20 untuned trees, and at most STEPS
steps of 64 rows, with a higher learning rate (0.003 instead of 0.0005) to make up for the few steps.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from tabtreeformer.evaluation.compare import Results

from .pages import ROOT, as_table, put
from .report.numbers import wide

if TYPE_CHECKING:
    from tabtreeformer import TabTreeFormer

HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "lab" / "privacy.md"
STRICT_BASE = "auto 0.1"
"""The preset that the runs of `strict` were made with; `auto` once they are repeated."""
KEYS = ["settings", "table", "seed"]
STEPS = 400
SMALL = {
    "tree": {"trials": 0, "params": {"n_estimators": 20, "num_leaves": 15, "max_depth": 6}},
    "model": {"width": 48, "feed_forward": 192, "heads": 4, "layers": 2},
    "train": {"steps": STEPS, "batch_size": 64, "learning_rate": 0.003},
}
SETTINGS = {"auto": ("auto", {}), "S-like": ("S", SMALL), "NM-like": ("NM", SMALL)}
COLUMNS = {
    "dcr": "DCR p", "copies": "copies", "copies_real": "of real rows", "membership": "membership AUC",
    "membership_found": "found at 1 %", "likelihood": "by likelihood AUC", "likelihood_found": "found at 1 %",
    "singling_out": "singling out", "linkability": "linkability", "inference": "inference", "gap": "gap, nats per row",
}  # fmt: skip
COSTS = {
    "utility": "relative error", "shape": "Shape", "trend": "Trend", "detection": "two-sample AUC", "dcr": "DCR p",
    "membership": "membership AUC",
}  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--tables", default="iris,boston,diabetes,breast-w,wdbc,credit-g,qsar-biodeg")
    parser.add_argument("--settings", default="auto", help=f"some of {', '.join(SETTINGS)}")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=float, help="seconds of a fit")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "privacy.csv")
    parser.add_argument("--models", type=Path, help="folder of models of auto that need not be fitted again")
    parser.add_argument("--judge", action="store_true", help="judge kept models again instead of reading their verdict")
    parser.add_argument("--write", action="store_true", help="write the tables of the page and run nothing")
    parser.add_argument("--one", nargs=3, metavar=("SETTINGS", "TABLE", "SEED"), help=argparse.SUPPRESS)
    return parser.parse_args()


def run_one(options: argparse.Namespace) -> None:
    """Fit, and print what the gate found as one JSON line."""
    import torch

    from tabtreeformer import TabTreeFormer

    from .tables import split as load

    torch.set_num_threads(1)
    name, table, seed = options.one[0], options.one[1], int(options.one[2])
    kept = options.models / f"{table}-{seed}.tabtree" if options.models and name == "auto" else None
    if kept is not None and kept.exists():
        model = TabTreeFormer.load(kept, verbose=False)
        if options.judge:
            train, test, _ = load(options.data, table, seed)
            judge_again(model, train, test, seed)
    else:
        train, test, target = load(options.data, table, seed)
        preset, sections = SETTINGS[name]
        model = TabTreeFormer(
            preset, target, **sections, budget_seconds=options.budget, random_state=seed, verbose=False
        ).fit(train, holdout=test)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            model.save(kept)
    print(json.dumps({"settings": name, "table": table, "seed": seed, **figures(model.summary())}))


def judge_again(model: TabTreeFormer, train: pd.DataFrame, test: pd.DataFrame, seed: int) -> None:
    """Give a model the verdict of today's rules: on the same halves and rows, which follow from the seed of its fit."""
    import numpy as np

    from tabtreeformer._runtime.progress import Silent
    from tabtreeformer.fitting.evidence import Evidence
    from tabtreeformer.fitting.history import History
    from tabtreeformer.fitting.out_of_core import RowEncoder
    from tabtreeformer.fitting.split import split_rows
    from tabtreeformer.privacy.gate import gate_seed, verdict_on

    fitted, fit_seed = model.fitted_, np.random.SeedSequence(seed)
    if (fitted.record["seed"], fitted.record["rows"]) != (str(seed), len(train)):
        raise ValueError("the model was fitted with another seed or on other rows")
    before, meter = fitted.record["privacy"], fitted.record["privacy"]["memorisation"]
    *_, train_seed, _ = fit_seed.spawn(4)
    halves = split_rows(len(train), np.random.default_rng(train_seed.spawn(5)[1]))
    frame = fitted.schema.validate(train)
    tokens = RowEncoder(fitted.codec, fitted.tree_encoder, fitted.leaf_model, fitted.layout).tokens(frame)
    evidence = Evidence(
        take=lambda rows: frame.iloc[rows],
        tokens=tokens,
        parts=halves,
        histories=[History.from_json(run) for run in fitted.record["training"]],
        holdout=fitted.schema.validate(test),
    )
    after = verdict_on(fitted, evidence, before["mode"], None, gate_seed(fit_seed), Silent())
    if not np.isclose(after["measures"]["dcr"]["value"], before["measures"]["dcr"]["value"]):
        raise ValueError("other rows were compared than when the model was fitted")
    fitted.record["privacy"] = after | {"memorisation": meter}


def figures(summary: dict) -> dict:
    """One row of the CSV from the record of a model."""
    privacy = summary["privacy"]
    measures, meter = privacy.get("measures", {}), privacy["memorisation"]
    row = {
        "rows": summary["rows"],
        "verdict": privacy["verdict"],
        "file_leaks": privacy.get("file", {}).get("leaks"),
        "reasons": "; ".join(privacy["reasons"]),
    }
    for name in ("dcr", "copies", "membership", "singling_out", "linkability", "inference"):
        row[name] = measures.get(name, {}).get("value")
    row["copies_real"] = measures.get("copies", {}).get("ceiling")
    row["near_copies"] = measures.get("dcr", {}).get("near_copies", {}).get("synthetic")
    row["membership_found"] = measures.get("membership", {}).get("true_positives")
    for name in ("likelihood", "calibrated"):
        row[name] = measures.get(f"membership_{name}", {}).get("value")
        row[f"{name}_found"] = measures.get(f"membership_{name}", {}).get("true_positives")
    row["gap"] = max((value for key, value in meter.items() if key.endswith("nats per row")), default=None)
    row["memorised"] = sum(value for key, value in meter.items() if key.endswith("beyond chance"))
    row["looked_at"] = sum(value for key, value in meter.items() if key.endswith("looked at"))
    return row | {"fit_seconds": summary["fit_seconds"], "gate_seconds": privacy.get("seconds")}


def run_all(options: argparse.Namespace) -> None:
    """Run what the CSV does not hold yet, one after the other."""
    options.out.parent.mkdir(parents=True, exist_ok=True)
    rows = pd.read_csv(options.out).to_dict("records") if options.out.exists() else []
    known = {tuple(str(row[key]) for key in KEYS) for row in rows}
    for seed in range(options.seeds):
        for name in options.settings.split(","):
            for table in options.tables.split(","):
                if (name, table, str(seed)) in known:
                    continue
                command = [sys.executable, "-m", "benchmarks.privacy", "--data", str(options.data)]
                command += ["--one", name, table, str(seed)]
                command += ["--judge"] if options.judge else []
                command += [] if options.budget is None else ["--budget", str(options.budget)]
                command += [] if options.models is None else ["--models", str(options.models)]
                environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
                finished = subprocess.run(command, capture_output=True, text=True, env=environment)
                if finished.returncode:
                    print(f"{name} {table} {seed}: failed: {finished.stderr.strip().splitlines()[-1]}", flush=True)
                    continue
                rows.append(json.loads(finished.stdout.splitlines()[-1]))
                pd.DataFrame(rows).to_csv(options.out, index=False)
                print(f"{name} {table} {seed}: {rows[-1]['verdict']} {rows[-1]['reasons']}", flush=True)


def table(runs: pd.DataFrame) -> str:
    """Means by settings and table in Markdown."""
    head = ["settings", "table", "rows", "seeds", "failed", "file reveals more", *COLUMNS.values()]
    rows = []
    for (name, data), part in runs.groupby(["settings", "table"], sort=False):
        judged = part[part["verdict"] != "not judged"]
        means = judged[list(COLUMNS)].astype(float).mean()
        leaks = (judged["file_leaks"].astype(str) == "True").sum()
        cells = [name, data, f"{part['rows'].iloc[0]:,}", len(part), (part["verdict"] == "fail").sum(), leaks]
        rows.append([*cells, *(f"{means[c]:.3f}" for c in COLUMNS)])
    return as_table(head, rows)


def cost_table(balanced: pd.DataFrame, strict: pd.DataFrame) -> str:
    """Return means by table in Markdown, of the runs that both have."""
    rows = []
    for data in strict["table"].drop_duplicates():
        seeds = set(strict.loc[strict["table"] == data, "seed"]) & set(balanced.loc[balanced["table"] == data, "seed"])
        before, after = (
            runs[(runs["table"] == data) & runs["seed"].isin(seeds)][list(COSTS)].mean() for runs in (balanced, strict)
        )
        rows.append([data, len(seeds), *(f"{before[name]:.3f} → {after[name]:.3f}" for name in COSTS)])
    return as_table(["table", "seeds", *COSTS.values()], rows)


def write(page: Path, runs: Path, figures: Path) -> None:
    """Put the tables between their marks."""
    balanced, strict = (wide(Results(runs, name).read()) for name in ("comparison", "strict"))
    put(page, "cost of strict", cost_table(balanced[balanced["generator"] == STRICT_BASE], strict))
    put(page, "figures", table(pd.read_csv(figures)))


def main() -> None:
    options = arguments()
    if options.write:
        write(PAGE, HERE / "results" / "runs.csv", options.out)
    elif options.one:
        run_one(options)
    elif not (options.data / "datasets.json").exists():
        sys.exit(f"there is no {options.data / 'datasets.json'}; name the folder with --data")
    else:
        run_all(options)


if __name__ == "__main__":
    main()
