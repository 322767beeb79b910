"""Small models of every kind that files are written of, as the members of their files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..laws.test_every_form import FORMS

TINY: dict[str, Any] = {
    "tree": {"trials": 0, "params": {"n_estimators": 4, "num_leaves": 5}},
    "tokens": {"quantiles": 20, "bins": 4},
    "model": {"width": 16, "feed_forward": 32, "heads": 2, "layers": 1},
    "train": {"steps": 4, "batch_size": 16, "validate_every": 2},
}
QUIET: dict[str, Any] = {"random_state": 0, "verbose": False, "device": "cpu"}


def people(n: int = 60) -> pd.DataFrame:
    """Rows of every kind of column."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "height": np.round(rng.normal(1.7, 0.1, n), 2),
            "town": rng.choice(["Köln", "Ulm", "Bern"], n),
            "size": pd.Categorical(rng.choice(["S", "L"], n), categories=["S", "M", "L"], ordered=True),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
            "seen": pd.Timestamp("2024-03-01", tz="UTC") + pd.to_timedelta(rng.integers(0, 9000, n), unit="min"),
            "wait": pd.to_timedelta(rng.integers(0, 500, n), unit="min"),
            "key": [f"AB-{k:04d}" for k in rng.permutation(n)],
            "number": rng.permutation(n) + 1000,
            "note": [f"met {k} on the way home" for k in rng.permutation(n)],
            "pay": np.where(rng.random(n) < 0.2, np.nan, np.round(rng.normal(9, 2, n), 1)),
            "one": "same",
        }
    )  # fmt: skip


def lawful(n: int = 200) -> pd.DataFrame:
    """Rows in which many laws hold."""
    rng = np.random.default_rng(0)
    net, town = rng.integers(1, 500, n), rng.choice(["Köln", "Ulm", "Bern"], n)
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 5000, n), unit="h")
    minutes = rng.integers(1, 300, n)
    paid = rng.random(n) < 0.6
    return pd.DataFrame(
        {
            "net": net,
            "tip": np.where(paid, rng.integers(0, 50, n), 0),
            "total": net + np.where(paid, 0, 0) + rng.integers(5, 6, n),
            "double": net * 2.0,
            "town": town,
            "country": np.where(town == "Bern", "CH", "DE"),
            "start": start,
            "end": start + pd.to_timedelta(minutes, unit="min"),
            "minutes": minutes,
            "hour": start.hour,
            "low": rng.integers(0, 10, n),
            "high": rng.integers(10, 30, n),
            "paid": np.where(paid, "yes", "no"),
            "when": np.where(paid, "card", None),
        }
    )


PARTS_OF_FORMS = 10
"""Tables that the forms of laws are spread over."""


def some_forms(part: int, n: int = 250) -> pd.DataFrame:
    """Rows of a part of all forms of laws that people know, side by side."""
    columns: dict[str, Any] = {}
    for place, (name, (make, _)) in enumerate(FORMS.items()):
        if place % PARTS_OF_FORMS == part:
            made = pd.DataFrame(make(np.random.default_rng(place))).head(n)
            columns |= {f"{name[:9]} {column}": made[column].reset_index(drop=True) for column in made}
    return pd.DataFrame(columns)


def visits(n: int = 25) -> pd.DataFrame:
    """Rows of patients in the order of their days."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(n), rng.integers(1, 6, n))
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 300, len(patient))), unit="D")
    return pd.DataFrame(
        {
            "patient": [f"P{k:03d}" for k in patient],
            "day": day,
            "weight": np.round(rng.normal(70, 9, len(patient)), 1),
            "ward": rng.choice(["A", "B"], len(patient)),
            "born": (1950 + patient % 40),
        }
    )


def shop(n: int = 40) -> dict[str, pd.DataFrame]:
    """Customers, their orders and products."""
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(n), rng.integers(0, 5, n))
    customers = pd.DataFrame(
        {"id": np.arange(n), "country": rng.choice(["DE", "FR"], n), "age": rng.integers(18, 80, n)}
    )
    orders = pd.DataFrame(
        {
            "order_no": np.arange(len(owner)) + 1,
            "customer_id": owner,
            "sku": rng.choice([f"P{k:03d}" for k in range(12)], len(owner)),
            "amount": np.round(rng.gamma(2, 20, len(owner)), 2),
        }
    )
    products = pd.DataFrame({"sku": [f"P{k:03d}" for k in range(12)], "price": np.round(rng.uniform(5, 90, 12), 2)})
    return {"customers": customers, "orders": orders, "products": products}


def _fit(frame: Callable[[], pd.DataFrame], preset: str, target: str, **settings: Any) -> Callable[[Path], None]:
    def save(path: Path) -> None:
        from tabtreeformer import TabTreeFormer

        sections = {} if preset == "trees" else TINY
        TabTreeFormer(preset, target=target or None, **{**sections, **settings}, **QUIET).fit(frame()).save(path)

    return save


def _database(preset: str, **settings: Any) -> Callable[[Path], None]:
    def save(path: Path) -> None:
        from tabtreeformer import RelationalTabTreeFormer

        RelationalTabTreeFormer(preset, **settings, random_state=0, verbose=False).fit(shop()).save(path)

    return save


def _sequences(path: Path) -> None:
    from tabtreeformer import RelationalTabTreeFormer

    model = RelationalTabTreeFormer("trees", random_state=0, verbose=False)
    model.fit(visits(), group="patient", order="day").save(path)


def _private(path: Path) -> None:
    from tabtreeformer import DP, Schema, TabTreeFormer

    rows = people().drop(columns=["key", "note"])
    settings = {key: value for key, value in TINY.items() if key not in ("tree", "tokens")}
    model = TabTreeFormer(target="town", dp=DP(epsilon=50), **settings, **QUIET)
    schema = Schema.infer(rows, "town").with_public("town", values=["Bern", "Köln", "Ulm"])
    model.fit(rows, schema=schema).save(path)


def _tree(model: str) -> dict[str, Any]:
    params = {"decision_tree": {"max_depth": 3}, "xgboost": {"n_estimators": 3}, "catboost": {"iterations": 3}}[model]
    return {"tree": {"model": model, "trials": 0, "params": params}}


MODELS: dict[str, Callable[[Path], None]] = {
    "auto": _fit(people, "auto", "town"),
    "S": _fit(people, "S", "town"),
    "trees": _fit(people, "trees", "town"),
    "laws": _fit(lawful, "auto", "paid"),
    "laws of trees": _fit(lawful, "trees", "paid"),
    "decision tree": _fit(people, "auto", "age", **_tree("decision_tree")),
    "xgboost": _fit(people, "auto", "town", **_tree("xgboost")),
    "catboost": _fit(people, "auto", "town", **_tree("catboost")),
    "hugging face": _fit(people, "auto", "town", model={**TINY["model"], "backbone": "hf:gpt2"}),
    "constraints": _fit(lawful, "auto", "paid", constraints=["end >= start", "country from town"]),
    "private": _private,
    "database": _database("trees"),
    "database of networks": _database("auto", model=TINY["model"], train=TINY["train"], device="cpu"),
    "sequences": _sequences,
    **{f"forms of laws {k}": _fit(partial(some_forms, k), "trees", "") for k in range(PARTS_OF_FORMS)},
}
DONORS = ("S", "laws of trees", "trees")
"""Models whose members may stand in the file of another."""
TOGETHER = ("database", "database of networks", "sequences")
"""Files of tables that belong together."""


def rows_of(name: str) -> pd.DataFrame:
    """Rows to ask a model about; of tables that belong together, those of the one that was learned or depends."""
    if name in TOGETHER:
        return visits() if name == "sequences" else shop()["orders"]
    if name.startswith("forms of laws"):
        return some_forms(int(name[-1])).head(9)
    return (lawful() if name in ("laws", "laws of trees", "constraints") else people()).head(9)


def save_models(names: Iterable[str], folder: Path) -> None:
    """Write those of these models that the folder does not have yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted({*names, *DONORS}):
        path = folder / f"{name}.tabtree"
        if not path.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                MODELS[name](path)
