"""How many new rows contradict their class, in tables of few rows: iris, wine and 300 rows of wdbc.

    python -m benchmarks.contradictions --seeds 4

A linear discriminant analysis of the real rows predicts the class from the other columns. The command prints the share
of rows whose class differs from the prediction: for real rows, for real rows that were only encoded and decoded (no
writer can be better), for new rows, and for new rows whose own class has a probability below 5 % (those that a reader
notices); and the share of fits that failed their verdict.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from tabtreeformer import TabTreeFormer

TABLES = {"iris": load_iris, "wine": load_wine, "wdbc": load_breast_cancer}
MAX_ROWS, NEW_ROWS, DECODED = 300, 1000, 10
NOTICED = 0.05


def load(name: str) -> pd.DataFrame:
    """The table, with names for classes."""
    frame: pd.DataFrame = TABLES[name](as_frame=True).frame
    if len(frame) > MAX_ROWS:
        frame = frame.sample(MAX_ROWS, random_state=0).reset_index(drop=True)
    return frame.assign(target=frame["target"].map(dict(enumerate("abc"))))


def measured(df: pd.DataFrame, seed: int) -> dict[str, float]:
    """The shares of one seed."""
    features = df.columns[:-1]
    judge = LinearDiscriminantAnalysis().fit(df[features], df["target"])

    def contradicting(rows: pd.DataFrame) -> float:
        return float((judge.predict(rows[features]) != rows["target"]).mean())

    model = TabTreeFormer(target="target", random_state=seed, verbose=False).fit(df)
    codec, privacy = model.fitted_.codec, model.fitted_.record["privacy"]
    ids = codec.encode(df)
    decoded = [contradicting(codec.decode(ids, np.random.default_rng(k))) for k in range(DECODED)]
    new = model.sample(NEW_ROWS, random_state=seed)
    chances = judge.predict_proba(new[features])
    own = chances[np.arange(len(new)), pd.Index(judge.classes_).get_indexer(new["target"])]
    return {
        "real": contradicting(df),
        "decoded": float(np.mean(decoded)),
        "new": contradicting(new),
        "noticed": float((own < NOTICED).mean()),
        "failed": float(privacy["verdict"] == "fail"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--seeds", type=int, default=4)
    asked = parser.parse_args()
    for name in asked.tables:
        df = load(name)
        rows = pd.DataFrame([measured(df, seed) for seed in range(asked.seeds)])
        print(name, f"{len(df)} rows, {asked.seeds} seeds:", rows.mean().round(4).to_dict(), flush=True)


if __name__ == "__main__":
    main()
