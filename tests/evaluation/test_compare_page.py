"""The page that compares generators: a verdict in words, pictures, and the direction of every measure."""

import re

import pytest

from tabtreeformer.evaluation.compare.generators import CONTROL
from tabtreeformer.evaluation.compare.page import MEASURES, table, write_page
from tabtreeformer.evaluation.compare.results import FAILED, OK, Run
from tabtreeformer.evaluation.compare.verdict import leaks, sentences

KEYS = [measure.key for measure in MEASURES]
NASTY = "<script>alert(1)</script>"


def run(name, seed=0, **changed):
    values = {
        "utility": 0.1, "shape": 0.9, "trend": 0.8, "detection": 0.7, "dcr": 0.5, "membership": 0.5, "copies": 0.0,
        "fit_seconds": 10.0, "sample_seconds": 1.0, "peak_mib": 100.0,
    }  # fmt: skip
    return Run("t", name, seed, 60.0, OK, "", {**values, **changed})


def said(runs, controls=(), n_rows=5000):
    return sentences(table(runs), runs, controls, n_rows)


def test_the_verdict_names_the_best_of_those_that_do_not_leak():
    runs = [run("near", utility=0.0, dcr=0.001), run("good", utility=0.02, shape=0.99), run("quick", fit_seconds=1.0)]
    text = said(runs)
    assert text[0] == "Signs of a leak, do not share: near (distance test 0.001)."
    assert text[1].startswith("Most useful of those without a sign of a leak: good (utility loss 0.020)")
    assert "Most faithful: good" in text[2]
    assert text[3] == "Fastest: quick (2 s)."
    assert "One seed" in text[4]


def test_controls_do_not_compete_and_nothing_to_compare_is_said():
    runs = [run("identity", utility=0.0, membership=1.0)]
    assert "No generator has finished" in said(runs, ["identity"])[0]
    assert leaks(table(runs), 5000) == {"identity": "membership 1.00"}
    assert leaks(table([run("holdout", membership=0.64)]), 90) == {}  # 18 held-out rows reach this by chance
    assert said([run("near", dcr=0.0)])[-1] == "Every generator shows signs of a leak."


@pytest.mark.parametrize(("gap", "close"), [(0.005, True), (0.2, False)])
def test_differences_within_the_seeds_are_called_so(gap, close):
    runs = [run("a", s, utility=0.1 + 0.02 * s) for s in range(3)]
    runs += [run("b", s, utility=0.1 + gap + 0.02 * s) for s in range(3)]
    assert any("by no more than their seeds do" in line for line in said(runs)) == close


def test_the_page_has_a_verdict_two_pictures_and_directions(tmp_path):
    runs = [run("auto"), run(NASTY, shape=0.7), run("holdout", utility=0.0), run("none", membership=float("nan"))]
    runs.append(Run("t", "slow", 0, 60.0, FAILED, "did not end", {}))
    facts = {"table": "t", "rows": 9, "columns": 3, "target": "y", "seeds": 1, "notes": [], "absent": []}
    write_page(tmp_path / "c.html", runs, facts, {"auto": "ours", "holdout": CONTROL})
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "Most useful" in page
    assert page.count('<svg class="scatter"') == 2
    assert page.count("<circle") == 3 + 4  # one generator has no membership
    assert page.count('class="control"') == 2
    assert re.search(r">utility loss ↓<", page)
    assert re.search(r">Shape ↑<", page)
    assert re.search(r">detection → ½<", page)
    assert NASTY not in page
    assert "http:" not in page
