"""From the results to tables, figures and pages of documentation. No number is typed by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from tabtreeformer.errors import ConfigError
from tabtreeformer.evaluation.compare import COMPARISON, Results

from ..experiments import protocol
from ..generators import GENERATORS
from ..pages import put
from ..tables import LARGE, SMALL
from . import forms, numbers, page, printed

CONTROLS = tuple(spec.name for spec in GENERATORS if spec.family == "control")
ORDER = [spec.name for spec in GENERATORS]
SEEDS = 3
COPIES = (
    "Shares of the rows of seed 0 that are at distance 0 from a training row, or below 1e-6, and the same of real rows "
    "that nobody learned from. The paper says that TabuLa has more than half of its rows at 0 on many tables, and more "
    "than 80 % below 1e-6."
)
PARTS = (
    "What each of these changes against the whole model, run by run, with the standard error of the mean; within twice "
    "of that it can be chance. The paper finds that tree prompts, OCEL and quantile embeddings all matter."
)
PAGE = Path("docs") / "lab" / "benchmark.md"
COMPARED = ("relative error", "Shape", "Trend", "two-sample AUC", "DCR p", "DCR < 0.05", "membership AUC", "fit, CPU s")
"""Columns of the comparison in docs/lab/experiments.md."""


def write(
    results: Path,
    out: Path,
    *,
    root: Path | None = None,
    utility: str = "quick",
    split: str = "seed",
) -> None:
    """Write all tables in three formats and all figures in two, and with `root` the pages of that checkout.

    `utility` and `split` say how the runs were scored and split; those of other ways are not mixed in.
    """
    names = [protocol(name, utility, split) for name in (COMPARISON, "ablations", "equal-time")]
    runs, ablations, equal = (Results(results, name).read() for name in names)
    if runs.empty:
        raise ConfigError(f"{results} has no runs of {names[0]}; make some with: python -m benchmarks run")
    tables = build_tables(runs, ablations, equal)
    if (copies := results.with_name("copies.csv")).exists():
        tables["copies"] = (
            COPIES,
            pd.read_csv(copies).drop(columns="seed").set_index(["generator", "table"]).sort_index(),
        )
    for name, (caption, frame) in tables.items():
        forms.write_all(out / "tables", name, frame, caption)
    drawn = draw(runs, ablations, equal, out / "figures", results.with_name("rows"))
    machine = results.with_name("machine.json")
    facts = json.loads(machine.read_text(encoding="utf-8")) if machine.exists() else {}
    facts |= {"utility": utility, "split": split}
    if root is not None:
        write_page(root / PAGE, tables, drawn, runs, facts, out / "figures")
        write_marked(root, results, tables)
    print(f"wrote {len(tables)} tables and {len(drawn)} figures to {out}")


def write_marked(root: Path, results: Path, tables: dict[str, tuple[str, pd.DataFrame]]) -> None:
    """Write the tables that pages have between marks."""
    from .. import asking, dp, privacy, scale

    if "complete" not in tables:
        raise ConfigError(f"no generator has {SEEDS} seeds of all of {', '.join(SMALL)}; the comparison is not written")
    complete = tables["complete"][1]
    lab = root / "docs" / "lab"
    put(lab / "experiments.md", "comparison", forms.markdown(complete[[c for c in COMPARED if c in complete]]))
    put(lab / "experiments.md", "auto", forms.markdown(tables["auto"][1]))
    if "auto_parts" in tables:
        put(lab / "experiments.md", "parts", forms.markdown(tables["auto_parts"][1]))
    privacy.write(lab / "privacy.md", results, results.with_name("privacy.csv"))
    asking.write_page(lab / "asking.md", results, results.with_name("asking.csv"))
    scale.write_page(lab / "scale.md")
    dp.write_page(root / "docs" / "dp.md", pd.read_csv(results.with_name("dp.csv")))


def build_tables(
    runs: pd.DataFrame, ablations: pd.DataFrame, equal: pd.DataFrame
) -> dict[str, tuple[str, pd.DataFrame]]:
    """Name → caption and table."""
    paper = printed.printed()
    here = [t for t in (*SMALL, *LARGE) if t in set(runs["table"])]
    paper_here = paper[paper["table"].isin(here)]
    ok = runs[runs["status"] == "ok"]
    order = numbers.ordered(ok["generator"].unique().tolist(), ORDER)
    duels = numbers.against(ok).reindex(order).dropna(how="all")
    scores = _columns(numbers.utility(ok), order)
    errors = numbers.relative_errors(ok).reindex(order).dropna(how="all")
    made: dict[str, tuple[str, pd.DataFrame]] = {
        "summary": ("Means over the tables that a generator finished.", numbers.summary(ok).reindex(order)),
        "beside_paper": ("Our runs next to what the paper prints.", beside(ok, paper)),
        "against": ("Rivals against auto, on the runs that both finished.", duels),
        "utility": (
            "Scores of models trained on real rows, and by how much those trained on a generator's rows differ on the "
            "same splits.",
            scores,
        ),
        "relative_error": ("Signed relative error, mean and deviation.", errors),
        "averages": (
            "Average score, mean and deviation over tables and evaluators; `real` is trained on real rows.",
            numbers.averages(ok).reindex(["real", *order]).dropna(how="all"),
        ),
        "raw_utility": (
            "Scores by table and evaluator, mean ± deviation over the seeds.",
            _columns(numbers.raw_utility(ok), order),
        ),
        "balance": (
            "The same scores, marked † where the rows fail the distance test on that table.",
            _columns(numbers.balance(ok), order),
        ),
        "fidelity": (
            "Shape and Trend, mean and deviation over the tables.",
            numbers.fidelity(ok).reindex(order).dropna(how="all"),
        ),
        "privacy": ("The distance test.", numbers.privacy(ok).reindex(order)),
        "paper_utility": ("The paper's scores on the same tables.", numbers.utility(paper_here)),
        "paper_relative_error": ("The paper's relative error on the same tables.", numbers.relative_errors(paper_here)),
    }  # fmt: skip
    whole = numbers.whole(ok, SMALL, SEEDS)
    if not whole.empty:
        caption = f"Those that finished the {len(SMALL)} small tables with {SEEDS} seeds each."
        made["complete"] = (caption, numbers.summary(whole).reindex(order).dropna(how="all"))
    for metric, title in (("shape", "Shape"), ("trend", "Trend"), ("dcr", "p-value of the distance test"),
                          ("membership", "Membership AUC"), ("detection", "Two-sample AUC")):  # fmt: skip
        made[metric] = (f"{title}, by table.", _columns(numbers.with_spread(ok, metric), order))
    for metric, title in (("fit_cpu_seconds", "Fit"), ("sample_cpu_seconds", "Sample")):
        made[metric] = (f"{title}, processor seconds on one thread.", _columns(numbers.means(ok, metric), order))
    if (ok["metric"] == "copies").any():
        caption = "Share of the rows that equal a training row, which is distance 0 in the paper's words."
        made["exact_copies"] = (caption, _columns(numbers.means(ok, "copies"), order))
    if (ok["generator"] == "auto").any():
        made["auto"] = ("`auto`, table by table.", numbers.by_table(ok, "auto"))
    if not ablations.empty:
        varied = numbers.variants(ablations[ablations["status"] == "ok"])
        parts = varied.index.get_level_values("what") == "part"
        made["ablations"] = ("Parts removed or replaced.", varied[parts])
        changes = numbers.parts(ablations[ablations["status"] == "ok"])
        made["parts"] = (f"{PARTS} {numbers.significant(changes)}", changes)
        made["settings"] = ("Settings varied.", varied[~parts])
        ours = (
            varied[parts & (varied.index.get_level_values("base") == "auto")]
            .droplevel(["base", "what"])
            .rename_axis(["part", "table"])
        )
        made["auto_parts"] = ("Parts of `auto` removed or replaced.", ours)
    if not equal.empty:
        fair = equal[equal["status"] == "ok"]
        given = by_time(fair, numbers.summary).drop(columns="tables", errors="ignore")  # here always one
        made["equal_time"] = ("Every generator with the same budget.", given)
        made["leaders"] = (
            "The best in each budget: of all that finished, and of those whose rows pass the distance test (copies are "
            "the most faithful rows there are).",
            by_time(fair, numbers.leaders),
        )
    unfinished = numbers.unfinished(pd.concat([runs, ablations, equal], ignore_index=True)).set_index("generator")
    made["unfinished"] = ("Runs that failed or did not finish in time.", unfinished)
    return made


def beside(ok: pd.DataFrame, paper: pd.DataFrame) -> pd.DataFrame:
    """Return our runs of a generator next to the paper's numbers: over the tables that both have, and by table."""
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for spec in GENERATORS:
        own, theirs = ok[ok["generator"] == spec.name], paper[paper["generator"] == spec.paper]
        tables = [t for t in (*SMALL, *LARGE) if (own["table"] == t).any() and (theirs["table"] == t).any()]
        groups = {"all": tables} | {t: [t] for t in tables} if tables else {}
        for title, group in groups.items():
            rows[spec.name, title] = _here_and_there(*(f[f["table"].isin(group)] for f in (own, theirs)))
    frame = pd.DataFrame.from_dict(rows, orient="index")
    return frame.rename_axis(["generator", "table"]) if rows else frame


def _here_and_there(*parts: pd.DataFrame) -> dict[str, float]:
    """Return the measures of our runs, each next to what the paper prints."""
    row = {}
    for metric, title in (("utility", "relative error"), ("shape", "Shape"), ("trend", "Trend"), ("dcr", "DCR p")):
        for who, part in zip(("here", "paper"), parts, strict=True):
            errors = metric == "utility"
            means = numbers.relative_errors(part)["RE"] if errors else numbers.means(part, metric).mean()
            row[f"{title}, {who}"] = means.iloc[0]
    return row


def by_time(ok: pd.DataFrame, table: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
    """Return the same figures for each table and each budget, one below the other."""
    parts = {(n, f"{budget / 60:g} min"): table(part) for (n, budget), part in ok.groupby(["table", "budget_seconds"])}
    return pd.concat(parts, names=["table", "given"]) if parts else pd.DataFrame()


def draw(
    runs: pd.DataFrame, ablations: pd.DataFrame, equal: pd.DataFrame, folder: Path, folder_of_rows: Path
) -> list[str]:
    """Draw all figures that there are results and kept rows for; return their names."""
    from . import figures, kept, rows

    book = figures.Book(folder)
    ok = runs[runs["status"] == "ok"]
    names = numbers.ordered(ok["generator"].unique().tolist(), ORDER)
    rivals = [name for name in names if name not in CONTROLS]
    drawn = [name for name, drawing in figures.FROM_RUNS.items() if drawing(book, ok, rivals)]
    tables = kept.read(folder_of_rows, rivals)
    drawn += ["marginals"] * rows.marginals(book, tables, rivals)
    if tables:
        drawn += ["correlation"] * rows.correlation(book, max(tables, key=lambda table: len(table.drawn)))
    drawn += figures.settings(book, ablations[ablations["status"] == "ok"])
    drawn += ["equal_time"] * figures.equal_time(book, equal[equal["status"] == "ok"])
    return drawn


def write_page(
    path: Path,
    tables: dict[str, tuple[str, pd.DataFrame]],
    drawn: list[str],
    runs: pd.DataFrame,
    facts: dict[str, Any],
    figures: Path,
) -> None:
    """Write the page of the comparison, and its figures next to it."""
    pictures = path.parent / path.stem
    if drawn:
        pictures.mkdir(parents=True, exist_ok=True)
        for name in drawn:
            shutil.copy(figures / f"{name}.svg", pictures / f"{name}.svg")
    kept = [p.stem for p in sorted(pictures.glob("*.svg"))] if pictures.exists() else []
    text = page.compose(
        {n: (c, forms.markdown(t)) for n, (c, t) in tables.items() if len(t)}, kept, runs, facts, pictures.name
    )
    path.write_text(text, encoding="utf-8")


def _columns(frame: pd.DataFrame, order: list[str]) -> pd.DataFrame:
    """Generators in their order, `real` first."""
    names = [n for n in ("real", *order) if n in frame.columns]
    return frame[names]
