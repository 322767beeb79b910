"""Random small databases, learned and written again: do keys point nowhere or occur twice?

    python -m benchmarks.random_databases --to 10000 --seconds 600   # continues where the results file ends

One to five tables: keys of numbers with gaps, texts, two columns, or a parent's key; chains, several parents, two links
to the same parent, links with gaps, tables that point to themselves, parents without children, one parent with all
rows, tables with two rows, constant and empty columns.
"""

from __future__ import annotations

import argparse
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tabtreeformer import RelationalTabTreeFormer
from tabtreeformer.data.links import Name, parse_link
from tabtreeformer.evaluation.databases import broken_keys

RESULTS = Path(__file__).parent / "results" / "random_databases.csv"
BATCH = 20
Keys = dict[str, list[str]]


def random_database(seed: int) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Tables and links of one database."""
    rng = np.random.default_rng(seed)
    tables: dict[str, pd.DataFrame] = {}
    links: list[str] = []
    keys: Keys = {}
    for number in range(int(rng.integers(1, 6))):
        _add_table(f"t{number}", tables, links, keys, rng)
    return tables, links


def _add_table(
    name: str, tables: dict[str, pd.DataFrame], links: list[str], keys: Keys, rng: np.random.Generator
) -> None:
    n = int(rng.choice([rng.integers(2, 6), rng.integers(3, 25), rng.integers(20, 60)]))
    frame = pd.DataFrame(index=range(n))
    parents = [parent for parent in tables if rng.random() < 0.5]
    if rng.random() < 0.1 and parents:
        parents.append(parents[0])  # two links to the same table, e.g. the home team and the guests
    for place, parent in enumerate(parents):
        columns = [f"{parent}_{key}{place}" for key in keys[parent]]
        taken = tables[parent][keys[parent]].take(_chosen(len(tables[parent]), n, rng)).set_axis(columns, axis=1)
        taken = taken.reset_index(drop=True)
        if rng.random() < 0.25:
            taken = taken.mask(pd.Series(rng.random(n) < rng.choice([0.1, 0.9])), axis=0)
        frame[columns] = taken
        links.append(f"{name}.{_side(columns)} -> {parent}.{_side(keys[parent])}")
    frame = pd.concat([frame, _own_columns(n, rng)], axis=1)
    kind = rng.choice(["numbers", "texts", "several", "parents", "itself"], p=[0.4, 0.2, 0.15, 0.15, 0.1])
    if kind == "parents" and len(parents) > 0:
        columns = [c for parent_place, p in enumerate(parents) for c in (f"{p}_{k}{parent_place}" for k in keys[p])]
        columns = columns[: len(keys[parents[0]])] if rng.random() < 0.5 else columns
        frame = frame.dropna(subset=columns).drop_duplicates(columns).reset_index(drop=True)
        if not len(frame):
            links[:] = [link for link in links if not link.startswith(f"{name}.")]
            return
        keys[name] = columns
    else:
        frame, keys[name] = _with_key(frame, str(kind), rng)
    if kind == "itself":
        above = np.array([rng.integers(0, i) if i and rng.random() < 0.8 else -1 for i in range(len(frame))])
        frame["above"] = frame["key"].take(np.maximum(above, 0)).reset_index(drop=True).where(pd.Series(above >= 0))
        links.append(f"{name}.above -> {name}.key")
    tables[name] = frame.sample(frac=1, random_state=seed_of(rng)).reset_index(drop=True)


def _chosen(n_parents: int, n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Which parent each row has: evenly, few of them, or one for nearly all."""
    spread = rng.choice(["even", "few", "giant", "each once"])
    if spread == "each once" and n <= n_parents:
        return rng.permutation(n_parents)[:n]
    if spread == "giant":
        return np.where(rng.random(n) < 0.9, int(rng.integers(n_parents)), rng.integers(0, n_parents, n))
    most = max(n_parents // 3, 1) if spread == "few" else n_parents
    return rng.integers(0, most, n)


def _with_key(frame: pd.DataFrame, kind: str, rng: np.random.Generator) -> tuple[pd.DataFrame, list[str]]:
    n = len(frame)
    if kind == "several":
        places = rng.permutation(6 * n)[:n]
        second = places // 6 if rng.random() < 0.5 else np.array([f"no {i}" for i in places // 6])
        return frame.assign(shop=np.array(list("abcdef"))[places % 6], no=second), ["shop", "no"]
    if kind == "texts":
        return frame.assign(key=[f"k-{i:05d}" for i in rng.permutation(10 * n)[:n]]), ["key"]
    return frame.assign(key=np.sort(rng.permutation(int(rng.choice([1, 3])) * n)[:n])), ["key"]


def _own_columns(n: int, rng: np.random.Generator) -> pd.DataFrame:
    dates = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D")
    possible: dict[Name, Any] = {
        "amount": rng.gamma(2, 10, n).round(2),
        "count": rng.integers(0, 5, n),
        "label": rng.choice(["x", "y", "z"], n),
        "yes": rng.random(n) < 0.3,
        "day": dates,
        "gaps": pd.Series(rng.normal(size=n)).where(rng.random(n) < 0.7),
        "same": "same",
        "nothing": np.nan,
    }
    chosen = [name for name in possible if rng.random() < 0.3]
    return pd.DataFrame({name: possible[name] for name in chosen}, index=range(n))


def _side(columns: list[str]) -> str:
    return columns[0] if len(columns) == 1 else f"({', '.join(columns)})"


def seed_of(rng: np.random.Generator) -> int:
    """A seed drawn from a generator."""
    return int(rng.integers(2**31))


TREES = {"preset": "trees", "privacy": "off", "verbose": False}


def wrong_in(seed: int, **settings: Any) -> tuple[int, str]:
    """Number of rows learned, and what is wrong with the new database; empty where nothing is."""
    tables, texts = random_database(seed)
    size = sum(map(len, tables.values()))
    links = [parse_link(text, tables) for text in texts]
    try:
        model = RelationalTabTreeFormer(**(settings or {**TREES, "random_state": seed})).fit(tables, texts)
        new = model.sample(random_state=seed)
    except Exception as error:  # counted and named: any error on a valid database is a bug
        return size, f"{type(error).__name__}: {error} at {traceback.extract_tb(error.__traceback__)[-1].name}"
    for name, table in tables.items():
        if list(new[name].columns) != list(table.columns):
            return size, f"{name}: other columns"
        if not (new[name].dtypes == table.dtypes).all():
            changed = table.columns[new[name].dtypes != table.dtypes][0]
            return size, f"{name}.{changed}: {table[changed].dtype} became {new[name][changed].dtype}"
    for link in links:
        columns = list(link.columns)
        if tables[link.child][columns].notna().all(axis=None) and new[link.child][columns].isna().any(axis=None):
            return size, f"{link.text}: missing keys where there were none"
    n_broken = broken_keys(new, links)
    return size, f"{n_broken} broken keys" if n_broken else ""


def main() -> None:
    """Append the counts of twenty databases after the other to the file of results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=600, help="stop after this many")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    started = time.monotonic()
    done = pd.read_csv(options.results) if options.results.exists() else pd.DataFrame({"end": [0]})
    first = int(done["end"].max())
    options.results.parent.mkdir(exist_ok=True)
    while first < options.to and time.monotonic() - started < options.seconds:
        cpu, wrong, n_rows = time.process_time(), 0, 0
        for seed in range(first, first + BATCH):
            size, said = wrong_in(seed)
            n_rows += size
            wrong += bool(said)
            if said:
                print(f"seed {seed}: {said}", flush=True)
        row = {"end": first + BATCH, "rows": n_rows, "wrong": wrong, "cpu_s": round(time.process_time() - cpu, 1)}
        pd.DataFrame([row]).to_csv(options.results, mode="a", index=False, header=not options.results.exists())
        first += BATCH


if __name__ == "__main__":
    main()
