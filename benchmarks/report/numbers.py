"""Results → the paper's tables, as DataFrames. The same functions read our runs and what the paper prints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import combine_pvalues

EVALUATORS = ("LN", "RF", "XGB")
RUN = "run"
SEEDS = 3
"""Runs that a claim needs."""
LEAK = 0.05
"""A p-value below this is a violation of the distance test."""


def means(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean over the seeds: tables × generators."""
    part = frame[(frame["metric"] == metric) & frame["value"].notna()]
    return part.pivot_table(index="table", columns="generator", values="value", aggfunc="mean")


def spread(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Standard deviation over the seeds, of the population as the paper's raw tables have it."""
    part = frame[(frame["metric"] == metric) & frame["value"].notna()]
    return part.groupby(["table", "generator"])["value"].std(ddof=0).unstack()


def with_spread(frame: pd.DataFrame, metric: str, digits: int = 3) -> pd.DataFrame:
    """`mean ± spread` as text; the mean alone where there is one run."""
    middle, around = means(frame, metric), spread(frame, metric)
    counts = frame[frame["metric"] == metric].groupby(["table", "generator"])["value"].count().unstack()
    text = middle.copy().astype(object)
    for table in middle.index:
        for name in middle.columns:
            value = middle.loc[table, name]
            many = counts.loc[table, name] > 1
            text.loc[table, name] = (
                "" if pd.isna(value)
                else f"{value:.{digits}f} ± {around.loc[table, name]:.{digits}f}" if many
                else f"{value:.{digits}f}"
            )  # fmt: skip
    return text


def utility(frame: pd.DataFrame) -> pd.DataFrame:
    """Return scores of models trained on real rows, and how much those of each generator differ on the same splits.

    Pairs are of one table and seed: a generator that ran with one seed is compared with the real rows of that seed.
    """
    parts = {}
    for name in EVALUATORS:
        real = frame[frame["metric"] == f"real_{name}"].groupby(["table", "seed"])["value"].mean()
        errors = frame[frame["metric"] == f"utility_{name}"].groupby(["generator", "table", "seed"])["value"].mean()
        scale = real.abs().reindex(errors.index.droplevel("generator")).to_numpy()
        difference = (-errors * scale).groupby(["table", "generator"]).mean().unstack()
        parts[name] = pd.concat([real.groupby("table").mean().rename("real"), difference], axis=1)
    joined = pd.concat(parts, names=["evaluator", "table"])
    return joined.swaplevel().sort_index()


def raw_utility(frame: pd.DataFrame) -> pd.DataFrame:
    """Return scores of models trained on real rows and on those of each generator, mean ± spread over the seeds.

    Real rows are scored once per split, in every run of it; generators with fewer seeds have fewer splits.
    """
    parts = {}
    for name in EVALUATORS:
        real = frame[frame["metric"] == f"real_{name}"].drop_duplicates(["table", "seed"])
        scores = frame[frame["metric"] == f"score_{name}"]
        both = pd.concat([real.assign(generator="real"), scores])
        parts[name] = with_spread(both.assign(metric=name), name)
    return pd.concat(parts, names=["evaluator", "table"]).swaplevel().sort_index()


def averages(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean and spread (of a sample) of the scores over tables and evaluators, real rows first, as the paper has them.

    A cell is a table and an evaluator, averaged over seeds first. One row per generator.
    """
    cells = pd.concat({name: means(frame, f"score_{name}") for name in EVALUATORS}, names=["evaluator"])
    real = pd.concat(
        {name: means(frame.assign(generator="real"), f"real_{name}") for name in EVALUATORS}, names=["evaluator"]
    )
    return _summary(pd.concat([real, cells], axis=1), "Avg")


def _summary(cells: pd.DataFrame, title: str) -> pd.DataFrame:
    """Means and spreads (of a sample) of cells of a table and an evaluator, over all and by evaluator, per column."""
    rows = {}
    for generator, scores in cells.items():
        known = scores.dropna()
        row = {title: known.mean(), "std": known.std(ddof=1)}
        for name in EVALUATORS:
            own = known[known.index.get_level_values("evaluator") == name]
            row |= {f"{title} {name}": own.mean(), f"std {name}": own.std(ddof=1)}
        rows[generator] = row | {"tables": known.index.get_level_values("table").nunique()}
    return pd.DataFrame.from_dict(rows, orient="index")


def balance(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the scores by table and evaluator, marked where the rows fail the distance test on that table."""
    leaky = means(frame, "dcr") < LEAK
    parts = {}
    for name in EVALUATORS:
        scores = means(frame, f"score_{name}")
        flags = leaky.reindex(index=scores.index, columns=scores.columns, fill_value=False)
        text = scores.map(lambda score: "" if pd.isna(score) else f"{score:.3f}")
        parts[name] = text + flags.map(lambda flag: " †" if flag else "").where(text != "", "")
    return pd.concat(parts, names=["evaluator", "table"]).swaplevel().sort_index()


def fidelity(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean and spread (of a sample) of Shape and Trend over the tables, as the paper summarises them."""
    columns = {}
    for metric, title in (("shape", "Shape"), ("trend", "Trend")):
        tables = means(frame, metric)
        columns |= {title: tables.mean(), f"std {title}": tables.std(ddof=1)}
    columns["tables"] = tables.notna().sum()
    return pd.DataFrame(columns)


def relative_errors(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean and spread (of a sample) of the signed relative error over tables and evaluators, as the paper summarises.

    A cell is a table and an evaluator, averaged over seeds first. One row per generator.
    """
    return _summary(
        pd.concat({name: means(frame, f"utility_{name}") for name in EVALUATORS}, names=["evaluator"]), "RE"
    )


def privacy(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean and lowest p-value over tables, how many tables are below 0.05, and how many single runs."""
    tables = means(frame, "dcr")
    runs = frame[frame["metric"] == "dcr"]
    low = (runs["value"] < LEAK).groupby(runs["generator"]).sum()
    return pd.DataFrame(
        {
            "average p": tables.mean(),
            "lowest p": tables.min(),
            "tables < 0.05": (tables < LEAK).sum(),
            "runs < 0.05": low,
        }
    )


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per generator: everything that can be averaged over its tables."""
    columns = {"relative error": relative_errors(frame)["RE"]}
    for metric, title in (("shape", "Shape"), ("trend", "Trend"), ("detection", "two-sample AUC"), ("dcr", "DCR p")):
        columns[title] = means(frame, metric).mean()
    columns["DCR < 0.05"] = privacy(frame)["tables < 0.05"]
    for metric, title in (("membership", "membership AUC"), ("fit_cpu_seconds", "fit, CPU s"),
                          ("sample_cpu_seconds", "sample, CPU s"), ("peak_mib", "peak MiB")):  # fmt: skip
        columns[title] = means(frame, metric).mean()
    columns["tables"] = means(frame, "shape").notna().sum()
    for metric, title in (("shape", "runs"), ("fit_cpu_seconds", "timed runs")):
        columns[title] = frame[frame["metric"] == metric].groupby("generator")["value"].count()
    frame = pd.DataFrame({name: values for name, values in columns.items() if values.notna().any()})
    return frame.rename_axis("generator")


def whole(frame: pd.DataFrame, tables: Sequence[str], seeds: int) -> pd.DataFrame:
    """Of the runs on these tables with the first seeds, those of generators that have all of them."""
    part = frame[frame["table"].isin(tables) & (frame["seed"] < seeds)]
    made = part[part["metric"] == "run"].drop_duplicates(["generator", "table", "seed"])["generator"].value_counts()
    return part[part["generator"].isin(made.index[made == len(tables) * seeds])]


def by_table(frame: pd.DataFrame, generator: str) -> pd.DataFrame:
    """Return one row per table of one generator: means over its seeds, the distance test also as the lowest p-value.

    Fisher's method combines the p-values of the seeds: several that barely pass are a violation together.
    """
    part = frame[frame["generator"] == generator]
    runs = part[part["metric"] != RUN].pivot_table(index=["table", "seed"], columns="metric", values="value")
    runs["fit, CPU s"] = runs.get("fit_cpu_seconds")
    columns = {
        "utility": "relative error", "shape": "Shape", "trend": "Trend", "detection": "two-sample AUC", "dcr": "DCR p",
        "membership": "membership AUC", "copies": "copies", "fit, CPU s": "fit, CPU s",
    }  # fmt: skip
    table = runs[[c for c in columns if c in runs]].groupby("table").mean().rename(columns=columns)
    table.insert(0, "runs", runs.groupby("table").size())
    held = frame[(frame["generator"] == "holdout") & (frame["metric"] == "copies")].groupby("table")["value"].mean()
    if "copies" in table:
        table.insert(table.columns.get_loc("copies") + 1, "copies of held-out rows", held.reindex(table.index))
    place, distances = table.columns.get_loc("DCR p") + 1, runs["dcr"].groupby("table")
    table.insert(place, "combined DCR p", distances.agg(lambda p: combine_pvalues(p).pvalue))
    table.insert(place, "lowest DCR p", distances.min())
    return table


def variants(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per table and variant of a model, `base | what | value`, in the order in which they ran."""
    parts = {}
    for table, part in frame.groupby("table", sort=False):
        scores = summary(part).loc[part["generator"].unique()]
        scores["DCR < 0.05"] = privacy(part)["runs < 0.05"]  # all of one table: count runs, not tables
        scores = scores.drop(columns=["tables", "sample, CPU s", "peak MiB"], errors="ignore")
        names = [(*name.split(" | "), table) for name in scores.index]
        scores.index = pd.MultiIndex.from_tuples(names, names=["base", "what", "value", "table"])
        parts[table] = scores
    return pd.concat(parts.values()).sort_index(level=["base", "what", "table"], sort_remaining=False, kind="stable")


def parts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what removing each part changes, on the runs (table and seed) that it shares with the whole model.

    `±` is the standard error of the mean difference; a difference beyond twice of it is unlikely to be chance.
    """
    titles = {"utility": "relative error", "shape": "Shape", "trend": "Trend", "detection": "two-sample AUC"}
    wide = frame[frame["metric"].isin(titles) & frame["generator"].str.contains(" | part | ", regex=False)].pivot_table(
        index=["table", "seed"], columns=["generator", "metric"], values="value"
    )
    rows = {}
    for name in wide.columns.get_level_values(0).unique():
        base, _, part = name.split(" | ")
        whole = f"{base} | part | whole"
        if part == "whole" or (whole, "utility") not in wide:
            continue
        row: dict[str, object] = {"runs of both": int(wide[[(name, "shape"), (whole, "shape")]].dropna().shape[0])}
        for metric, title in titles.items():
            both = wide[[(name, metric), (whole, metric)]].dropna() if (name, metric) in wide else wide.iloc[:0, :2]
            change = both.iloc[:, 0] - both.iloc[:, 1]
            error = f" ± {change.std(ddof=1) / len(change) ** 0.5:.3f}" if len(change) > 1 else ""
            row[title] = f"{change.mean():+.3f}{error}" if len(change) else ""
        rows[base, part] = row
    made = pd.DataFrame.from_dict(rows, orient="index")
    return made.rename_axis(["base", "without or with"]) if rows else made


def significant(table: pd.DataFrame, base: str = "small S") -> str:
    """Say of which parts the table of `parts` shows that removing them costs utility; the paper says so of three."""
    said: dict[str, list[str]] = {"beyond chance": [], "within chance": [], "not known, for lack of seeds": []}
    for (own, part), row in table.iterrows():
        if own != base:
            continue
        change, _, error = str(row["relative error"]).partition(" ± ")
        sure = "not known, for lack of seeds"
        if error and row["runs of both"] >= SEEDS:
            sure = "beyond chance" if abs(float(change)) > 2 * float(error) else "within chance"
        said[sure].append(f"{part} ({row['relative error']}, {row['runs of both']} runs)")
    parts_said = "; ".join(f"{words}: {', '.join(parts)}" for words, parts in said.items() if parts)
    return f"What it costs the {base} in relative error is {parts_said}." if parts_said else ""


def leaders(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the best by each measure, on one table, and of how many."""
    scores, rows = summary(frame), {}
    for title, part in (("all", scores), ("without violation", scores[scores["DCR < 0.05"] == 0])):
        if part.empty:
            continue
        best = {
            "relative error": part["relative error"].idxmin(),
            "Shape": part["Shape"].idxmax(),
            "Trend": part["Trend"].idxmax(),
            "two-sample AUC": (part["two-sample AUC"] - 0.5).abs().idxmin(),
        }
        named = {measure: f"{name} ({part.loc[name, measure]:.3f})" for measure, name in best.items()}
        rows[f"{title} ({len(part)})"] = named
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("among")


def against(frame: pd.DataFrame, ours: str = "auto") -> pd.DataFrame:
    """Each rival on the runs (table and seed) that both finished: theirs minus ours, averaged, and wins of ours."""
    rows = {}
    metrics = {"utility": "relative error", "shape": "Shape", "trend": "Trend", "fit_cpu_seconds": "fit, CPU s"}
    wide = frame[frame["metric"].isin(metrics)].pivot_table(
        index=["table", "seed"], columns=["generator", "metric"], values="value"
    )
    if ours not in wide.columns.get_level_values(0):
        return pd.DataFrame()
    for rival in wide.columns.get_level_values(0).unique().drop(ours):
        row: dict[str, float] = {"runs of both": wide[[(rival, "shape"), (ours, "shape")]].dropna().shape[0]}
        for metric, title in metrics.items():
            if (rival, metric) not in wide or (ours, metric) not in wide:
                continue
            both = wide[[(rival, metric), (ours, metric)]].dropna()
            difference = both[(rival, metric)] - both[(ours, metric)]
            better = difference > 0 if metric in ("utility", "fit_cpu_seconds") else difference < 0
            row[f"{title}, theirs − ours"] = difference.mean()
            row[f"ours better in {title}"] = better.sum()
        rows[rival] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def unfinished(frame: pd.DataFrame) -> pd.DataFrame:
    """Runs that failed or took too long, with what they said."""
    runs = frame[(frame["metric"] == "run") & (frame["status"] != "ok")]
    columns = ["table", "generator", "seed", "budget_seconds", "status", "message"]
    return runs[columns].sort_values(["generator", "table", "seed"]).reset_index(drop=True)


def missing(frame: pd.DataFrame, tables: Sequence[str], generators: Sequence[str], seeds: int) -> pd.DataFrame:
    """How many runs of each pair were made at all, where that is fewer than asked for."""
    made = frame[frame["metric"] == "run"].groupby(["generator", "table"])["seed"].nunique()
    counts = {g: {t: int(made.get((g, t), 0)) for t in tables} for g in generators}
    table = pd.DataFrame.from_dict(counts, orient="index", columns=list(tables))
    return table[(table < seeds).any(axis=1)]


def common(frame: pd.DataFrame, names: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the tables on which all generators were timed, and those generators; half of them at least."""
    done = means(frame, "fit_cpu_seconds").reindex(columns=[n for n in names if n in set(frame["generator"])]).notna()
    done = done[done.any(axis=1)]
    kept = done.columns[done.sum() >= max(1, len(done) / 2)]
    tables = done.index[done[kept].all(axis=1)]
    return frame[frame["table"].isin(tables) & frame["generator"].isin(kept)], list(kept)


def ordered(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Names in the order in which they are known, others behind."""
    return sorted(names, key=lambda n: (known.index(n) if n in known else len(known), n))


def curve(frame: pd.DataFrame, base: str, kind: str, metric: str) -> pd.Series:
    """A metric over the values of one setting, averaged over tables and seeds: runs named `base | kind | value`.

    Only tables and seeds that all values have, since a line through different tables shows nothing of the setting.
    """
    part = frame[(frame["metric"] == metric) & frame["generator"].str.startswith(f"{base} | {kind} | ")]
    n_values = part.groupby(["table", "seed"])["generator"].transform("nunique")
    part = part[n_values == part["generator"].nunique()]
    if part.empty:
        return pd.Series(dtype=np.float64)
    values = part["generator"].str.rsplit(" | ", n=1).str[1]
    numbers = pd.to_numeric(values, errors="coerce")
    keys = numbers if numbers.notna().all() else values
    return part["value"].groupby(keys).mean()


def wide(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per successful run and one column per metric."""
    keys = ["table", "generator", "seed"]
    part = frame[(frame["status"] == "ok") & (frame["metric"] != "run")]
    order = part[keys].drop_duplicates()
    table = part.pivot_table(index=keys, columns="metric", values="value", aggfunc="last").reset_index()
    return order.merge(table, on=keys)
