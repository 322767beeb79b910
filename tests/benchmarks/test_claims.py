"""The audit of the paper: the page is that of the file, and every reference in it leads somewhere."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks import claims, paper_runs, paper_under_way
from tabtreeformer.fitting.checkpoint.folder import RunFolder


def test_no_reference_of_a_claim_is_dead():
    assert list(claims.dead(claims.read())) == []


def test_the_page_is_up_to_date():
    assert claims.PAGE.read_text(encoding="utf-8") == claims.page(claims.read()), "python -m benchmarks.claims"


def test_there_are_as_many_claims_as_were_counted_and_each_once():
    found = claims.read()
    assert [int(claim["number"]) for claim in found] == list(range(1, 175))


@pytest.mark.parametrize(
    "change",
    [
        {"where": "src/tabtreeformer/nowhere.py::x"},
        {"where": "src/tabtreeformer/model/loss.py::RowLoss.gone"},
        {"test": "tests/model/test_loss.py::test_that_is_gone"},
        {"state": "perhaps"},
        {"test": ""},
    ],
)
def test_dead_references_are_found(change):
    good = {
        "number": "1",
        "where": "src/tabtreeformer/model/loss.py::RowLoss.by_row",
        "test": "tests/benchmarks/test_claims.py::test_dead_references_are_found",
        "state": "exact",
    }
    assert list(claims.dead([good])) == []
    assert len(list(claims.dead([good | change]))) == 1


def test_runs_of_the_papers_models_are_shown_beside_its_numbers(tmp_path):
    assert "None was trained" in paper_runs.section(tmp_path / "none.csv")
    history = {"validations": [[100, 2.0, 2.5], [200, 1.5, 2.6]], "seconds": 3600.0}
    histories = [
        {"name": "shared start", "steps": 100, "seconds": 0.0},
        {"name": "network 1", "steps": 400, "best_step": 100, **history},
        {"name": "network 2", "steps": 200, "best_step": None, **history},
    ]
    line = paper_runs.trained(histories)
    assert line["stopped_at"] == "500 and 300"
    assert line["best_at"] == "200 and 300"
    assert line["valid_loss"] == "2.500 and 2.600"
    run = {"table": "iris", "model": "S", "seed": 0, "utility": "tuned", "cut": "", "score_LN": 0.9, "real_LN": 1.0}
    path = tmp_path / "runs.csv"
    pd.DataFrame([{**run, **line}]).to_csv(path, index=False)
    text = paper_runs.section(path)
    assert "| iris | S | 0 | 500 and 300 | 200 and 300 |" in text
    assert "| iris | S | 0 | LN | tuned | 1.000 | 0.900 |" in text


def test_a_run_that_has_not_ended_is_shown_as_cut_short(tmp_path, monkeypatch):
    history = {"steps": 250, "validations": [[100, 0.5, 0.6], [200, 0.3, 0.4]]}
    folder = RunFolder.at(tmp_path / "run")
    folder.stage("shared").save({"history": {"steps": 100, "validations": []}, "done": True})
    folder.stage("network_1").save({"history": history, "done": False})
    monkeypatch.setattr(paper_under_way, "UNDER_WAY", tmp_path / "under_way.csv")
    for _ in range(2):  # a second reading replaces the first
        paper_under_way.main([str(tmp_path / "run"), "--table", "iris"])
    found = pd.read_csv(tmp_path / "under_way.csv")
    assert found["steps"].tolist() == [100, 250, 250]
    assert found["valid_loss"].tolist()[1:] == [0.6, 0.4]
    text = paper_under_way.section(tmp_path / "under_way.csv", tmp_path / "none.csv")
    assert "**Cut short**" in text
    assert "| iris | S | 0 | network 1 | 250 | False | 200 | 0.3 | 0.4 |" in text
