"""The benchmarks' own parts that can break without anybody running them."""

import argparse
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.config import parse_settings

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))  # as for who runs one of them by its path


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


QUALITY, PRIVACY = load("quality"), load("privacy")


@pytest.mark.parametrize("name", QUALITY.ABLATIONS)
def test_every_ablation_can_be_fitted_and_changes_a_setting(name, mixed):
    sections = parse_settings(QUALITY.ABLATIONS[name])
    sections.setdefault("train", {}).update({"steps": 4, "validate_every": 2})
    model = TabTreeFormer(target="income", **sections, random_state=0, verbose=False).fit(mixed)
    assert len(model.sample(5)) == 5
    plain = TabTreeFormer("auto", target="income", train={"steps": 4, "validate_every": 2})._config(
        len(mixed), 2, mixed.shape[1]
    )
    assert (model.fitted_.config == plain) == (name == "whole")


def test_the_papers_means_are_those_of_its_tables():
    means = QUALITY.paper_means(["iris", "boston", "diabetes", "breast-w", "wdbc", "credit-g", "qsar-biodeg"])
    assert means.loc["ttf_s", "Shape"] == pytest.approx(0.902, abs=5e-4)
    assert means.loc["ttf_nm", "relative error"] == pytest.approx(0.012, abs=5e-4)


def test_means_of_a_results_file_become_a_table(tmp_path):
    rows = [
        {"table": table, "seed": seed, **dict.fromkeys(QUALITY.METRICS, 0.5), "dcr": p}
        for table, seed, p in (("iris", 0, 0.01), ("iris", 1, 0.03), ("adult", 0, 0.9))
    ]
    page = tmp_path / "page.md"
    page.write_text(f"before\n{QUALITY.MARKS[0]}\nold\n{QUALITY.MARKS[1]}\nafter\n")
    QUALITY.write_page(pd.DataFrame(rows), page)
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("before")
    assert text.endswith("after\n")
    assert "| iris | 2 | 0.500 | 0.500 | 0.500 | 0.500 | 0.020 |" in text
    assert "| **mean** |  | 0.500 | 0.500 | 0.500 | 0.500 | 0.460 |" in text  # tables weigh the same
    assert "2 of 3 runs" in text


def test_a_page_without_its_marks_is_left_as_it_is(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{QUALITY.MARKS[1]}\n{QUALITY.MARKS[0]}\nafter\n")
    with pytest.raises(ValueError, match="page.md has no place"):
        load("pages").put(page, *QUALITY.MARKS, "new")
    assert "new" not in page.read_text()


def test_orders_are_compared_on_the_runs_that_all_have():
    asking = load("asking")
    keys = [(label, seed) for seed in (0, 1) for label in asking.ORDERS if (label, seed) != ("any", 1)]
    values = dict.fromkeys(("shape", "trend", "detection", "dcr", "membership", "steps"), 0.5)
    runs = [{"label": label, "table": "iris", "seed": seed, "utility": seed, **values} for label, seed in keys]
    lines = asking.by_order(pd.DataFrame(runs)).splitlines()
    assert len(lines) == 2 + 2 * len(asking.ORDERS)
    assert all("| 1 |" in line and "| 0.000 |" in line for line in lines[2:])


def test_the_iterative_imputer_is_given_its_rounds():
    """Two gaps that tell of each other: after one round from the means they are filled half and three quarters."""
    asking, rng = load("asking"), np.random.default_rng(0)
    common = rng.normal(size=400)
    train = pd.DataFrame({name: common + rng.normal(scale=0.01, size=400) for name in "abc"})
    gaps = pd.DataFrame({"a": [np.nan], "b": [np.nan], "c": [2.0]})
    together = asking.fill_iteratively(train, gaps, 0, on_both=True)
    assert together[["a", "b"]].to_numpy() == pytest.approx(2.0, abs=0.1)
    after = asking.fill_iteratively(train, gaps, 0, on_both=False)
    assert after["c"][0] == pytest.approx(2.0)
    assert after["a"][0] < 1.5


def test_large_tables_are_asked_about_some_of_their_rows():
    asking = load("asking")
    table = pd.DataFrame({"a": range(50)})
    assert asking.some(table, 50, 0) is table
    assert asking.some(table, 20, 0)["a"].nunique() == 20


def test_ablations_become_a_table_of_their_own(tmp_path):
    runs = pd.DataFrame(
        {"label": label, "table": "iris", "seed": seed, "steps": 10, **dict.fromkeys(QUALITY.METRICS, 0.04 * seed)}
        for label in ("whole", "no trees") for seed in (0, 1, 2)
    )  # fmt: skip
    page = tmp_path / "page.md"
    page.write_text("\n".join(["before", *QUALITY.ABLATION_MARKS, "after"]))
    QUALITY.write_page(runs, page, ablations=True)
    lines = page.read_text().splitlines()
    assert "| iris | no trees | 3 | 0.040 | 0.040 | 0.040 | 0.040 | 0.040 | 0.040 | 2 | 10 |" in lines
    assert lines[-1] == "after"


def test_a_second_call_finds_the_runs_of_the_first(tmp_path, monkeypatch):
    options = type("Options", (), {})()
    options.out, options.label, options.presets, options.tables = tmp_path / "q.csv", "", "auto", "iris"
    options.seeds, options.jobs, options.set, options.data, options.openml = 2, 1, [], Path("nowhere"), False
    options.engine, options.models = "processes", None
    row = {"label": "", "preset": "auto", "table": "iris", **dict.fromkeys(QUALITY.METRICS, 0.5)}
    pd.DataFrame([{**row, "seed": seed} for seed in range(2)]).to_csv(options.out, index=False)
    monkeypatch.setattr(QUALITY.subprocess, "run", lambda *a, **k: pytest.fail("ran again"))
    assert len(QUALITY.run_all(options)) == 2


def test_a_kept_model_is_judged_again_on_the_same_rows(mixed, tiny):
    many = pd.concat([mixed] * (1 + 220 // len(mixed)), ignore_index=True)
    train, test = many.iloc[:160].reset_index(drop=True), many.iloc[160:].reset_index(drop=True)
    model = TabTreeFormer(target="income", **tiny, random_state=5, verbose=False).fit(train, holdout=test)
    before = model.summary()["privacy"]
    PRIVACY.judge_again(model, train, test, 5)
    after = model.summary()["privacy"]
    assert {**after, "seconds": None} == {**before, "seconds": None}
    with pytest.raises(ValueError, match="another seed"):
        PRIVACY.judge_again(model, train, test, 6)


def test_privacy_figures_of_runs_become_a_table(mixed, tiny, tmp_path, monkeypatch):
    many = pd.concat([mixed] * (1 + 110 // len(mixed)), ignore_index=True)
    model = TabTreeFormer(target="income", **tiny, random_state=0, verbose=False).fit(many)
    row = PRIVACY.figures(model.summary())
    assert {"dcr", "likelihood", "gap", "verdict"} <= set(row)
    assert row["membership"] == model.summary()["privacy"]["measures"]["membership"]["value"]
    runs = [{"settings": name, "table": "iris", "seed": seed, **row} for name in ("auto", "S-like") for seed in (0, 1)]
    pd.DataFrame(runs).to_csv(tmp_path / "privacy.csv", index=False)
    costs = f"{PRIVACY.COST_BEGIN}\n{PRIVACY.COST_END}"
    (tmp_path / "page.md").write_text(f"before\n{costs}\n{PRIVACY.BEGIN}\nold\n{PRIVACY.END}\nafter\n")
    monkeypatch.setattr(PRIVACY, "PAGE", tmp_path / "page.md")
    for _ in range(2):
        PRIVACY.write(argparse.Namespace(out=tmp_path / "privacy.csv"))
    page = (tmp_path / "page.md").read_text()
    assert "old" not in page
    assert page.count("| auto | iris |") == page.count("| S-like | iris |") == 1
    assert f"{row['dcr']:.3f}" in page


def test_what_strict_costs_is_compared_on_the_seeds_that_both_have():
    def runs(*figures):
        return pd.DataFrame([{"table": "iris", "seed": s, **dict.fromkeys(PRIVACY.COSTS, f)} for s, f in figures])

    line = PRIVACY.cost_table(runs((0, 0.1), (1, 0.3), (2, 9.0)), runs((0, 0.4), (1, 0.5))).splitlines()[-1]
    assert line == "| iris | 2 |" + " 0.200 → 0.450 |" * len(PRIVACY.COSTS)


def test_a_run_of_the_grid_that_fails_says_so_and_stops_no_other():
    result = QUALITY.Runs({}, {})(["--data", "nowhere", "--one", "auto", "iris", "0"])
    assert "nowhere" in result["fault"]


def test_each_width_is_a_line_of_the_benchmark_of_columns(tmp_path):
    command = [sys.executable, ROOT / "benchmarks" / "scale.py", "columns", "--columns", "4", "6", "--rows", "60"]
    subprocess.run([*command, "--new", "50", "--output", tmp_path / "out.csv"], check=True, capture_output=True)
    lines = pd.read_csv(tmp_path / "out.csv")
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


def test_models_that_one_benchmark_has_kept_are_read_by_the_next(folder):
    common = ["--data", str(folder), "--models", str(folder)]
    row = QUALITY.Runs({}, {})(["--one", "auto", "made", "0", "--set", "train.steps=4", *common])
    assert 0 <= row["shape"] <= 1
    record = TabTreeFormer.load(folder / "made-0.tabtree", verbose=False).summary()
    assert {run["steps"] for run in record["training"]} == {4}
    command = [sys.executable, ROOT / "benchmarks" / "privacy.py", "--one", "auto", "made", "0", *common]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    assert told["fit_seconds"] == record["fit_seconds"]
    assert told["dcr"] == pytest.approx(record["privacy"]["measures"]["dcr"]["value"])


def test_alarms_are_counted_and_copies_ring(folder):
    alarms = load("alarms")
    frame = pd.read_csv(folder / "made.csv")
    assert "copies" in alarms.alarms(frame, "y", (120, 60), "report", 0, copied=0.5)
    assert "copies" in alarms.alarms(frame, "y", (120, 60), "gate", 0, copied=0.5)
    assert not alarms.alarms(frame, "y", (120, 60), "gate", 0, copied=0.0)
