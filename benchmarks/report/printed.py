"""The paper's printed numbers in the form of our results: a row for each table, generator and metric."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).parents[1] / "paper"
TITLES = {
    "ctab_plus": "CTAB-GAN+", "ttvae": "TTVAE", "tabsyn": "TabSyn", "fd": "Forest Diffusion", "great": "GReaT",
    "rtf": "REaLTabFormer", "tabmt": "TabMT", "tabula": "Tabula", "ttf_s": "TTF-S", "ttf_l": "TTF-L",
    "ttf_nm": "TTF-NM",
}  # fmt: skip
PHASES = {"train": "fit_seconds", "generate": "sample_seconds"}


def read(name: str) -> pd.DataFrame:
    """One of the paper's tables, its tables under the names that they have here."""
    frame = pd.read_csv(FOLDER / f"{name}.csv")
    known = pd.read_csv(FOLDER / "datasets.csv").set_index("alias")["name"]
    return frame.assign(table=frame["dataset"].map(known)) if "dataset" in frame else frame


def printed() -> pd.DataFrame:
    """Everything that the paper prints of a table and a generator, as tidy rows; each is the mean of three runs."""
    utility = read("utility").rename(columns={"mean": "value", "model": "generator"})
    real = utility[utility["generator"] == "real"].set_index(["table", "ml"])["value"]
    scores = utility[utility["generator"] != "real"]
    truth = pd.Series(list(zip(scores["table"], scores["ml"], strict=True))).map(real).to_numpy()
    parts = [
        scores.assign(metric="score_" + scores["ml"]),
        scores.assign(metric="real_" + scores["ml"], value=truth),
        scores.assign(metric="utility_" + scores["ml"], value=(truth - scores["value"]) / abs(truth)),
        read("fidelity").rename(columns={"mean": "value", "model": "generator"}),
        read("privacy_dcr").rename(columns={"p_mean": "value", "model": "generator"}).assign(metric="dcr"),
    ]
    time = read("time").rename(columns={"seconds_mean": "value", "model": "generator"})
    parts.append(time.assign(metric=time["phase"].map(PHASES)))
    frame = pd.concat([part[["table", "generator", "metric", "value"]] for part in parts], ignore_index=True)
    return frame.assign(seed=0, status="ok")


def n_features() -> pd.Series:
    """Columns of each table, the target included."""
    return read("datasets").set_index("name")["features"]
