"""Attacks with shadow models find a model that repeats its rows, and say nothing of one that writes other real rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tabtreeformer import ConfigError, Schema, TabTreeFormer
from tabtreeformer._runtime.progress import Silent
from tabtreeformer.cli import app
from tabtreeformer.privacy.shadows import FILE_ATTACK, attack_with_shadows


def rows(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    return pd.DataFrame(
        {
            "size": np.round(size, 2),
            "weight": np.round(size * 3 + rng.normal(size=n), 1),
            "town": rng.choice(["Köln", "Ulm", "Bern", "Jena"], n),
            "sick": rng.random(n) < 1 / (1 + np.exp(-size)),
        }
    )


class Repeating:
    """Writes the rows that it learned from, as often as it is told to, among new ones."""

    def __init__(self, learned: pd.DataFrame, copied: float, seed: int) -> None:
        self.learned, self.copied, self.seed = learned, copied, seed

    def sample(self, n, random_state=None):
        rng = np.random.default_rng(self.seed)
        n_copied = round(self.copied * n)
        copies = self.learned.iloc[rng.integers(0, len(self.learned), n_copied)]
        return pd.concat([copies, rows(n - n_copied, 10_000 + self.seed)], ignore_index=True)

    def log_prob(self, df, random_state=0):
        known = set(map(tuple, self.learned.itertuples(index=False)))
        found = np.array([tuple(row) in known for row in df.itertuples(index=False)], dtype=float)
        return self.copied * found + np.random.default_rng(self.seed).normal(size=len(df))


def attacked(copied: float, level: str = "balanced"):
    members, others = rows(300, 1), rows(300, 2)
    return attack_with_shadows(
        Repeating(members, copied, 3), lambda frame, seed: Repeating(frame, copied, seed), (members, others),
        schema=Schema.infer(members), n_shadows=4, level=level, seed=np.random.SeedSequence(0), progress=Silent(),
    )  # fmt: skip


def test_a_model_that_repeats_rows_is_found_by_every_attack_on_rows():
    found = attacked(0.5)
    assert found.rows_leak
    assert {one.measure for one in found.findings if one.leak} >= {"distance", "density", "density ratio"}
    assert found.attacks["distance"]["true_positives"] > 0.3


def test_a_model_that_repeats_nothing_passes():
    found = attacked(0.0, level="strict")
    assert not found.rows_leak
    assert not found.file_leaks
    assert all(abs(attack["auc"] - 0.5) < 0.08 for attack in found.attacks.values())


def test_a_file_that_knows_its_rows_is_a_finding_of_its_own(monkeypatch):
    monkeypatch.setattr(Repeating, "sample", lambda self, n, random_state=None: rows(n, 77 + self.seed))
    found = attacked(6.0)
    assert found.file_leaks
    assert not found.rows_leak
    assert found.to_json()["attacks"][FILE_ATTACK]["auc"] > 0.9


def test_one_far_value_changes_no_distance():
    from tabtreeformer.evaluation.attacks.repeated import nearest
    from tabtreeformer.evaluation.encoding import encode

    real, new = rows(200, 1), rows(400, 2)
    tables = encode({"training": real, "synthetic": new}, Schema.infer(real))
    far = encode({"training": real, "synthetic": pd.concat([new, new.head(1).assign(size=1e12)])}, Schema.infer(real))
    before, after = (nearest(t["training"], t["synthetic"], 5) for t in (tables, far))
    assert np.allclose(before, after)


def test_too_few_rows_or_shadows_are_refused():
    members = rows(40, 1)
    with pytest.raises(ConfigError, match="at least 50"):
        attack_with_shadows(
            Repeating(members, 0, 0), lambda frame, seed: Repeating(frame, 0, seed), (members, members),
            schema=Schema.infer(members), n_shadows=2, seed=np.random.SeedSequence(0), progress=Silent(),
        )  # fmt: skip


def test_the_command_fits_shadows_of_the_same_kind(tmp_path):
    rows(120, 1).to_csv(tmp_path / "train.csv", index=False)
    rows(120, 2).to_csv(tmp_path / "other.csv", index=False)
    model = TabTreeFormer("trees", "sick", forest={"leaf_rows": 1}, tokens={"rare_floor": 0}, verbose=False)
    model.fit(pd.read_csv(tmp_path / "train.csv")).save(tmp_path / "m.tabtree")
    words = ["attack", tmp_path / "m.tabtree", tmp_path / "train.csv", "--holdout", tmp_path / "other.csv"]
    result = CliRunner().invoke(app, [*map(str, words), "--shadows", "2", "--json", "-q"])
    found = json.loads(result.stdout)
    assert result.exit_code == 1
    assert found["rows_leak"]
    assert found["shadows"] == 2
    assert found["members"] == found["others"] == 120
