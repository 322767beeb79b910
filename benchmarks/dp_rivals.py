"""Differential privacy on UCI adult beside MST and AIM, scored on unseen rows.

    python -m benchmarks envs create dpmm
    python -m benchmarks.dp_rivals --rivals ../shared/rivals/adult_uci --epsilons 1,2.4,4 --seeds 3
    python -m benchmarks.dp_rivals --page docs/dp.md         writes the table of the CSV into the page, and runs nothing

All mechanisms get the same rows, delta = 1 / (2 rows²), and the same public knowledge: lists of categories and ranges
of numbers. Published rows of TabularARGN with differential privacy are scored beside them. Shape and Trend errors are
in percent against the unseen rows; utility is the AUC with which XGBoost, trained on synthetic rows, predicts the
target of the unseen rows; the k-marginal score is that of NIST's challenge (1,000 times one minus the mean total
variation of all marginals of three columns, numbers in 16 intervals of equal mass). One row per run goes to a CSV,
which a second call completes.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from . import envs
from .measured import append, known_in, names, parser
from .pages import as_table, put

HERE = Path(__file__).parent
TARGET, POSITIVE = "income", ">50K"
PUBLISHED = "tabularargn_dp"
PUBLISHED_EPSILON = 2.39
N_INTERVALS = 16
KEYS = ["writer", "epsilon", "seed"]
MARKS = "dp rivals"


def main() -> None:
    """Run what the CSV does not have yet."""
    arguments = parser(__doc__, "dp_rivals.csv")
    arguments.add_argument("--rivals", type=Path, default=Path("../shared/rivals/adult_uci"))
    arguments.add_argument("--writers", type=names, default=["auto", "MST", "AIM"])
    arguments.add_argument("--epsilons", type=names, default=["1", "2.4", "4"])
    options = arguments.parse_args()
    if options.page is not None:
        write_page(options.page, pd.read_csv(options.results))
        return
    known = known_in(options.results, KEYS)
    train, unseen = (pd.read_csv(options.rivals / f"{name}.csv.gz") for name in ("train", "holdout"))
    judge = Judge(train, unseen)
    _add(judge, ("real training rows", 0.0, 0), known, options.results, lambda: (train, 0.0))
    for path in sorted(options.rivals.glob(f"{PUBLISHED}_[0-9].csv.gz")):
        key = (PUBLISHED, PUBLISHED_EPSILON, int(path.name[-8]))
        _add(judge, key, known, options.results, lambda path=path: (pd.read_csv(path)[list(train)], float("nan")))
    for seed in range(options.seeds):
        for epsilon, writer in itertools.product(map(float, options.epsilons), options.writers):
            write = ours if writer.startswith("auto") else rival
            key = (writer, epsilon, seed)
            _add(judge, key, known, options.results, lambda key=key, write=write: write(train, *key))


def _add(judge: Judge, key: tuple[str, float, int], known: set[Any], results: Path, written: Any) -> None:
    """Write and judge rows, and add the figures to the CSV."""
    if key in known:
        return
    rows, cpu_seconds = written()
    line = {**dict(zip(KEYS, key, strict=True)), **judge(rows), "cpu_seconds": round(cpu_seconds, 1)}
    append(results, line)


class Judge:
    """Scores tables against the unseen rows."""

    def __init__(self, train: pd.DataFrame, unseen: pd.DataFrame) -> None:
        from tabtreeformer import Schema

        self.train, self.unseen, self.schema = train, unseen, Schema.infer(train, TARGET)
        self.cuts = {
            name: np.unique(np.quantile(train[name], np.linspace(0, 1, N_INTERVALS + 1)[1:-1]))
            for name in train.select_dtypes("number")
        }
        self.codes = {name: pd.Index(sorted(train[name].unique())) for name in train if name not in self.cuts}

    def __call__(self, rows: pd.DataFrame) -> dict[str, float]:
        """Shape and Trend errors, utility and k-marginal score."""
        from tabtreeformer import evaluate

        metrics = ["shape_unseen", "trend_unseen"]
        scores = evaluate(
            self.train, self.unseen, rows, target=TARGET, schema=self.schema, metrics=metrics, references=False,
            random_state=0,
        ).scores  # fmt: skip
        return {
            "shape_error": round(100 * (1 - scores["shape_unseen"].value), 3),
            "trend_error": round(100 * (1 - scores["trend_unseen"].value), 3),
            "utility": round(self.utility(rows), 4),
            "k_marginal": round(self.k_marginal(rows), 1),
        }

    def utility(self, rows: pd.DataFrame) -> float:
        """AUC of XGBoost on the unseen rows."""
        import xgboost
        from sklearn.metrics import roc_auc_score

        features = [self._matrix(table.drop(columns=TARGET)) for table in (rows, self.unseen)]
        model = xgboost.XGBClassifier(n_estimators=100, max_depth=6, n_jobs=1, random_state=0)
        model.fit(features[0], rows[TARGET] == POSITIVE)
        return float(roc_auc_score(self.unseen[TARGET] == POSITIVE, model.predict_proba(features[1])[:, 1]))

    def _matrix(self, table: pd.DataFrame) -> pd.DataFrame:
        kinds = {name: pd.CategoricalDtype(self.codes[name]) for name in table if name in self.codes}
        return pd.get_dummies(table.astype(kinds))

    def k_marginal(self, rows: pd.DataFrame) -> float:
        """Mean agreement of all marginals of three columns, of 1,000."""
        ids = [self._ids(table) for table in (rows, self.unseen)]
        sizes = {name: len(self.cuts.get(name, self.codes.get(name, ()))) + 2 for name in self.train}
        distances = []
        for first, second, third in itertools.combinations(self.train, 3):
            shares = []
            for table in ids:
                cell = (table[first] * sizes[second] + table[second]) * sizes[third] + table[third]
                n_cells = sizes[first] * sizes[second] * sizes[third]
                shares.append(np.bincount(cell, minlength=n_cells) / len(cell))
            distances.append(np.abs(shares[0] - shares[1]).sum() / 2)
        return 1000 * (1 - float(np.mean(distances)))

    def _ids(self, table: pd.DataFrame) -> dict[str, np.ndarray]:
        numbers = {name: np.searchsorted(cuts, table[name], side="right") for name, cuts in self.cuts.items()}
        return numbers | {name: codes.get_indexer(table[name]) + 1 for name, codes in self.codes.items()}


def ours(train: pd.DataFrame, writer: str, epsilon: float, seed: int) -> tuple[pd.DataFrame, float]:
    """Rows of the preset `auto` under differential privacy; `auto-300` takes 300 steps."""
    from tabtreeformer import DP, Schema, TabTreeFormer

    schema = Schema.infer(train, TARGET)
    for name, facts in domain_of(train).items():
        public = {"values": facts["categories"]} if "categories" in facts else facts
        public = public if "values" in public else {"low": facts["lower"], "high": facts["upper"]}
        schema = schema.with_public(name, **public)
    steps = writer.partition("-")[2]
    settings = {"train": {"steps": int(steps)}} if steps else {}
    started = time.process_time()
    model = TabTreeFormer(target=TARGET, dp=DP(epsilon=epsilon), random_state=seed, verbose=False, **settings)
    rows = model.fit(train, schema=schema).sample(len(train), random_state=seed)
    return rows, time.process_time() - started


def rival(train: pd.DataFrame, writer: str, epsilon: float, seed: int) -> tuple[pd.DataFrame, float]:
    """Rows of MST or AIM, from the environment `dpmm`."""
    python = envs.FOLDER / "dpmm" / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        table, domain, out = (Path(folder) / name for name in ("train.csv", "domain.json", "rows.csv"))
        train.to_csv(table, index=False)
        domain.write_text(json.dumps(domain_of(train)), encoding="utf-8")
        words = ["--model", writer, "--epsilon", epsilon, "--delta", 0.5 / len(train) ** 2, "--seed", seed]
        words += ["--train", table, "--domain", domain, "--out", out]
        subprocess.run([python, HERE / "generators" / "dpmm_.py", *map(str, words)], check=True)
        facts = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
        return pd.read_csv(out, keep_default_na=False), facts["cpu_seconds"]


def domain_of(train: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """What counts as public: the range of each number, the list of each category."""
    return {
        str(name): {"lower": int(values.min()), "upper": int(values.max())}
        if pd.api.types.is_numeric_dtype(values.dtype)
        else {"categories": sorted(values.unique())}
        for name, values in train.items()
    }


def write_page(page: Path, results: pd.DataFrame) -> None:
    """Put the means over seeds into the page, between the marks."""
    head = ["writer", "ε", "seeds", "Shape error %", "Trend error %", "utility (AUC)", "k-marginal", "CPU s"]
    rows = []
    for (epsilon, writer), part in results.groupby(["epsilon", "writer"]):
        mean = part.mean(numeric_only=True)
        rows.append([
            writer, f"{epsilon:g}" if epsilon else "none", len(part), f"{mean['shape_error']:.2f}",
            f"{mean['trend_error']:.2f}", f"{mean['utility']:.3f}", f"{mean['k_marginal']:.0f}",
            "" if np.isnan(mean["cpu_seconds"]) else f"{mean['cpu_seconds']:.0f}",
        ])  # fmt: skip
    put(page, MARKS, as_table(head, rows))


if __name__ == "__main__":
    main()
