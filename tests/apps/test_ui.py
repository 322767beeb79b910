"""The page: who may ask, what it answers, one fit at a time, nothing of a request in a path."""

import contextlib
import io
import shutil
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="needs the extra ui")
pytest.importorskip("httpx2", reason="the test client needs it")

from starlette.testclient import TestClient

from tabtreeformer.apps.ui import queue, server
from tabtreeformer.apps.ui.server import build_app
from tabtreeformer.apps.ui.store import DONE, FAILED, Store
from tabtreeformer.artifact.archive import dump_json, load_json, read_archive, write_archive

TOKEN = "a-token"
AGES = [*range(20, 70)] * 2
PEOPLE = pd.DataFrame({"age": AGES, "job": ["nurse", "cook", "clerk", "baker", "smith"] * 20, "code": [1, 2] * 50})
TREES = {"target": "job", "privacy": "off", "preset": "trees", "seed": "0"}


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@contextlib.contextmanager
def opened(folder):
    with TestClient(build_app(folder, TOKEN, max_bytes=100_000), base_url="http://127.0.0.1:80") as client:
        client.get("/", params={"token": TOKEN})
        yield client


@pytest.fixture
def client(folder):
    with opened(folder) as client:
        yield client


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A page on which a table was dropped and fitted, its folder, and what it answered on the way."""
    folder = tmp_path_factory.mktemp("fitted")
    with opened(folder) as client:
        answers = [drop(client), client.get("/tables/1")]
        data = {**TREES, "kind-2": "categorical"}
        answers.append(client.post("/tables/1/fit", data=data, follow_redirects=False))
        assert wait(client, 1) == DONE
        yield client, folder, answers


@pytest.fixture
def end_fits(tmp_path, monkeypatch):
    """Processes that wait for this to be called stand in for those that fit; they end with a verdict."""
    sign = tmp_path / "end"
    waits = (
        "import pathlib, time\n"
        f"while not pathlib.Path({str(sign)!r}).exists(): time.sleep(0.01)\n"
        """print('{"verdict": "pass", "reasons": []}')"""
    )
    popen = subprocess.Popen
    monkeypatch.setattr(queue.subprocess, "Popen", lambda _, **pipes: popen([sys.executable, "-c", waits], **pipes))
    return sign.touch


def drop(client, name="people.csv", content=None):
    content = PEOPLE.to_csv(index=False).encode() if content is None else content
    return client.post("/tables", files={"table": (name, content)}, follow_redirects=False)


def wait(client, number, *, seconds=900):
    """Follow a fit to its end, as the page does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        state = client.get(f"/fits/{number}/state").json()["state"]
        if state in (DONE, FAILED):
            return state
        time.sleep(0.1)
    raise AssertionError("the fit did not end")


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({}, "token"),
        ({"cookie": "ttf_token=wrong"}, "token"),
        ({"cookie": f"ttf_token={TOKEN}", "origin": "http://evil.example"}, "other pages"),
        ({"cookie": f"ttf_token={TOKEN}", "host": "evil.example"}, "loopback"),
        ({"cookie": f"ttf_token={TOKEN}", "origin": "null"}, "other pages"),
    ],
)
def test_strangers_are_refused(folder, headers, words):
    with TestClient(build_app(folder, TOKEN), base_url="http://127.0.0.1:80") as stranger:
        for answer in (stranger.get("/", headers=headers), stranger.post("/tables", headers=headers)):
            assert answer.status_code == 403
            assert words in answer.text


def test_the_token_leaves_the_address_and_stays_in_a_cookie_that_scripts_cannot_read(folder):
    with TestClient(build_app(folder, TOKEN), base_url="http://127.0.0.1:80") as client:
        answer = client.get("/", params={"token": TOKEN}, follow_redirects=False)
    assert answer.status_code == 303
    assert "token" not in answer.headers["location"]
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=strict" in answer.headers["set-cookie"].lower()


def test_from_a_file_to_rows_under_conditions(fitted):
    client, _, (dropped, review, asked) = fitted
    assert dropped.headers["location"] == "/tables/1"
    assert "whole numbers" in review.text  # why the ages are numbers
    assert asked.headers["location"] == "/fits/1"
    page = client.get("/models/1").text
    assert "Privacy verdict" in page
    assert 'sandbox="allow-scripts"' in page
    answer = client.post("/models/1/rows", data={"rows": "40", "seed": "1", "is-1": "2", "from-0": "30", "to-0": "50"})
    assert answer.headers["content-type"].startswith("text/csv")
    rows = pd.read_csv(io.StringIO(answer.text))
    assert len(rows) == 40
    assert rows["job"].nunique() == 1
    assert rows["age"].between(30, 50).all()
    assert client.get("/models/1/files/model.tabtree").content[:2] == b"PK"
    assert "# Model card" in client.get("/models/1/files/card.md").text
    report = client.get("/models/1/report")
    assert "default-src 'none'" in report.headers["content-security-policy"]
    assert client.get("/fits/1").url.path == "/models/1"


def test_what_was_fitted_is_there_after_a_new_start(fitted):
    folder = fitted[1]
    entry = Store(folder).entries[1]
    assert (entry.state, entry.name) == (DONE, "people.csv")
    assert entry.settings["target"] == "job"


def test_a_fit_that_was_under_way_when_the_page_closed_says_so(client, folder):
    drop(client)
    entry = Store(folder).entries[1]
    entry.state = "running"
    entry.keep()
    assert Store(folder).entries[1].state == FAILED
    assert "closed" in Store(folder).entries[1].message


def test_one_fit_at_a_time_and_the_others_wait(client, end_fits):
    for _ in range(2):
        drop(client)
    for number in (1, 2, 1):  # pressed twice
        client.post(f"/tables/{number}/fit", data=TREES)
    states = [client.get(f"/fits/{number}/state").json()["state"] for number in (1, 2)]
    assert states == ["running", "waiting"]
    end_fits()
    assert [wait(client, 1), wait(client, 2)] == [DONE, DONE]


def test_one_that_waits_can_be_taken_out(client, end_fits):
    for _ in range(2):
        drop(client)
    client.post("/tables/1/fit", data=TREES)
    client.post("/tables/2/fit", data=TREES)
    client.post("/fits/2/stop")
    end_fits()
    assert wait(client, 1) == DONE
    assert client.get("/fits/2/state").json()["state"] == ""


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("bad.parquet", b"not a parquet file", "bad.parquet"),
        ("empty.csv", b"", "empty.csv"),
        ("../../up.csv", b"", "csv"),
    ],
)
def test_a_bad_file_is_a_clear_error_and_leaves_nothing(client, folder, name, content, words):
    answer = drop(client, name, content)
    assert answer.status_code == 400
    assert words in answer.text
    assert str(folder) not in answer.text
    assert list(folder.glob("[0-9]*")) == []


def test_a_file_that_is_too_large_is_refused(client):
    answer = drop(client, content=b"a\n" * 60_000)
    assert answer.status_code == 413
    assert "ttf fit" in answer.text


def test_names_of_files_and_columns_are_text_and_never_markup_or_paths(client, folder):
    table = pd.DataFrame({"<script>alert(1)</script>": range(80), "b": ["x", "y"] * 40})
    drop(client, "<b>../evil.csv", table.to_csv(index=False).encode())
    page = client.get("/tables/1").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    assert [path.name for path in folder.iterdir()] == ["1"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"target": "none such"}, "no column"),
        ({"privacy": "loose"}, "privacy"),
        ({"budget": "5"}, "unit"),
        ({"kind-0": "odd"}, "choose one of"),
        ({"seed": "-1"}, "seed"),
    ],
)
def test_what_was_typed_wrong_is_named(client, data, words):
    drop(client)
    answer = client.post("/tables/1/fit", data={**TREES, **data})
    assert answer.status_code == 400
    assert words in answer.text


def test_a_model_that_failed_gives_rows_only_for_a_reason(fitted, folder):
    shutil.copytree(fitted[1], folder, dirs_exist_ok=True)
    path = folder / "1" / "model.tabtree"
    members = read_archive(path)
    record = load_json(members["record.json"])
    record["privacy"] = {**(record.get("privacy") or {}), "verdict": "fail", "reasons": ["members are found"]}
    write_archive(path, {**members, "record.json": dump_json(record)})
    server._loaded.cache_clear()
    with opened(folder) as client:
        refused = client.post("/models/1/rows", data={"rows": "5"})
        assert refused.status_code == 400
        assert "members are found" in refused.text
        assert client.post("/models/1/rows", data={"rows": "5", "reason": "a test"}).status_code == 200
    record = load_json(read_archive(path)["record.json"])
    assert record["privacy"]["accepted_risk"][0]["reason"] == "a test"


def test_pages_that_do_not_exist_say_so(client):
    for address in ("/tables/9", "/models/9", "/fits/9", "/static/none.css", "/nothing"):
        answer = client.get(address)
        assert answer.status_code == 404, address
        assert "did not work" in answer.text


def test_a_fit_that_runs_is_stopped_with_the_best_so_far(client, folder):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"c{i}": rng.normal(size=600).round(2) for i in range(2)})
    drop(client, content=table.to_csv(index=False).encode())
    client.post("/tables/1/fit", data={"preset": "auto", "seed": "0", "target": "c0"})
    assert client.get("/fits/1/state").json()["state"] == "running"
    while "shared start" not in client.get("/fits/1/state").json()["html"]:
        assert client.get("/fits/1/state").json()["state"] == "running"
        time.sleep(0.02)
    client.post("/fits/1/stop")
    assert wait(client, 1) == DONE
    assert load_json(read_archive(folder / "1" / "model.tabtree")["record.json"])["interrupted"]
