"""`ttf benchmark`: one page for a user's own table."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.cli import generators
from tabtreeformer.evaluation.compare.page import best, table
from tabtreeformer.evaluation.compare.results import OK, Run

MINE = """
class Generator:
    def __init__(self, *, seed, budget_seconds=None): pass
    def fit(self, df, schema): self.df = df
    def sample(self, n): return self.df.sample(n, replace=True, random_state=0)
"""


@pytest.fixture
def shop(tmp_path):
    rng = np.random.default_rng(0)
    df = pd.DataFrame(
        {
            "id": np.arange(1000, 1090),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 90), unit="D"),
            "price": rng.lognormal(3, 1, 90).round(2),
            "kind": rng.choice(["<b>bread</b>", "milk"], 90),
        }
    )
    df.loc[3, "price"] = None
    df["big"] = np.where(df["price"] > 20, "yes", "no")
    path = tmp_path / "shop.csv"
    df.to_csv(path, index=False)
    return path


def test_a_page_compares_what_was_asked_for(shop, tmp_path, run):
    mine, page = tmp_path / "mine.py", tmp_path / "page.html"
    mine.write_text(MINE)
    words = ("benchmark", shop, "--target", "big", "--generators", f"holdout,marginals,{mine}", "-o", page)
    code, _, said = run(*words)
    assert code == 0
    assert "column 'id' is identifier and is left out" in said
    assert "1 of 90 rows have gaps and are left out" in said
    text = page.read_text()
    assert "mine" in text
    assert "marginals" in text
    assert "<td>holdout<br>" in text
    assert "89 rows, 4 columns" in text
    stored = pd.read_csv(tmp_path / "page.runs.csv").query("metric == 'copies'").set_index("generator")["value"]
    assert stored["mine"] == 1.0 > stored["marginals"]
    page.unlink()
    code, _, said = run(*words)
    assert "seed 0" not in said  # nothing is left to run
    assert page.read_text() == text


def test_the_table_is_never_taken_for_the_results(shop, tmp_path, run):
    before = shop.read_bytes()
    words = ("benchmark", shop, "--target", "big", "--generators", "holdout", "-o", shop.with_suffix(".html"))
    code, _, said = run(*words)
    assert (code, shop.with_suffix(".runs.csv").exists()) == (0, True), said
    code, _, said = run(*words, "--overwrite", "--results", shop)
    assert code == 2
    assert "shop.csv: it is an input of this command" in said
    assert shop.read_bytes() == before


def test_a_generator_that_is_not_there_is_said_before_anything_runs(shop, tmp_path, run):
    code, _, said = run("benchmark", shop, "--target", "big", "--generators", "arf", "-o", tmp_path / "p.html")
    assert code == 2
    assert "arf is not installed" in said


def test_without_the_repository_the_presets_and_the_controls_are_offered(shop, tmp_path, run, monkeypatch):
    monkeypatch.setattr(generators, "REPOSITORY", tmp_path)
    assert {"auto", "holdout"} <= {spec.name for spec in generators.known()} == {s.name for s in generators.BUILT_IN}
    code, _, said = run("benchmark", shop, "--target", "big", "--generators", "arf", "-o", tmp_path / "p.html")
    assert code == 2
    assert "no generator 'arf'; there are auto" in said


def test_a_folder_may_add_generators(shop, tmp_path, run):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "generators.json").write_text('[{"name": "theirs", "family": "package", "file": "mine.py"}]')
    words = ("benchmark", shop, "--target", "big", "--generators", "theirs", "-o", tmp_path / "p.html")
    code, _, said = run(*words, "--generators-from", tmp_path)
    assert code == 0, said
    assert "theirs, seed 0: ok" in said
    (tmp_path / "generators.json").write_text('[{"name": "theirs", "files": "mine.py"}]')
    code, _, said = run(*words, "--generators-from", tmp_path, "--overwrite")
    assert code == 2
    assert "generators.json is invalid" in said


def test_the_best_of_several_is_marked_and_controls_do_not_compete():
    marks = {"mine": (0.2, 0.9), "yours": (0.1, 0.6), "bootstrap": (0.0, 0.5)}  # utility loss, two-sample AUC
    runs = [Run("shop", g, 0, 60.0, OK, "", {"utility": u, "detection": d}) for g, (u, d) in marks.items()]
    assert best(table(runs), ["bootstrap"]) == {"utility": "yours", "detection": "yours"}
    assert best(table(runs[1:]), ["bootstrap"]) == {}  # nobody to be better than
