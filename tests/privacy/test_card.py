"""The model card: numbers and names, never a value; figures where there are any; plain words about what they prove."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer, evaluate
from tabtreeformer.artifact.archive import read_archive, write_archive
from tabtreeformer.cli import main
from tabtreeformer.errors import ArchiveError
from tabtreeformer.evaluation.record import to_record
from tabtreeformer.privacy.audit import audit
from tabtreeformer.privacy.card import model_card, to_markdown


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng, n = np.random.default_rng(0), 90
    pay = np.round(rng.normal(3000, 500, n), 2)
    town = rng.choice(["Köln", "Ulm", "Bernhausen"], n)
    return pd.DataFrame({"pay": pay, "<b>|town": town, "y": np.where(pay > 3000, "richly", "poorly")})


@pytest.fixture(scope="module")
def model(table) -> TabTreeFormer:
    return TabTreeFormer(
        target="y",
        tree={"trials": 0, "params": {"n_estimators": 4}},
        model={"width": 16, "feed_forward": 32, "heads": 2, "layers": 1},
        train={"steps": 4, "batch_size": 16, "validate_every": 2},
        random_state=0,
        verbose=False,
        device="cpu",
    ).fit(table)


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("card") / "people.tabtree"
    model.save(path)
    return path


def test_a_card_says_what_the_data_was_and_holds_no_value_of_it(path, table):
    card = model_card(path)
    assert card["data"]["rows"] == 90
    assert [c["name"] for c in card["data"]["columns"]] == list(table.columns)
    text = to_markdown(card) + json.dumps(card, ensure_ascii=False)
    for value in ("Köln", "Bernhausen", "richly", str(table["pay"].max()), str(table["pay"].min())):
        assert value not in text


def test_a_card_counts_what_the_model_counts(path, model):
    card = model_card(path)["model"]
    summary = model.summary()
    assert card["weights"] >= summary["parameters"]
    assert (card["trees"], card["tree_model"]) == (summary["trees"], "lightgbm")
    assert model_card(path)["settings"] == summary["config"]


def test_what_was_not_measured_is_said(path):
    text = to_markdown(model_card(path))
    assert "the file has no quality figures" in text
    assert "No verdict" in text
    assert "no such guarantee is claimed" in text
    assert "at least 5 rows each" in text


def test_what_the_floor_did_is_counted_by_column(path, table, model, tmp_path):
    counts = {c["name"]: c.get("clipped", 0) for c in model_card(path)["data"]["columns"]}
    assert counts["pay"] > 0
    assert counts["y"] == 0
    assert f"{counts['pay']} rows clipped" in to_markdown(model_card(path))
    record = {name: facts for name, facts in model.fitted_.record.items() if name != "protected"}
    write_archive(tmp_path / "m", dataclasses.replace(model.fitted_, record=record).to_members())
    assert "Not protected" in to_markdown(model_card(tmp_path / "m"))


def test_figures_stand_beside_their_references(model, table, tmp_path):
    rows = model.sample(60, random_state=0)
    evaluation = evaluate(table.head(50), table.tail(40), rows, metrics=["shape", "membership", "linkability"])
    record = to_record(evaluation)
    record["privacy"] |= {
        "verdict": "fail",
        "reasons": ["too near"],
        "judged_on": "rows held out",
        "accepted_risk": [{"reason": "a demo", "rows": 5, "time": "2026-01-01T00:00:00+00:00"}],
        "memorisation": {"gap": 0.25},
        "dp": {"epsilon": 4.0, "delta": 1e-6},
    }
    fitted = dataclasses.replace(model.fitted_, record={**model.fitted_.record, **record})
    write_archive(tmp_path / "m.tabtree", fitted.to_members())
    text = to_markdown(model_card(tmp_path / "m.tabtree"))
    shape = evaluation.scores["shape"]
    assert f"| Shape | {shape.value:.3f} | {shape.ceiling:.3f} | {shape.floor:.3f} |" in text
    for words in (
        "**fail**",
        "too near",
        "a demo",
        "gap: 0.250",
        "epsilon 4.0",
        "1 % false positives",
    ):
        assert words in text, words
    assert not [f for f in audit(tmp_path / "m.tabtree").findings if f.kind == "unknown"]


def test_a_record_names_no_row(table, model):
    evaluation = evaluate(table.head(50), table.tail(40), table.head(50), metrics=["dcr", "copies"])
    text = json.dumps(to_record(evaluation))
    assert "closest" not in text
    assert "examples" not in text


def test_names_from_the_data_are_text_on_the_card(path):
    text = to_markdown(model_card(path))
    assert "<b>" not in text
    assert "&lt;b&gt;\\|town" in text


def test_a_damaged_record_is_our_error(path, tmp_path):
    good = json.loads(read_archive(path)["record.json"])
    broken = [{}, [], good | {"rows": "many"}, good | {"quality": 7}, good | {"privacy": {"measures": {"dcr": 1}}}]
    broken += [good | {"privacy": {"measures": {"dcr": {"value": "low"}}}}, good | {"versions": None}]
    broken += [good | {"privacy": {"measures": {"copies": {"repeated": again}}}} for again in ({}, {"released": "all"})]
    broken += [good | {"protected": {"rare_floor": 5, "columns": [{"column": 0, "clipped": "Köln"}]}}]
    for record in broken:
        write_archive(tmp_path / "m", {**read_archive(path), "record.json": json.dumps(record).encode()})
        with pytest.raises(ArchiveError, match="damaged|its record"):
            model_card(tmp_path / "m")


def test_the_command_prints_markdown_and_json(path, tmp_path, capsys):
    for words in (
        ["card", str(path)],
        ["card", str(path), "--json"],
        ["card", str(path), "-o", str(tmp_path / "c.md")],
    ):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0
        out = capsys.readouterr().out
        if "--json" in words:
            assert json.loads(out)["data"]["rows"] == 90
        elif "-o" not in words:
            assert out.startswith("# Model card: people.tabtree")
    assert (tmp_path / "c.md").read_text(encoding="utf-8").startswith("# Model card")
