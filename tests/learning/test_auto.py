"""The preset that is sized by the table."""

import time
from dataclasses import replace

import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.config.presets import auto, configure
from tabtreeformer.errors import ConfigError

QUICK = {"train": {"steps": 12, "validate_every": 6}}


@pytest.mark.parametrize("n_rows", [2, 50, 614, 4_999, 5_000, 39_000, 5_000_000])
@pytest.mark.parametrize("n_classes", [None, 2, 3, 100])
def test_there_is_a_config_for_every_size(n_rows, n_classes):
    config = auto(n_rows, n_classes)
    assert config.model.softmax == "allowed"
    assert config.train.leaf_mask == (0.5, 0.75)  # the paper's
    rounds = config.tree.params["n_estimators"]
    assert rounds * (n_classes if n_classes and n_classes > 2 else 1) <= max(60, 5 * (n_classes or 1))


def test_larger_tables_get_larger_models():
    small, large = auto(600), auto(50_000)
    assert small.model.width < large.model.width
    assert small.tokens.quantiles < large.tokens.quantiles
    assert small.train.batch_size < large.train.batch_size


def test_sizes_have_no_cliffs():
    """A tenth more rows never changes a size by more than a tenth, but for whole layers and eights of width."""
    counts = [round(50 * 1.1**k) for k in range(110)]
    for fewer, more in zip(map(auto, counts), map(auto, counts[1:]), strict=False):
        assert more.model.layers - fewer.model.layers in (0, 1)
        assert more.model.width - fewer.model.width in (0, 8)
        for small, large in [
            (fewer.tokens.quantiles, more.tokens.quantiles),
            (fewer.train.batch_size, more.train.batch_size),
            (fewer.train.steps, more.train.steps),
        ]:
            assert small - 2 <= large <= 1.1 * small + 2
        assert abs(fewer.sampling.committee - more.sampling.committee) <= 0.15
        assert replace(fewer.sampling, committee=0) == replace(more.sampling, committee=0)


def test_a_step_of_a_wide_table_costs_no_more():
    for n_rows in (614, 39_000):
        narrow, wide = auto(n_rows, n_columns=48), auto(n_rows, n_columns=300)
        assert wide.train.batch_size * 300 <= narrow.train.batch_size * 48 * 2.5
        assert wide.sampling.batch_size < narrow.sampling.batch_size
        assert wide.train.validation_rows < narrow.train.validation_rows


def test_overrides_win():
    config = configure("auto", {"model": {"width": 32}, "tree": {"params": {"n_estimators": 7}}}, n_rows=500)
    assert config.model.width == 32
    assert config.tree.params["n_estimators"] == 7
    assert config.tree.params["num_leaves"] == 15


@pytest.mark.parametrize("tree", ["lightgbm", "xgboost", "catboost", "decision_tree", "none"])
def test_it_is_the_default_and_fits_samples_saves_and_loads_with_every_tree_model(mixed, tmp_path, tree):
    model = TabTreeFormer(target="income", tree=tree, **QUICK, random_state=0, verbose=False).fit(mixed)
    assert model.preset == "auto"
    rows = model.sample(30, random_state=1)
    assert (rows.dtypes == mixed.dtypes).all()
    model.save(tmp_path / "m")
    pd.testing.assert_frame_equal(TabTreeFormer.load(tmp_path / "m", verbose=False).sample(30, random_state=1), rows)


def test_the_same_seed_gives_the_same_rows(mixed):
    one, two = (TabTreeFormer(**QUICK, random_state=3, verbose=False).fit(mixed).sample(50) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.parametrize(
    "df",
    {
        "two rows": pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]}),
        "one column": pd.DataFrame({"a": range(30)}),
        "all categories": pd.DataFrame({"a": list("xyz") * 10, "b": list("uv") * 15}),
        "constants": pd.DataFrame({"a": [1] * 30, "b": ["x"] * 30, "c": range(30)}),
        "many ids": pd.DataFrame({"a": [i / 7 for i in range(400)], "b": [i % 19 for i in range(400)]}),
        "many categories": pd.DataFrame({"a": [f"v{i}" for i in range(300)] * 2, "b": range(600)}),
    }.items(),
    ids=lambda item: item[0],
)
def test_unusual_tables_work(df):
    rows = TabTreeFormer(**QUICK, random_state=0, verbose=False).fit(df[1]).sample(25)
    assert len(rows) == 25
    assert (rows.dtypes == df[1].dtypes).all()


def test_it_says_what_it_chose(mixed, capsys):
    TabTreeFormer(target="income", **QUICK, random_state=0).fit(mixed)
    assert "auto: 50 trees, 5 value tokens per row; two networks of 2 layers × 48, up to 12 steps of 64 rows each" in (
        capsys.readouterr().err
    )


def test_a_budget_is_kept_and_an_impossible_one_is_refused(mixed):
    started = time.process_time()
    model = TabTreeFormer(
        random_state=0, verbose=False, budget_seconds=4, tree={"trials": 10_000}, train={"steps": 10**6}
    ).fit(mixed)
    assert time.process_time() - started < 15  # a busy machine gives it less of the processor, not more
    assert model.fitted_.config.tree.timeout_seconds is None  # the budget is not a setting of the model
    assert len(model.sample(10)) == 10
    with pytest.raises(ConfigError, match="budget_seconds must be above 0, got -1"):
        TabTreeFormer(budget_seconds=-1).fit(mixed)


def test_rows_are_drawn_with_the_settings_of_the_tables_size(mixed, tmp_path):
    wide = pd.concat([mixed.add_suffix(f"_{k}") for k in range(9)], axis=1)
    model = TabTreeFormer(target="income_0", train={"steps": 2}, random_state=0, verbose=False).fit(wide)
    expected = auto(len(wide), n_columns=wide.shape[1]).sampling
    assert model._sampling() == expected != auto(len(mixed)).sampling
    model.save(tmp_path / "m.tabtree")
    assert TabTreeFormer.load(tmp_path / "m.tabtree").fitted_.config.sampling == expected
