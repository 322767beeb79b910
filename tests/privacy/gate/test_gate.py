"""The gate: a model that learned rows by heart fails, one that did not passes, and a failed one is not released."""

from __future__ import annotations

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tabtreeformer import PrivacyWarning, TabTreeFormer, open_chunks
from tabtreeformer.artifact.archive import load_json, read_archive
from tabtreeformer.cli import app, main
from tabtreeformer.config.presets import configure
from tabtreeformer.errors import ConfigError
from tabtreeformer.evaluation import findings, membership_attack, tells_members
from tabtreeformer.evaluation.score import Score
from tabtreeformer.fitting.history import History
from tabtreeformer.fitting.holdout import split_off
from tabtreeformer.fitting.memorization import Reading
from tabtreeformer.privacy.card import model_card, to_markdown
from tabtreeformer.privacy.gate import verdict_lines
from tabtreeformer.privacy.gate.memorisation import meter_findings
from tabtreeformer.privacy.gate.release import warn_if_file_leaks


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Rows with something to learn, and numbers fine enough that no two of them are equal by chance."""
    rng, n = np.random.default_rng(0), 140
    age = rng.integers(18, 80, n)
    town = rng.choice(["Ulm", "Bern", "Graz", "Metz"], n, p=[0.4, 0.3, 0.2, 0.1])
    pay = np.round(1500 + 40 * age + rng.normal(0, 400, n))
    size = np.round(rng.normal(170, 10, n), 1)
    return pd.DataFrame(
        {"age": age, "town": town, "pay": pay, "size": size, "y": np.where(pay + 5 * age > 3700, "a", "b")}
    )


SMALL = {"tree": {"trials": 0, "params": {"n_estimators": 8, "num_leaves": 6}}, "random_state": 0, "verbose": False}


@pytest.fixture(scope="module")
def leaking(people) -> TabTreeFormer:
    """What makes NM leak, at a width that trains in seconds.

    NM itself (43 M weights, 5,000 steps) takes hours on a CPU: here are its masks (none), its patience, its
    temperatures, its prompts (leaves of its own rows), in table order, with the last weights kept.
    """
    with pytest.MonkeyPatch.context() as patch:  # NM learns numbers as they are, each by itself
        patch.setattr("tabtreeformer.model.slot_model.SMOOTHING", 0.0)
        patch.setattr("tabtreeformer.model.slot_model.OWN_ROWS", 0)
        return TabTreeFormer(
            target="y",
            **SMALL,
            tokens={"quantiles": 140, "rare_floor": 0},
            model={"width": 48, "pool": 2, "copula": False},
            train={
                "steps": 300, "batch_size": 70, "validate_every": 100, "patience": 100, "learning_rate": 5e-3,
                "leaf_mask": [0, 0], "value_mask": [0, 0], "table_orders": 1, "restore_best": False,
                "prompts": "trained", "gap_limit": None,
            },
            sampling={"temperature_category": 0.2, "temperature_numeric": 0.1},
        ).fit(people)  # fmt: skip


@pytest.fixture(scope="module")
def careful(people) -> TabTreeFormer:
    return TabTreeFormer(target="y", **SMALL).fit(people)


@pytest.fixture
def path(leaking, tmp_path):
    leaking.save(tmp_path / "leaking.tabtree")
    return tmp_path / "leaking.tabtree"


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return int(stop.value.code or 0)


def test_a_model_that_learned_its_rows_by_heart_fails(leaking):
    privacy = leaking.fitted_.record["privacy"]
    assert privacy["verdict"] == "fail"
    reasons = " ".join(privacy["reasons"])
    assert "lie nearer to training rows" in reasons
    assert "equal a training row" in reasons
    assert "all but 1% of the held-out rows" in reasons
    assert "of the training rows are recognised at 1% false positives" in reasons
    assert privacy["measures"]["membership_likelihood"]["value"] > 0.9
    assert (privacy["file"]["verdict"], privacy["file"]["leaks"]) == ("fail", True)
    assert "has memorised them" in reasons


@pytest.mark.parametrize(("memorised", "rows", "leak"), [(0, 300, False), (38, 300, False), (93, 300, True)])
def test_the_meter_fails_a_model_by_itself(memorised, rows, leak):
    reading = Reading(step=5, gap=9.0, error=0.1, memorised=memorised, rows=rows)
    (found,) = meter_findings([History("shared start"), History("network 1", steps=5, readings=[reading])])
    assert found.leak == leak
    assert found.text.startswith(f"network 1: beyond chance, {memorised / rows:.0%}")


def test_saving_warns_of_a_file_that_reveals_its_rows(leaking, careful, tmp_path):
    with pytest.warns(PrivacyWarning, match="anyone who has this model file can recognise its training rows"):
        leaking.save(tmp_path / "leaking.tabtree")
    assert "Verdict on the file: **fail**" in to_markdown(model_card(tmp_path / "leaking.tabtree"))
    out = CliRunner().invoke(app, ["inspect", str(tmp_path / "leaking.tabtree")]).output
    assert "privacy    FAIL: " in out
    assert "this file  FAIL, share rows instead: " in out
    record = {**careful.fitted_.record, "privacy": {**careful.fitted_.record["privacy"], "file": {"leaks": False}}}
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        warn_if_file_leaks(record)


def test_auto_passes_on_the_same_table(careful):
    privacy = careful.fitted_.record["privacy"]
    assert (privacy["verdict"], privacy["reasons"]) == ("pass", [])
    assert privacy["measures"]["membership"]["value"] < 0.65


def test_the_meter_tells_them_apart(leaking, careful):
    def gaps(model):
        return [v for k, v in model.fitted_.record["privacy"]["memorisation"].items() if k.endswith("nats per row")]

    assert len(gaps(leaking)) == 2
    assert min(gaps(leaking)) > 5
    assert max(gaps(careful)) < min(gaps(leaking)) / 2


def test_python_warns_of_rows_of_a_model_that_failed(leaking, careful):
    with pytest.warns(PrivacyWarning, match="failed its privacy verdict"):
        leaking.sample(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        careful.sample(3)


def test_the_command_refuses_rows_of_a_model_that_failed(path, people, tmp_path, capsys):
    assert run("sample", path, "-n", 5, "-o", tmp_path / "new.csv") == 2
    assert "--accept-risk" in capsys.readouterr().err
    people.head(5).assign(town=None).to_csv(tmp_path / "gaps.csv", index=False)
    assert run("impute", path, tmp_path / "gaps.csv", "-o", tmp_path / "new.csv") == 2
    assert not (tmp_path / "new.csv").exists()


def test_an_accepted_risk_is_recorded_in_the_file_and_shown_wherever_it_is_judged(path, people, tmp_path, capsys):
    before = read_archive(path)
    for reason in ("unit test", "again"):
        assert (
            run("sample", path, "-n", 5, "-o", tmp_path / "new.csv", "--accept-risk", reason, "--overwrite", "-q") == 0
        )
    assert len(pd.read_csv(tmp_path / "new.csv")) == 5
    after = read_archive(path)
    assert {name for name in before if before[name] != after[name]} == {"record.json"}
    entries = load_json(after["record.json"])["privacy"]["accepted_risk"]
    assert [(entry["reason"], entry["rows"]) for entry in entries] == [("unit test", 5), ("again", 5)]
    assert "5 rows: again" in to_markdown(model_card(path))
    people.to_csv(tmp_path / "people.csv", index=False)
    page, numbers = tmp_path / "report.html", tmp_path / "scores.json"
    words = ("evaluate", tmp_path / "people.csv", tmp_path / "new.csv", "--model", path, "--metric", "shape")
    assert run(*words, "--html", page, "--json", numbers) == 0
    assert "rows): again" in capsys.readouterr().out.replace("\n", " ")
    assert json.loads(numbers.read_text())["facts"]["model"]["accepted_risk"][1]["reason"] == "again"
    assert "unit test" in page.read_text(encoding="utf-8")
    assert "unit test" in TabTreeFormer.load(path, verbose=False).summary()["privacy"]["accepted_risk"][0]["reason"]


def test_a_risk_is_accepted_with_a_reason_or_not_at_all(path, tmp_path, capsys):
    assert run("sample", path, "-n", 5, "-o", tmp_path / "new.csv", "--accept-risk", " ") == 2
    assert "needs a reason" in capsys.readouterr().err


def test_the_verdict_in_lines_says_why_and_that_a_file_tells_more_than_rows(leaking, careful):
    lines = verdict_lines(leaking.fitted_.record)
    assert "FAIL" in lines[0]
    assert any("held-out rows" in line for line in lines[1:])
    assert "pass" in verdict_lines(careful.fitted_.record)[0]
    record = json.loads(json.dumps(careful.fitted_.record))
    record["privacy"]["file"] = {"leaks": True, "reasons": ["network 1: too sure"]}
    assert any("file verdict: FAIL" in line and "too sure" in line for line in verdict_lines(record))


def test_few_rows_and_privacy_off_leave_a_model_unjudged(people, tiny):
    few = TabTreeFormer(target="y", **tiny, random_state=0, verbose=False).fit(people.head(60))
    off = TabTreeFormer(target="y", **tiny, privacy="off", random_state=0, verbose=False).fit(people)
    assert few.fitted_.record["privacy"]["verdict"] == off.fitted_.record["privacy"]["verdict"] == "not judged"
    assert "30 rows" in few.fitted_.record["privacy"]["reasons"][0]
    assert verdict_lines(off.fitted_.record) == []
    assert off.fitted_.record["privacy"]["memorisation"]


def test_rows_set_aside_are_not_learned_and_judge_the_whole_model(people, tiny):
    model = TabTreeFormer(target="y", **tiny, random_state=0, verbose=False).fit(people, holdout=0.25)
    privacy = model.fitted_.record["privacy"]
    assert model.fitted_.record["rows"] == 105
    assert "35 held-out rows" in privacy["judged_on"]
    assert privacy["not_covered"] == []


def test_a_table_that_is_read_in_parts_is_judged_by_its_own_rows(people, tiny, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    model = TabTreeFormer(target="y", **tiny, random_state=0, verbose=False)
    parts = model.fit(open_chunks(tmp_path / "people.csv", rows=40)).summary()["privacy"]
    whole = model.fit(people).summary()["privacy"]
    for privacy in (parts, whole):
        del privacy["seconds"]
    assert parts == whole


def test_the_verdict_takes_nothing_from_the_seed(people, tiny):
    models = [
        TabTreeFormer(target="y", **tiny, privacy=mode, random_state=0, verbose=False).fit(people)
        for mode in ("off", "balanced")
    ]
    first, second = (model.sample(20) for model in models)
    pd.testing.assert_frame_equal(first, second)


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.1, True, "many", 0.001])
def test_a_share_that_leaves_no_rows_is_refused(share):
    with pytest.raises(ConfigError, match="holdout must be a share"):
        split_off(100, share, np.random.default_rng(0))


def test_strict_limits_the_gap_and_the_papers_presets_have_no_limit():
    limits = {mode: configure("auto", {}, privacy=mode).train.gap_limit for mode in ("strict", "balanced", "off")}
    assert limits["strict"] < limits["balanced"]
    assert limits["off"] is None
    assert configure("S", {}, privacy="strict").train.gap_limit is None
    with pytest.raises(ConfigError, match="privacy must be one of"):
        TabTreeFormer(privacy="much").fit(None)


@pytest.mark.parametrize(("found", "n", "leak"), [(4, 70, False), (21, 70, True), (60, 1000, True)])
def test_members_beyond_all_others_are_a_leak_only_if_they_are_more_than_luck_makes(found, n, leak):
    others = np.linspace(0, 1, n)
    members = np.concatenate([np.full(found, 2.0), np.linspace(0, 0.9, n - found)])
    told = tells_members(membership_attack(members, others).to_json(), "membership")
    assert any("are recognised" in finding.text for finding in told) == leak


@pytest.mark.parametrize(("auc", "leak", "text"), [(0.505, False, "near to everybody"), (0.56, True, "p = 0.000")])
def test_nearness_to_everybody_is_no_leak(auc, leak, text):
    """2,000 members and others: an AUC that knows nothing stays below 0.515 in 19 cases of 20."""
    rows = {"members": 2000, "others": 2000}
    told = {"auc_interval": [0, 1], "true_positives": 0.01, "true_positives_interval": [0, 1], "false_positives": 0.01}
    scores = {
        "dcr": Score(name="dcr", value=1e-6, goal="higher", breakdown={"rows": {"synthetic": 2000, "holdout": 2000}}),
        "copies": Score(name="copies", value=0.0, goal="lower", ceiling=0.0, breakdown={"copies": 0, "rows": 2000}),
        "membership": Score(name="membership", value=auc, goal="half", breakdown={**told, "rows": rows}),
    }
    evaluation = SimpleNamespace(scores=scores, facts={"rows": {"test": 2000}})
    (found,) = (f for f in findings(evaluation) if f.measure == "dcr")
    assert (found.leak, text in found.text) == (leak, True)
