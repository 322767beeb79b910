"""The level: more rows reveal more, and no more are written than the level holds for unless somebody accepts that."""

from __future__ import annotations

import copy
import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import PrivacyError, Schema, TabTreeFormer
from tabtreeformer.artifact.record import check_record
from tabtreeformer.cli import main
from tabtreeformer.errors import ArchiveError
from tabtreeformer.evaluation import repeats
from tabtreeformer.privacy.card import model_card, to_markdown
from tabtreeformer.privacy.gate import verdict_lines
from tabtreeformer.privacy.gate.level import Comparison, Exposure, Line, expose, level_record, released_rows
from tabtreeformer.privacy.gate.level_text import broken, level_line


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    pay = np.round(1500 + 40 * age + rng.normal(0, 400, n))
    return pd.DataFrame({"age": age, "town": rng.choice(["Ulm", "Bern", "Graz"], n), "pay": pay})


def exposure(auc: tuple[float, float], found: float = 0.01, margin: float = 0.0) -> Exposure:
    times = (1.0, 10.0)
    return Exposure(Line(times, auc, margin), Line(times, (found, found), 0.0), {})


def attack(released: pd.DataFrame, population: pd.DataFrame, n: int) -> Exposure:
    part = Comparison(members=np.arange(n), others=np.arange(n, 2 * n), write=released.head, n_learned=n)
    return expose("halves", population, [part], Schema.infer(population), np.random.SeedSequence(0))


def test_rows_that_nobody_learned_from_keep_the_level():
    n, kept = 150, []
    for seed in range(6):
        population = people(2 * n, seed)
        kept.append(attack(people(10 * n, 100 + seed), population, n).until("balanced") >= 1)
    assert all(kept)


def test_members_among_the_rows_break_the_level_and_more_rows_reveal_more():
    n = 150
    population = people(2 * n, 1)
    members, others = population.head(n), people(9 * n, 2)
    found = attack(pd.concat([members] * 10), population, n)
    assert found.auc.at(10) > found.auc.at(1) > 0.6
    assert found.until("balanced") < 1
    few = attack(pd.concat([others, members]).sample(frac=1, random_state=0), population, n)
    assert few.auc.at(10) < found.auc.at(10)


def test_a_few_copies_among_many_rows_are_counted_beside_the_level():
    n = 150
    population = people(2 * n, 1)
    fresh = people(10 * n, 2)
    mixed = pd.concat([fresh.head(9 * n + n // 2), population.head(n // 2)]).sample(frac=1, random_state=0)
    clean, copied = (attack(rows.reset_index(drop=True), population, n).repeated[0] for rows in (fresh, mixed))
    assert copied["members_repeated"] >= clean["members_repeated"] + 20
    assert abs(copied["others_repeated"] - clean["others_repeated"]) < 20
    assert repeats(copied, 0.997).leak
    assert not repeats(clean, 0.997).leak


@pytest.mark.parametrize(
    ("auc", "margin", "holds", "safe"),
    [
        ((0.50, 0.50), 0.0, True, None),  # nothing grows: no limit
        ((0.54, 0.58), 0.0, True, 3_100),  # the limit of 0.56 lies half way between 1 and 10 times, by logarithm
        ((0.54, 0.58), 0.02, True, 10_000),  # what chance may add is granted
        ((0.54, 0.55), 0.0, True, 100_000),
        ((0.54, 0.55), 0.01, True, None),  # no more growth than chance makes
        ((0.60, 0.70), 0.0, False, 390),
    ],
)
def test_the_number_of_safe_rows_is_where_the_attack_meets_its_limit(auc, margin, holds, safe):
    level = level_record([exposure(auc, margin=margin)], "balanced", 1_000)
    assert (level["holds"], level["safe_rows"]) == (holds, safe)
    assert [figure["rows"] for figure in level["figures"]] == [1_000, 10_000]


def test_strict_is_narrower_and_recognised_members_count_by_themselves():
    assert level_record([exposure((0.54, 0.58))], "strict", 1_000)["holds"] is False
    assert level_record([exposure((0.5, 0.5), found=0.03)], "balanced", 1_000)["holds"] is False
    worst = level_record([exposure((0.5, 0.5)), exposure((0.54, 0.58))], "balanced", 1_000)
    assert worst["safe_rows"] == 3_100


@pytest.mark.parametrize("n", [50, 400, 2_500, 20_000, 1_000_000])
def test_large_tables_are_attacked_by_fewer_rows_and_always_by_two_numbers_of_them(n):
    small, large = released_rows(n)
    assert small < large <= 25_000
    assert small <= n


def test_a_line_goes_on_evenly_with_the_logarithm_of_the_rows():
    line = Line((1.0, 10.0), (0.5, 0.52), 0.0)
    assert line.at(100) == pytest.approx(0.54)
    assert line.until(0.54) == pytest.approx(100)
    assert Line((1.0, 10.0), (0.52, 0.50), 0.0).until(0.56) == math.inf


def test_growth_that_chance_explains_is_not_taken_further_than_it_was_measured():
    """A million rows are attacked by a few thousand: what chance does there must not be multiplied."""
    times = (0.0125, 0.05)
    assert Line(times, (0.484, 0.514), 0.0134, nothing=0.5).at(1) < 0.52
    assert Line(times, (0.484, 0.514), 0.0134, nothing=0.5).until(0.56) > 1_000
    assert Line(times, (0.52, 0.56), 0.0134, nothing=0.5).until(0.56) < 1


def test_a_broken_level_names_the_ways_out():
    level = level_record([exposure((0.60, 0.70))], "balanced", 1_000)
    (text,) = broken(level, leaf_rows=80)
    assert "AUC of 0.60" in text
    assert "preset='auto'" in text
    assert "{'leaf_rows': 320}" in text
    assert "leaf_rows" not in broken(level, leaf_rows=200)[0]
    assert "epsilon" in text
    assert "quantiles" in broken(level, leaf_rows=None)[0]
    assert "about 390 rows" in text
    assert broken(level_record([exposure((0.5, 0.5))], "balanced", 1_000), leaf_rows=20) == []


@pytest.fixture(scope="module")
def model() -> TabTreeFormer:
    """A model that passed, with a level that holds for 300 rows."""
    made = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(people(200, 0))
    level = {**level_record([exposure((0.54, 0.58))], "balanced", 200), "safe_rows": 300}
    privacy = {"verdict": "pass", "mode": "balanced", "reasons": [], "level": level}
    made.fitted_ = dataclasses.replace(made.fitted_, record={**made.fitted_.record, "privacy": privacy})
    return made


@pytest.fixture
def path(model, tmp_path):
    model.save(tmp_path / "model.tabtree")
    return tmp_path / "model.tabtree"


def test_more_rows_than_are_safe_are_an_error_that_names_the_way_out(model, tmp_path):
    assert len(model.sample(300)) == 300
    for call in (
        lambda: model.sample(301),
        lambda: model.iter_sample(301),
        lambda: model.sample_to(tmp_path / "new.csv", 301),
    ):
        with pytest.raises(PrivacyError, match=r"safe up to 300 rows.*accept_risk=True"):
            call()
    assert len(model.sample(301, accept_risk=True)) == 301
    assert sum(map(len, model.iter_sample(301, accept_risk=True))) == 301
    model.sample_to(tmp_path / "new.csv", 301, accept_risk=True)
    assert len(pd.read_csv(tmp_path / "new.csv")) == 301


def test_the_command_needs_a_reason_for_more_rows_which_the_file_keeps(path, tmp_path, capsys):
    new = tmp_path / "new.csv"
    assert run("sample", path, "-n", 301, "-o", new, "-q") != 0
    assert "safe up to 300 rows" in capsys.readouterr().err
    assert run("sample", path, "-n", 300, "-o", new, "-q") == 0
    assert run("sample", path, "-n", 301, "-o", new, "-q", "--overwrite", "--accept-risk", "a test") == 0
    assert len(pd.read_csv(new)) == 301
    assert "a test" in to_markdown(model_card(path))


def test_the_level_is_kept_in_the_file_and_shown_by_fit_card_and_inspect(model, path, capsys):
    line = level_line(model.fitted_.record["privacy"]["level"])
    assert line.endswith("safe up to 300 rows")
    assert any(line in shown for shown in verdict_lines(model.fitted_.record))
    assert "safe up to 300 rows" in to_markdown(model_card(path))
    assert run("inspect", path) == 0
    assert "safe up to 300 rows" in capsys.readouterr().out
    with pytest.raises(PrivacyError):
        TabTreeFormer.load(path, verbose=False).sample(1_000)


def test_a_level_of_another_form_is_refused(model):
    record = copy.deepcopy(dict(model.fitted_.record))
    check_record(record)
    for name, value in (("safe_rows", "many"), ("figures", []), ("limits", {}), ("holds", 1)):
        broken_record = copy.deepcopy(record)
        broken_record["privacy"]["level"][name] = value
        with pytest.raises(ArchiveError):
            check_record(broken_record)


def test_a_fit_measures_the_level_for_as_many_rows_as_learned_and_ten_times_as_many(tmp_path):
    made = TabTreeFormer("trees", random_state=0, verbose=False).fit(people(240, 3))
    level = made.fitted_.record["privacy"]["level"]
    assert [figure["rows"] for figure in level["figures"]] == [240, 2_400]
    assert level["measured_on"] == [240, 2_400]
    assert level["name"] == "balanced"
    again = made.fitted_.record["privacy"]["measures"]["copies"]["repeated"]
    assert (again["released"], again["members"] + again["others"] <= 240) == (1_200, True)
    made.save(tmp_path / "m.tabtree")
    card = to_markdown(model_card(tmp_path / "m.tabtree"))
    assert "training rows and" in card
    assert card.index("Membership by density") < card.index("Membership by distance") < card.index("Smoke test: copies")
