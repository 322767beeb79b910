"""Generators in processes of their own, and what becomes of them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from tabtreeformer.errors import ConfigError
from tabtreeformer.evaluation import evaluate
from tabtreeformer.evaluation.compare import GeneratorSpec, Limits, Results, choose, compare, located, run_one, runner

from .conftest import BAD, DEAD, GOOD, SHORT, SLOW

LIMITS = Limits(budget_seconds=60)


@pytest.fixture
def no_scores(monkeypatch):
    """Evaluation takes seconds; what is tested here is everything around it."""
    monkeypatch.setattr(runner, "scores_of", lambda train, test, rows, *rest: {"shape": float(len(rows))})


def test_a_run_has_the_scores_of_its_rows_and_what_they_cost(table, generator):
    run = run_one(table, generator(GOOD), 0, LIMITS)
    assert run.status == "ok", run.message
    assert {"shape", "trend", "dcr", "score_LN", "real_XGB", "fit_seconds", "sample_cpu_seconds", "peak_mib"} <= set(
        run.values
    )
    assert run.values["copies"] == 1.0
    assert run.values["score_LN"] == pytest.approx(run.values["real_LN"] * (1 - run.values["utility_LN"]))


def test_rows_come_back_as_they_went_through_the_other_process(table, generator, tmp_path):
    train, _ = table.split(0)
    rows, record = runner.work(table, train, generator(GOOD), 0, LIMITS, tmp_path)
    assert record["status"] == "ok", record["message"]
    drawn = train.sample(len(train), replace=True, random_state=0).reset_index(drop=True)
    pd.testing.assert_frame_equal(rows, drawn, check_dtype=False)  # labels that look like gaps are labels


@pytest.mark.parametrize(
    ("source", "words"),
    [(BAD, "RuntimeError: no rows like these"), (DEAD, "code 3"), (SHORT, "left out the columns ['k', 'c', 'y']")],
)
def test_a_failure_is_a_result_with_its_message(table, generator, no_scores, source, words):
    run = run_one(table, generator(source), 0, LIMITS)
    assert run.status == "failed"
    assert words in run.message
    assert "shape" not in run.values


def test_rows_that_cannot_be_evaluated_are_a_failure(table, generator, monkeypatch):
    def refuse(*_):
        raise ValueError("odd rows")

    monkeypatch.setattr(runner, "scores_of", refuse)
    run = run_one(table, generator(GOOD), 0, LIMITS)
    assert (run.status, run.message) == ("failed", "the rows cannot be evaluated: ValueError: odd rows")


def test_a_generator_that_uses_up_its_processor_time_is_a_timeout(table, generator, no_scores, monkeypatch):
    monkeypatch.setattr(runner, "PATIENCE", 10_000)
    run = run_one(table, generator(SLOW), 0, Limits(budget_seconds=1))
    assert run.status == "timeout"
    assert "1 s of processor time" in run.message


def test_a_generator_that_sleeps_is_ended_by_the_clock(table, generator, no_scores, monkeypatch):
    monkeypatch.setattr(runner, "START_SECONDS", 1)
    monkeypatch.setattr(runner, "PATIENCE", 1)
    sleepy = GOOD.replace("self.df, self.schema = df, schema", "import time; time.sleep(600)")
    run = run_one(table, generator(sleepy), 0, Limits(budget_seconds=1))
    assert run.status == "timeout"


def test_a_second_call_makes_only_what_is_missing(table, generator, no_scores, tmp_path):
    results = Results(tmp_path / "r.csv")
    specs = [generator(GOOD, "good"), generator(BAD, "bad")]
    first = list(compare([table], specs, [0], results, LIMITS))
    assert [(r.generator, r.status) for r in first] == [("good", "ok"), ("bad", "failed")]
    second = list(compare([table], specs, [0, 1], results, LIMITS))
    assert [(r.generator, r.seed) for r in second] == [("good", 1), ("bad", 1)]


def test_a_comparison_that_was_killed_continues_where_it_stopped(table, generator, no_scores, tmp_path):
    results = Results(tmp_path / "r.csv")
    list(compare([table], [generator(GOOD, "good")], [0, 1], results, LIMITS))
    text = results.path.read_text()
    results.path.write_text(text[: text.rindex("run")])  # killed in the middle of writing the second run
    assert results.read()["seed"].unique().tolist() == [0]
    again = list(compare([table], [generator(GOOD, "good")], [0, 1], results, LIMITS))
    assert [r.seed for r in again] == [1]
    assert (results.read().query("metric == 'run'")["value"] == 1).tolist() == [True, True]


def test_a_worker_does_not_outlive_a_comparison_that_was_killed(table, generator, tmp_path):
    sleepy = GOOD.replace("self.df, self.schema = df, schema", "import time; time.sleep(600)")
    job = {"generator": str(generator(sleepy).file), "options": {}, "n_rows": 5, "seed": 0, "cpu_seconds": None}
    job |= {"budget_seconds": None} | {k: str(tmp_path / k) for k in ("train", "schema", "rows", "record")}
    table.frame.to_csv(job["train"], index=False)
    (tmp_path / "schema").write_text(json.dumps(table.plan()))
    starter = tmp_path / "starter.py"
    starter.write_text(
        "import json, os, subprocess, sys\n"
        f"job = {job!r} | {{'parent': os.getpid()}}\n"
        f"open({str(tmp_path / 'job')!r}, 'w').write(json.dumps(job))\n"
        f"command = [sys.executable, {runner.worker.__file__!r}, {str(tmp_path / 'job')!r}]\n"
        "print(subprocess.Popen(command, stdout=subprocess.DEVNULL).pid, flush=True)\n"
        "input()\n"
    )
    parent = subprocess.Popen([sys.executable, starter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    for _ in range(9000):
        state = Path(f"/proc/{worker}/stat")
        if not state.exists() or state.read_text().split()[2] == "Z":
            return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker is still running")


def test_a_timeout_is_tried_again_only_with_more_time(table, generator, no_scores, tmp_path):
    results = Results(tmp_path / "r.csv")
    slow = [generator(SLOW)]
    assert len(list(compare([table], slow, [0], results, Limits(budget_seconds=1)))) == 1
    assert list(compare([table], slow, [0], results, Limits(budget_seconds=1))) == []
    assert not results.done("tiny", "tiny", 0, 2)


def test_everybody_gets_the_same_rows(table):
    train, test = table.split(3)
    again, _ = table.split(3)
    pd.testing.assert_frame_equal(train, again)
    assert len(test) == 16
    both = pd.concat([train, test]).sort_values(["x", "k", "c"], ignore_index=True)
    pd.testing.assert_frame_equal(both, table.frame.sort_values(["x", "k", "c"], ignore_index=True))


@pytest.mark.parametrize("name", ["identity", "marginals", "bootstrap"])
def test_controls_do_what_their_names_say(table, no_scores, tmp_path, name):
    train, _ = table.split(0)
    rows, record = runner.work(table, train, choose([name])[0], 0, LIMITS, tmp_path)
    assert record["status"] == "ok", record["message"]
    assert len(rows) == len(train)
    columns = list(train.columns)
    whole = rows.merge(train.drop_duplicates(), on=columns)
    assert {"identity": len(whole) == len(train), "marginals": len(whole) < len(train), "bootstrap": True}[name]
    assert set(rows["c"]) <= set(train["c"])


def test_held_out_rows_are_scored_like_the_rows_of_a_generator(table):
    train, test = table.split(0)
    run = run_one(table, choose(["holdout"])[0], 0, LIMITS)
    assert run.status == "ok"
    whole = evaluate(train, test, train, target="y", metrics=["shape", "copies"], random_state=0).scores
    assert run.values["shape"] == whole["shape"].ceiling < 1.0
    assert run.values["copies"] == whole["copies"].ceiling
    assert 0 < run.values["dcr"] < 1
    assert not {"utility", "fit_seconds"} & set(run.values)


def test_a_name_that_is_not_known_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no generator 'gpt'"):
        choose(["gpt"])
    with pytest.raises(ConfigError, match=r"no file .*mine\.py"):
        choose([str(tmp_path / "mine.py")])


def test_a_rival_is_found_in_its_own_environment_or_not_at_all(tmp_path):
    rival = GeneratorSpec(name="arf", family="package", file=None, environment="arf", module="arfpy")
    assert located(rival, tmp_path) is None
    (tmp_path / "arf" / "bin").mkdir(parents=True)
    (tmp_path / "arf" / "bin" / "python").symlink_to(sys.executable)
    found = located(rival, tmp_path)
    assert found is not None
    assert found.python == tmp_path / "arf" / "bin" / "python"


def test_the_worker_needs_nothing_of_this_package():
    code = "import sys; sys.path.insert(0, sys.argv[1]); import worker; print([m for m in sys.modules if 'tree' in m])"
    folder = str(runner.Path(runner.worker.__file__).parent)
    out = subprocess.run([sys.executable, "-I", "-c", code, folder], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize(("device", "hidden"), [("auto", None), ("cpu", "")])
def test_a_gpu_and_threads_are_given_where_asked_for(generator, monkeypatch, device, hidden):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    variables = runner.environment_of(generator(GOOD), Limits(threads=4, device=device))
    assert variables.get("CUDA_VISIBLE_DEVICES") == hidden
    assert {variables[name] for name in runner.THREADS} == {"4"}


def test_without_a_limit_nothing_ends_a_run(table, generator, no_scores):
    assert run_one(table, generator(GOOD), 0, Limits(budget_seconds=float("inf"))).status == "ok"
