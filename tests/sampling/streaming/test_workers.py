"""Jobs in other processes: results come back, errors too, and a worker that dies is replaced."""

import os
import sys

import pytest

from tabtreeformer.errors import ConfigError, EngineError, SchemaError
from tabtreeformer.sampling.streaming import workers as engines
from tabtreeformer.sampling.streaming.workers.processes import run_in_processes

from .conftest import WORK, check_jobs


@pytest.fixture
def work(tmp_path, monkeypatch):
    (tmp_path / "some_work.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    return "some_work:Work"


def test_jobs_are_done_and_a_worker_that_dies_is_replaced(work, tmp_path):
    check_jobs("processes", work, tmp_path)


def test_results_stand_in_the_order_of_the_jobs(work, tmp_path):
    jobs = ["b", "a", "c"]
    found = engines.map_jobs(work, jobs, {"folder": str(tmp_path)}, engine="processes", workers=2)
    assert [result["job"] for result in found] == jobs
    pids = {(tmp_path / f"done-{job}").read_text() for job in jobs}
    assert f"{os.getpid()} " not in pids


def test_errors_come_back_as_what_they_are(work, tmp_path):
    for setting, kind, message in (
        ("wrong", SchemaError, "column 'a' is wrong"),
        ("broken", EngineError, "RuntimeError: a bug"),
    ):
        with pytest.raises(kind, match=message):
            list(engines.run(work, [1], {"folder": str(tmp_path), setting: 1}, workers=1))
    with pytest.raises(EngineError, match="ModuleNotFoundError"):
        list(engines.run("no_such_module:Work", [1]))


def test_a_job_that_kills_every_worker_ends(work, tmp_path):
    with pytest.raises(EngineError, match="died 4 times on the same job"):
        list(engines.run(work, [1], {"folder": str(tmp_path), "deadly": 1}, workers=1))


def test_nobody_is_left_when_results_are_no_longer_wanted(work, tmp_path):
    results = run_in_processes(work, list(range(20)), {"folder": str(tmp_path)}, {}, 2)
    next(results)
    results.close()
    pids = {int(pid) for path in tmp_path.glob("done-*") for pid in path.read_text().split()}
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_no_jobs_start_nobody_and_odd_engines_are_refused():
    assert list(engines.run("no_such_module:Work", [])) == []
    with pytest.raises(ConfigError, match="engine must be one of"):
        engines.run("x:y", [1], engine="spark")
    with pytest.raises(ConfigError, match="workers must be"):
        engines.run("x:y", [1], workers=0)
