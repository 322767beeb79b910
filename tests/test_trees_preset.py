"""Preset `trees`: every question through the same methods as the networks, and no PyTorch."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import ConfigError, PrivacyWarning, TabTreeFormer, between, ge
from tabtreeformer.data.io.chunks import open_chunks


def people(n: int = 900, seed: int = 0) -> pd.DataFrame:
    """A table with every kind of column, gaps, and a rule."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    job = np.where(age > 60, "retired", rng.choice(["cook", "nurse", "clerk"], n))
    wage = np.where(job == "retired", 900.0, np.round(1500 + 30 * age * rng.gamma(5, 0.2, n), 2))
    wage[rng.random(n) < 0.1] = np.nan
    start = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1090, n), unit="D")
    frame = pd.DataFrame({"id": np.arange(n), "age": age, "job": job, "wage": wage, "start": start})
    frame["rich"] = (frame["wage"].fillna(0) > 2500) & (rng.random(n) < 0.9)
    return frame


@pytest.fixture(scope="module")
def model() -> TabTreeFormer:
    return TabTreeFormer("trees", "rich", random_state=0, verbose=False).fit(people())


def test_rows_have_the_schema_of_the_table_and_its_dependence(model):
    rows, real = model.sample(3000, random_state=0), people()
    assert list(rows.columns) == list(real.columns)
    assert rows.dtypes.to_dict() == real.dtypes.to_dict()
    assert rows["id"].is_unique
    assert (rows.loc[rows["age"] > 60, "job"] == "retired").mean() > 0.95
    assert rows["wage"].isna().mean() == pytest.approx(real["wage"].isna().mean(), abs=0.03)


def test_the_same_seed_gives_the_same_rows_in_any_batches_and_from_a_file(model, tmp_path):
    rows = model.sample(9000, random_state=3)
    parts = pd.concat(model.iter_sample(9000, batch_size=2500, random_state=3))
    pd.testing.assert_frame_equal(rows, parts)
    model.save(tmp_path / "people.tabtree")
    again = TabTreeFormer.load(tmp_path / "people.tabtree", verbose=False)
    pd.testing.assert_frame_equal(rows, again.sample(9000, random_state=3))
    assert again.summary()["preset"] == "trees"
    again.sample_to(tmp_path / "new.csv", 9000, random_state=3)
    assert len(pd.read_csv(tmp_path / "new.csv")) == 9000


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ({"rich": True}, lambda rows: rows["rich"]),
        ({"age": between(30, 40), "rich": True}, lambda rows: rows["age"].between(30, 40) & rows["rich"]),
        ({"wage": ge(2600), "job": ["cook"]}, lambda rows: (rows["wage"] >= 2600) & (rows["job"] == "cook")),
        ({"wage": None}, lambda rows: rows["wage"].isna()),
        ({"start": ("2021-01-01", "2021-06-30")}, lambda rows: rows["start"].dt.year == 2021),
    ],
)
def test_every_row_meets_the_conditions(model, given, holds):
    assert holds(model.sample(500, random_state=0, given=given)).all()


def test_rows_under_a_condition_are_those_that_a_filter_leaves(model):
    free = model.sample(40_000, random_state=1)
    kept, given = free[free["rich"]], model.sample(4000, random_state=2, given={"rich": True})
    assert given["age"].mean() == pytest.approx(kept["age"].mean(), abs=1.0)
    assert given["wage"].mean() == pytest.approx(kept["wage"].mean(), rel=0.03)
    assert (given["job"] == "retired").mean() == pytest.approx((kept["job"] == "retired").mean(), abs=0.03)


def test_gaps_are_filled_and_the_rest_stays_as_it_is(model):
    table = people(300, seed=5)
    table.loc[::2, "job"] = None
    filled = model.impute(table, random_state=0)
    assert not filled.isna().any(axis=None)
    pd.testing.assert_series_equal(filled["age"], table["age"])
    old = filled[(table["age"] > 62) & table["job"].isna()]
    assert (old["job"] == "retired").mean() > 0.9


def test_classes_come_in_equal_shares(model):
    assert model.sample(1000, random_state=0, balance="job")["job"].value_counts().tolist() == [250] * 4


def test_predictions_know_the_table(model):
    table = people(400, seed=7)
    chances = model.predict_proba(table, "rich")
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (model.predict(table, "rich") == table["rich"]).mean() > 0.9
    assert np.corrcoef(model.predict(table.drop(columns="wage"), "age"), table["age"])[0, 1] > 0.6


def test_likelihoods_add_up_and_odd_rows_are_found(model):
    table = people(300, seed=9)
    whole, parts = model.log_prob(table), model.log_prob(table, by_column=True)
    np.testing.assert_allclose(parts.sum(axis=1), whole)
    assert np.isfinite(whole).all()
    table.loc[7, ["age", "job"]] = [19, "retired"]
    found = model.outliers(table, n=10)
    assert 7 in found.index
    assert set(found.loc[7, "columns"]) & {"age", "job"}


def test_likelihoods_in_another_order_are_nearly_the_same():
    table = people(400)[["age", "job", "rich"]]
    model = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(table)
    some = table.head(60)
    whole, other = (model.log_prob(some, order=order) for order in (None, ["rich", "age", "job"]))
    assert (whole - other).abs().mean() < 0.15
    parts = model.log_prob(some, by_column=True, order=["rich", "age", "job"])
    rich = np.where(some["rich"], table["rich"].mean(), 1 - table["rich"].mean())
    np.testing.assert_allclose(np.exp(parts["rich"]), rich, atol=0.08)
    swapped = model.log_prob(some, by_column=True, order=["age", "job", "rich"])
    np.testing.assert_array_equal(swapped, model.log_prob(some, by_column=True))


def test_the_verdict_names_the_attack_by_density(model):
    privacy = model.summary()["privacy"]
    assert privacy["verdict"] == "fail"
    assert any("recognises members with an AUC" in reason for reason in privacy["reasons"])
    assert privacy["measures"]["membership_density"]["released"] == 450
    with pytest.warns(PrivacyWarning, match="recognises members"):
        model.sample(10)


def test_rows_set_aside_are_compared_with_the_whole_forest():
    model = TabTreeFormer("trees", random_state=0, verbose=False).fit(people(), holdout=0.3)
    assert "rows set aside" in {m["where"] for m in model.summary()["privacy"]["measures"].values()}


def test_auto_chooses_trees_where_nobody_is_to_be_protected_and_says_so(capsys):
    model = TabTreeFormer(privacy="off", random_state=0).fit(people(200))
    assert model.summary()["preset"] == "trees"
    assert "privacy is off, so preset 'trees' is used" in capsys.readouterr().err
    assert TabTreeFormer(privacy="off", train={"steps": 5})._request_of_fit().preset == "auto"


def test_the_dial_is_rows_per_leaf():
    model = TabTreeFormer("trees", forest={"leaf_rows": 200}, privacy="off", random_state=0, verbose=False)
    forest = model.fit(people()).fitted_.forest
    assert forest.leaf_rows == 200
    assert max(slot.trees[0].n_leaves for slot in forest.slots) <= 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"train": {"steps": 5}}, "no settings of train"),
        ({"forest": {"leaf_rows": 0}}, "leaf_rows must be at least 1"),
        ({"forest": {"rows": 5}}, "there is no setting forest.rows"),
    ],
)
def test_settings_that_trees_do_not_have_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        TabTreeFormer("trees", **settings).fit(people(50))


def test_networks_have_no_settings_of_a_forest():
    with pytest.raises(ConfigError, match="forest are for preset 'trees'"):
        TabTreeFormer(forest={"leaf_rows": 5}).fit(people(50))


def test_a_table_in_parts_is_learned_whole(tmp_path):
    people(3000).to_csv(tmp_path / "people.csv", index=False)
    chunks = open_chunks(tmp_path / "people.csv", rows=500)
    model = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(chunks)
    assert sum(int(c.counts.sum()) for c in model.fitted_.forest.slots[0].counts) == 3000
    assert len(model.sample(100)) == 100


def test_no_torch_is_imported(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    script = """
    import sys
    from tabtreeformer.cli import main
    for line in ("fit people.csv --preset trees --target rich -o m.tabtree --quiet",
                 "sample m.tabtree -n 50 -o new.csv --quiet --accept-risk test",
                 "impute m.tabtree people.csv -o full.csv --quiet --accept-risk test"):
        sys.argv = ["ttf", *line.split()]
        try:
            main()
        except SystemExit as end:
            assert not end.code, line
    print([name for name in ("torch", "lightgbm", "optuna") if name in sys.modules])
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip().endswith("[]")


def test_the_card_and_the_audit_say_what_trees_reveal(model, tmp_path):
    from tabtreeformer.privacy.audit import audit
    from tabtreeformer.privacy.card import model_card, to_markdown

    model.save(tmp_path / "people.tabtree")
    card = to_markdown(model_card(tmp_path / "people.tabtree"))
    assert "trees, no network" in card
    assert "the file contains exact counts" in card.replace("\n", " ")
    kinds = {finding.kind for finding in audit(tmp_path / "people.tabtree").findings}
    assert kinds == {"share"}


def test_rules_of_trees_that_write_are_refused_in_words(model):
    with pytest.raises(ConfigError, match="has no rules"):
        model.rules()
