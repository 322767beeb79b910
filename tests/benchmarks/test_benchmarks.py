"""The benchmarks' own parts that can break without anybody running them."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.experiments import PARTS
from benchmarks.grid import compare_in_parallel
from benchmarks.pages import marks, put
from benchmarks.report import numbers

from benchmarks import alarms, asking, privacy, scale_columns
from tabtreeformer import TabTreeFormer
from tabtreeformer._runtime import threads
from tabtreeformer.config.override import parse_settings
from tabtreeformer.config.presets import configure
from tabtreeformer.evaluation.compare import CONTROLS, Limits, Results
from tabtreeformer.evaluation.compare.tables import from_folder

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", PARTS["auto"])
def test_every_part_of_auto_can_be_replaced_and_changes_a_setting(name, mixed):
    sections = parse_settings(PARTS["auto"][name])
    sections.setdefault("train", {}).update({"steps": 4, "validate_every": 2})
    model = TabTreeFormer(target="income", **sections, random_state=0, verbose=False).fit(mixed)
    assert len(model.sample(5)) == 5
    plain = configure("auto", {"train": {"steps": 4, "validate_every": 2}}, len(mixed), 2, mixed.shape[1])
    assert (model.fitted_.config == plain) == (name == "whole")


def test_a_table_is_written_between_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("\n".join(["before", marks("one")[0], "old", marks("one")[1], "after"]))
    for _ in range(2):
        put(page, "one", "new")
    assert page.read_text().split() == [
        "before",
        "<!--",
        "one:",
        "begin",
        "-->",
        "new",
        "<!--",
        "one:",
        "end",
        "-->",
        "after",
    ]


def test_a_page_without_its_marks_is_left_as_it_is(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("\n".join(["before", *reversed(marks("one")), "after"]))
    with pytest.raises(ValueError, match="page.md has no marks"):
        put(page, "one", "new")
    assert "new" not in page.read_text()


def test_orders_are_compared_on_the_runs_that_all_have():
    keys = [(label, seed) for seed in (0, 1) for label in asking.ORDERS if (label, seed) != ("any", 1)]
    values = dict.fromkeys(("shape", "trend", "detection", "dcr", "membership", "steps"), 0.5)
    runs = [
        {"generator": f"auto | order | {label}", "table": "iris", "seed": seed, "utility": seed, **values}
        for label, seed in keys
    ]
    lines = asking.by_order(pd.DataFrame(runs)).splitlines()
    assert len(lines) == 2 + 2 * len(asking.ORDERS)
    assert all("| 1 |" in line and "| 0.000 |" in line for line in lines[2:])


def test_the_iterative_imputer_is_given_its_rounds():
    """Two gaps that tell of each other: after one round from the means they are filled half and three quarters."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=400)
    train = pd.DataFrame({name: common + rng.normal(scale=0.01, size=400) for name in "abc"})
    gaps = pd.DataFrame({"a": [np.nan], "b": [np.nan], "c": [2.0]})
    together = asking.fill_iteratively(train, gaps, 0, on_both=True)
    assert together[["a", "b"]].to_numpy() == pytest.approx(2.0, abs=0.1)
    after = asking.fill_iteratively(train, gaps, 0, on_both=False)
    assert after["c"][0] == pytest.approx(2.0)
    assert after["a"][0] < 1.5


def test_large_tables_are_asked_about_some_of_their_rows():
    table = pd.DataFrame({"a": range(50)})
    assert asking.some(table, 50, 0) is table
    assert asking.some(table, 20, 0)["a"].nunique() == 20


def test_a_kept_model_is_judged_again_on_the_same_rows(mixed, tiny):
    many = pd.concat([mixed] * (1 + 220 // len(mixed)), ignore_index=True)
    train, test = many.iloc[:160].reset_index(drop=True), many.iloc[160:].reset_index(drop=True)
    model = TabTreeFormer(target="income", **tiny, random_state=5, verbose=False).fit(train, holdout=test)
    before = model.summary()["privacy"]
    privacy.judge_again(model, train, test, 5)
    after = model.summary()["privacy"]
    assert {**after, "seconds": None} == {**before, "seconds": None}
    with pytest.raises(ValueError, match="another seed"):
        privacy.judge_again(model, train, test, 6)


def test_privacy_figures_of_runs_become_a_table(mixed, tiny, tmp_path, monkeypatch):
    many = pd.concat([mixed] * (1 + 110 // len(mixed)), ignore_index=True)
    model = TabTreeFormer(target="income", **tiny, random_state=0, verbose=False).fit(many)
    row = privacy.figures(model.summary())
    assert {"dcr", "likelihood", "gap", "verdict"} <= set(row)
    assert row["membership"] == model.summary()["privacy"]["measures"]["membership"]["value"]
    runs = [{"settings": name, "table": "iris", "seed": seed, **row} for name in ("auto", "S-like") for seed in (0, 1)]
    pd.DataFrame(runs).to_csv(tmp_path / "privacy.csv", index=False)
    page = tmp_path / "page.md"
    page.write_text("\n".join([*marks("cost of strict"), *marks("figures")]))
    for _ in range(2):
        privacy.write(page, tmp_path / "runs.csv", tmp_path / "privacy.csv")
    page = page.read_text()
    assert page.count("| auto | iris |") == page.count("| S-like | iris |") == 1
    assert f"{row['dcr']:.3f}" in page


def test_what_strict_costs_is_compared_on_the_seeds_that_both_have():
    def runs(*figures):
        return pd.DataFrame([{"table": "iris", "seed": s, **dict.fromkeys(privacy.COSTS, f)} for s, f in figures])

    line = privacy.cost_table(runs((0, 0.1), (1, 0.3), (2, 9.0)), runs((0, 0.4), (1, 0.5))).splitlines()[-1]
    assert line == "| iris | 2 |" + " 0.200 → 0.450 |" * len(privacy.COSTS)


def test_each_width_is_a_line_of_the_benchmark_of_columns(tmp_path, monkeypatch):
    scale_columns.main(argparse.Namespace(measure=None, columns=[4], rows=60, new=50, output=tmp_path / "out.csv"))
    monkeypatch.setattr(threads, "_most_cores", None)  # which the other measurement, in this process, sets to 1
    lines = pd.concat([pd.read_csv(tmp_path / "out.csv"), pd.DataFrame([scale_columns.measure(6, 60, 50)])])
    assert lines["columns"].tolist() == [4, 6]
    assert (lines["tokens_per_row"].diff().dropna() == 2).all()  # one token a number
    assert (lines[["rows_per_processor_second", "peak_mib"]] > 0).all(axis=None)


@pytest.fixture
def folder(tmp_path):
    """A folder with one table of 300 rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3)).round(2)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=np.where(x[:, 0] > 0, "p", "q"))
    frame.to_csv(tmp_path / "made.csv", index=False)
    facts = {"name": "made", "file": "made.csv", "target": "y", "categorical": ["y"]}
    (tmp_path / "datasets.json").write_text(json.dumps([facts]))
    return tmp_path


def test_a_model_that_was_kept_is_read_instead_of_fitted(folder):
    command = [sys.executable, "-m", "benchmarks.privacy", "--one", "auto", "made", "0"]
    command += ["--data", str(folder), "--models", str(folder / "models")]
    train, test = from_folder(folder, "made").split(0)
    model = TabTreeFormer("auto", "y", train={"steps": 4}, random_state=0, verbose=False).fit(train, holdout=test)
    (folder / "models").mkdir()
    model.save(folder / "models" / "made-0.tabtree")
    out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    row, record = json.loads(out.splitlines()[-1]), model.summary()
    assert row["fit_seconds"] == record["fit_seconds"]
    assert row["dcr"] == pytest.approx(record["privacy"]["measures"]["dcr"]["value"])


def test_runs_side_by_side_are_those_of_one_after_the_other(folder):
    results = Results(folder / "runs.csv")
    specs = [spec for spec in CONTROLS if spec.name in ("identity", "holdout")]
    limits, table = Limits(budget_seconds=60), from_folder(folder, "made")
    rest = {"data": folder, "samples": folder / "samples", "jobs": 2, "engine": "processes"}
    made = list(compare_in_parallel([table], specs, [0], results, limits, **rest))
    assert {run.generator: run.status for run in made} == {"identity": "ok", "holdout": "ok"}
    assert {run.generator: run.values["copies"] for run in results.runs()} == {"identity": 1.0, "holdout": 0.0}
    assert not list(compare_in_parallel([table], specs, [0], results, limits, **rest))


def test_p_values_of_the_seeds_are_combined():
    rows = [("iris", seed, "dcr", p) for seed, p in enumerate((0.057, 0.063, 0.108))]
    frame = pd.DataFrame(rows, columns=["table", "seed", "metric", "value"]).assign(generator="auto")
    line = numbers.by_table(frame, "auto").loc["iris"]
    assert line["lowest DCR p"] == 0.057
    assert line["combined DCR p"] == pytest.approx(0.0154, abs=1e-4)


def test_alarms_are_counted_and_copies_ring(folder):
    frame = pd.read_csv(folder / "made.csv")
    assert "copies" in alarms.alarms(frame, "y", (120, 60), "report", 0, copied=0.5)
    assert "copies" in alarms.alarms(frame, "y", (120, 60), "gate", 0, copied=0.5)
    assert not alarms.alarms(frame, "y", (120, 60), "gate", 0, copied=0.0)
