"""The laws that an analyst would look for in two tables: the share of rows that keep each, real and synthetic.

    python -m benchmarks.laws --data ../shared/data --writers auto,trees --seeds 3
    python -m benchmarks.laws --page docs/lab/laws.md        writes the means of the CSV into the page

The named laws are checked with plain pandas, without the package's own laws. A whole table is learned and the same
number of rows is written. One line per table, writer, seed and law goes to a CSV, which a second call completes. Goals:
exact laws in every row, near laws within 0.01 of the real share, grain within 0.02, and correlations within 0.03.
`--rows FOLDER` keeps the new rows for inspection.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measured import append, asked, names, parser, unmeasured
from benchmarks.pages import as_table
from benchmarks.unseen import load
from tabtreeformer import TabTreeFormer
from tabtreeformer._runtime.threads import use_cores

GOALS = {"exact": 0.0, "near": 0.01, "dependence": 0.03, "grain": 0.02}
"""How far a share or a correlation may be from that of the real rows; exact laws must hold in every row."""
Measure = Callable[[pd.DataFrame, pd.DataFrame], float]
"""From the rows to judge and the real rows to a share or a correlation."""


def main() -> None:
    """Measure what is not yet in the CSV."""
    arguments = parser(__doc__, "laws.csv", TABLES)
    arguments.add_argument("--writers", type=names, default=["auto", "trees"])
    arguments.add_argument("--rows", type=Path, help="keep the rows that are written in this folder")
    options = asked(arguments, {"named laws": means})
    use_cores(1)
    for table, seed, writers in unmeasured(options, options.writers):
        frame = load(options.data, table)[0]
        for writer in writers:
            append(options.results, *measured(table, frame, writer, seed, options.rows))


def measured(table: str, frame: pd.DataFrame, writer: str, seed: int, folder: Path | None) -> list[dict[str, Any]]:
    """Fit, write as many rows, and check every law of the table."""
    started = time.process_time()
    privacy = "off" if writer == "trees" else "balanced"
    model = TabTreeFormer(writer, privacy=privacy, random_state=seed, verbose=False).fit(frame)
    rows = model.sample(len(frame), random_state=seed)
    seconds = round(time.process_time() - started, 1)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        rows.to_csv(folder / f"{table}_{writer}_{seed}.csv", index=False)
    keys = {"table": table, "writer": writer, "seed": seed, "cpu_seconds": seconds}
    return [
        {**keys, "kind": kind, "law": law, "real": measure(frame, frame), "synthetic": measure(rows, frame)}
        for kind, laws in TABLES[table].items()
        for law, measure in laws.items()
    ]


# ---- the laws of each table


def holds(check: Callable[[pd.DataFrame], Any]) -> Measure:
    """Share of rows in which something holds, of those in which it applies (where it is not missing)."""
    return lambda rows, real: float(pd.Series(check(rows)).dropna().astype(bool).mean())


def multiples(column: str, step: float) -> Measure:
    """Share of the values other than 0 that are multiples of a step."""

    def share(rows: pd.DataFrame, real: pd.DataFrame) -> float:
        values = rows[column].dropna()
        values = values[values != 0]
        return float((np.abs(values / step - np.rint(values / step)) < 1e-6).mean())

    return share


def correlation(first: Any, second: Any) -> Measure:
    """Rank correlation of two columns, or of what is computed from the rows."""

    def value(rows: pd.DataFrame, of: Any) -> pd.Series:
        return rows[of] if isinstance(of, str) else of(rows)

    return lambda rows, real: float(value(rows, first).corr(value(rows, second), method="spearman"))


def minutes(rows: pd.DataFrame) -> pd.Series:
    """How long a ride takes."""
    return (pd.to_datetime(rows["dropoff"]) - pd.to_datetime(rows["pickup"])).dt.total_seconds() / 60


def speed(rows: pd.DataFrame) -> pd.Series:
    """Miles per hour, of rides that moved."""
    moved = (rows["distance"] > 0) & (minutes(rows) > 1)
    return (rows["distance"] / (minutes(rows) / 60)).where(moved)


def rest(rows: pd.DataFrame) -> pd.Series:
    """What a total has beside its parts, in cents."""
    return ((rows["total"] - rows["fare"] - rows["tip"] - rows["tolls"]) * 100).round(4)


def belongs(target: str, key: str) -> Measure:
    """Share of rows whose target is the one that the real rows have for the key, of keys that they have."""

    def share(rows: pd.DataFrame, real: pd.DataFrame) -> float:
        known = real.dropna(subset=[key, target]).groupby(key)[target].agg(lambda own: own.mode().iloc[0])
        there = rows.dropna(subset=[key, target])
        there = there[there[key].isin(known.index)]
        return float((there[target] == there[key].map(known)).mean())

    return share


def inside_zip(rows: pd.DataFrame, real: pd.DataFrame) -> float:
    """Share of rows whose position lies in the range of the real positions of its zip code."""
    ends = real.groupby("zipcode")[["lat", "long"]].agg(["min", "max"])
    own = ends.loc[rows["zipcode"].to_numpy()]
    inside = [
        (rows[name].to_numpy() >= own[name, "min"].to_numpy()) & (rows[name].to_numpy() <= own[name, "max"].to_numpy())
        for name in ("lat", "long")
    ]
    return float(np.mean(inside[0] & inside[1]))


def nearest_zip(rows: pd.DataFrame, real: pd.DataFrame) -> float:
    """Share of rows whose nearest other real position has the same zip code."""
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(1).fit(real[["lat", "long"]], real["zipcode"])
    places = model.kneighbors(rows[["lat", "long"]], n_neighbors=2, return_distance=False)[:, 1 if rows is real else 0]
    return float(np.mean(real["zipcode"].to_numpy()[places] == rows["zipcode"].to_numpy()))


def speeds_between(low: float, high: float) -> Measure:
    """Share of rides that moved with such a speed."""
    return holds(lambda rows: speed(rows).between(low, high).where(speed(rows).notna()))


TABLES: Mapping[str, Mapping[str, Mapping[str, Measure]]] = {
    "nyc_taxis": {
        "exact": {
            "dropoff not before pickup": holds(lambda r: minutes(r) >= 0),
            "total ≥ fare + tip + tolls": holds(lambda r: rest(r) >= 0),
            "what total has beside them is a multiple of 5 cents": holds(lambda r: rest(r) % 5 == 0),
            "pickup_borough belongs to pickup_zone": belongs("pickup_borough", "pickup_zone"),
            "dropoff_borough belongs to dropoff_zone": belongs("dropoff_borough", "dropoff_zone"),
            "no tip where payment is cash": holds(lambda r: (r["tip"] == 0).where(r["payment"] == "cash")),
        },
        "near": {
            "speed between 1 and 70 mph": speeds_between(1, 70),
            "fare of 52 goes to or from Queens": holds(
                lambda r: (r["pickup_borough"].eq("Queens") | r["dropoff_borough"].eq("Queens")).where(r["fare"].eq(52))
            ),
            "distance > 0": holds(lambda r: r["distance"] > 0),
        },
        "dependence": {
            "minutes – distance": correlation(minutes, "distance"),
            "fare – distance": correlation("fare", "distance"),
            "fare – minutes": correlation("fare", minutes),
            "tip – fare": correlation("tip", "fare"),
            "total – fare": correlation("total", "fare"),
            "speed – hour of the day": correlation(speed, lambda r: pd.to_datetime(r["pickup"]).dt.hour),
        },
        "grain": {
            "fares in half dollars": multiples("fare", 0.5),
            "tips in whole dollars": multiples("tip", 1.0),
            "distances in tenths of a mile": multiples("distance", 0.1),
            "tolls of 5.76": holds(lambda r: (r["tolls"] == 5.76).where(r["tolls"] > 0)),
        },
    },
    "king_county_houses": {
        "exact": {
            "sqft_living = sqft_above + sqft_basement": holds(
                lambda r: r["sqft_living"] == r["sqft_above"] + r["sqft_basement"]
            ),
            "not renovated before it was built": holds(
                lambda r: (r["yr_renovated"] >= r["yr_built"]).where(r["yr_renovated"] > 0)
            ),
        },
        "near": {
            "built before it was sold": holds(lambda r: r["yr_built"] <= r["date"].astype(str).str[:4].astype(int)),
            "position inside its zip code": inside_zip,
            "nearest house has the same zip code": nearest_zip,
            "houses without a basement": holds(lambda r: r["sqft_basement"] == 0),
            "sqft_lot = sqft_lot15": holds(lambda r: r["sqft_lot"] == r["sqft_lot15"]),
            "sqft_living = sqft_living15": holds(lambda r: r["sqft_living"] == r["sqft_living15"]),
            "lot at least as large as the ground": holds(lambda r: r["sqft_lot"] >= r["sqft_above"] / r["floors"]),
        },
        "dependence": {
            "sqft_lot – sqft_lot15": correlation("sqft_lot", "sqft_lot15"),
            "sqft_living – sqft_living15": correlation("sqft_living", "sqft_living15"),
            "price – lat": correlation("price", "lat"),
            "price – sqft_living": correlation("price", "sqft_living"),
            "price – grade": correlation("price", "grade"),
            "sqft_lot – sqft_living": correlation("sqft_lot", "sqft_living"),
            "sqft_lot – long": correlation("sqft_lot", "long"),
        },
        "grain": {
            "prices in whole thousands": multiples("price", 1000),
            "prices in fives of thousands": multiples("price", 5000),
            "sqft_living in tens": multiples("sqft_living", 10),
            "sqft_above in tens": multiples("sqft_above", 10),
            "sqft_living15 in tens": multiples("sqft_living15", 10),
            "sqft_lot in tens": multiples("sqft_lot", 10),
            "sqft_lot15 in tens": multiples("sqft_lot15", 10),
            "sqft_lot in hundreds": multiples("sqft_lot", 100),
        },
    },
}


# ---- results


def reached(kind: str, real: float, synthetic: float) -> bool:
    """Whether a figure is as near to that of the real rows as its kind asks for."""
    return synthetic == 1.0 if kind == "exact" else abs(synthetic - real) <= GOALS[kind]


def means(results: pd.DataFrame) -> str:
    """A table of means over seeds, writers beside each other; figures that miss their goal are marked."""
    writers = list(dict.fromkeys(results["writer"]))
    rows = []
    for (table, kind, law), group in results.groupby(["table", "kind", "law"], sort=False):
        own = group.groupby("writer")["synthetic"].mean()
        real = group["real"].mean()
        cells = [
            "" if w not in own else f"{own[w]:.3f}{'' if reached(kind, real, round(own[w], 5)) else ' (missed)'}"
            for w in writers
        ]
        rows.append([table, kind, law, f"{real:.3f}", *cells])
    return as_table(("table", "kind", "law", "real", *writers), rows)


if __name__ == "__main__":
    main()
