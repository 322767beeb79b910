import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

import tabtreeformer
from tabtreeformer import ModelConfig, TabTreeFormer, TrainConfig, errors
from tabtreeformer.artifact.archive import read_archive, write_archive
from tabtreeformer.data.schema import CATEGORICAL, Schema
from tabtreeformer.errors import ArchiveError, ConfigError, NotFittedError, SchemaError
from tabtreeformer.sampling import Sampler


@pytest.fixture
def build(tiny):
    """A model that fits in a fraction of a second; sections are merged into the tiny settings."""

    def build(preset="S", target=None, random_state=0, **sections):
        merged = {
            name: {**values, **sections.pop(name)} if isinstance(sections.get(name), dict) else values
            for name, values in tiny.items()
        }
        return TabTreeFormer(preset, target, **{**merged, **sections}, random_state=random_state, verbose=False)

    return build


@pytest.fixture
def fitted(build, mixed):
    return build(target="income").fit(mixed)


@pytest.mark.parametrize("n", [1, 2, 7, 60, 151])
def test_sample_returns_exactly_n_rows_of_the_same_schema(fitted, mixed, n):
    rows = fitted.sample(n)
    assert len(rows) == n
    assert list(rows.columns) == list(mixed.columns)
    assert (rows.dtypes == mixed.dtypes).all()
    assert isinstance(rows.index, pd.RangeIndex)
    for name in ("stadt", "smoker", "size", "income"):
        assert set(rows[name]) <= set(mixed[name])
    for name in ("age", "height in m"):
        assert rows[name].between(mixed[name].min(), mixed[name].max()).all()


def test_the_same_seed_gives_the_same_rows(build, mixed):
    one, same, other = (build(random_state=s).fit(mixed) for s in (3, 3, 4))
    first = one.sample(50)
    pd.testing.assert_frame_equal(first, same.sample(50))
    assert not first.equals(one.sample(50))  # a second call continues
    assert not first.equals(other.sample(50))
    pd.testing.assert_frame_equal(one.sample(50, random_state=9), same.sample(50, random_state=9))
    assert not one.sample(50, random_state=9).equals(one.sample(50, random_state=10))


def test_without_a_seed_models_differ(build, mixed):
    one, other = (build(random_state=None).fit(mixed) for _ in range(2))
    assert not one.sample(50).equals(other.sample(50))


def test_sampling_settings_can_change_after_fitting_and_are_saved(fitted, tmp_path):
    before = fitted.sample(60, random_state=1)
    fitted.set_params(sampling={"temperature_category": 30.0})
    after = fitted.sample(60, random_state=1)
    assert not before.equals(after)
    fitted.save(tmp_path / "m")
    pd.testing.assert_frame_equal(TabTreeFormer.load(tmp_path / "m", verbose=False).sample(60, random_state=1), after)


def test_half_of_the_rows_come_from_each_network(fitted, monkeypatch):
    asked = []
    original = Sampler.draw
    monkeypatch.setattr(
        Sampler,
        "draw",
        lambda self, leaf_ids, *rest: asked.append((self.model, len(leaf_ids))) or original(self, leaf_ids, *rest),
    )
    fitted.sample(9)
    assert {model for model, _ in asked} == set(fitted.fitted_.models)
    assert [rows for _, rows in asked] == [5, 5]  # drawn together and then cut to nine


def test_rows_of_the_two_networks_take_turns(build, mixed):
    model = build(target="income", train={"steps": 2}).fit(mixed)
    with torch.no_grad():  # make the networks write different towns
        for network, word in zip(model.fitted_.models, (0, 2), strict=True):
            slot = next(i for i, s in enumerate(network.layout.slots) if s.column == 2 and s.kind == 1)
            network.embedding.weight[network.layout.allowed(slot)[word]] = 0
            network.embedding.weight[network.layout.allowed(slot)[2 - word]] = 50 * torch.randn(16)
    rows = model.sample(40, random_state=0)
    assert rows["stadt"].iloc[:20].nunique() > 1


def test_a_saved_model_gives_the_same_rows_when_loaded(fitted, tmp_path):
    path = tmp_path / "model.tabtree"
    fitted.save(path)
    loaded = TabTreeFormer.load(path, verbose=False)
    pd.testing.assert_frame_equal(loaded.sample(70, random_state=1), fitted.sample(70, random_state=1))
    assert not loaded.sample(70).equals(loaded.sample(70))
    assert loaded.summary() == fitted.summary()
    leaves = [m.fitted_.leaf_model.n_leaves for m in (fitted, loaded)]
    assert leaves[0] == leaves[1]


def test_every_tree_model_can_be_fitted_saved_and_loaded(build, mixed, tmp_path):
    for tree, params in {
        "lightgbm": {"n_estimators": 3},
        "xgboost": {"n_estimators": 3},
        "catboost": {"iterations": 3},
        "decision_tree": {"max_depth": 3},
        "none": {},
    }.items():
        model = build(target="income", tree={"model": tree, "params": params}).fit(mixed)
        model.save(tmp_path / tree)
        loaded = TabTreeFormer.load(tmp_path / tree, verbose=False)
        pd.testing.assert_frame_equal(loaded.sample(20, random_state=1), model.sample(20, random_state=1))
        n_trees = loaded.summary()["trees"]
        assert n_trees == {"decision_tree": 1, "none": 0}.get(tree, 3), tree
        assert len(loaded.fitted_.leaf_model.n_leaves) == n_trees


def test_a_tree_model_can_be_given_by_name(mixed, tiny):
    del tiny["tree"]
    model = TabTreeFormer("S", "income", "none", **tiny, verbose=False).fit(mixed)
    assert model.summary()["tree_model"] == "none"


@pytest.mark.parametrize("backbone", ["hf:gpt2", "hf:llama"])
def test_hugging_face_backbones_fit_sample_save_and_load(build, mixed, tmp_path, backbone):
    pytest.importorskip("transformers", reason="needs the hf extra")
    model = build(model={"backbone": backbone}).fit(mixed)
    model.save(tmp_path / "m")
    loaded = TabTreeFormer.load(tmp_path / "m", verbose=False)
    pd.testing.assert_frame_equal(loaded.sample(20, random_state=1), model.sample(20, random_state=1))


def test_the_archive_holds_no_full_leaf_row_and_no_pickle(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    members = read_archive(tmp_path / "m")
    assert {name.rsplit(".", 1)[1] for name in members} == {"json", "txt", "safetensors"}
    for bank in fitted.fitted_.prompts:
        assert (bank.leaf_ids == -1).mean() > 0.4


def test_parts_that_do_not_fit_together_are_an_error(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    members = read_archive(tmp_path / "m")
    changes = {
        "config.json": json.dumps({**json.loads(members["config.json"]), "model": {"width": 32}}).encode(),
        "schema.json": b"[]",
        "codec.json": b"{",
        "tree.json": b"{}",
        "weights_1.safetensors": members["weights_1.safetensors"][:100],
        "prompts.safetensors": b"",
    }
    for name, data in changes.items():
        write_archive(tmp_path / "bad", {**members, name: data})
        with pytest.raises(ArchiveError, match="damaged|cannot be used"):
            TabTreeFormer.load(tmp_path / "bad")
    del members["record.json"]
    write_archive(tmp_path / "bad", members)
    with pytest.raises(ArchiveError, match="its parts do not fit together"):
        TabTreeFormer.load(tmp_path / "bad")


@pytest.mark.parametrize(
    "df",
    {
        "two rows": pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]}),
        "fewer than 20 rows": pd.DataFrame({"a": range(7), "b": list("xyxyxyz")}),
        "one column": pd.DataFrame({"a": range(30)}),
        "one column of text": pd.DataFrame({"a": list("xyz") * 10}),
        "all categories": pd.DataFrame({"a": list("xyz") * 10, "b": list("uv") * 15}),
        "all numbers": pd.DataFrame({"a": range(30), "b": np.linspace(0, 1, 30)}),
        "constant columns": pd.DataFrame({"a": [1] * 30, "b": ["x"] * 30, "c": range(30)}),
        "only constants": pd.DataFrame({"a": [1] * 30, "b": ["x"] * 30}),
        "many classes": pd.DataFrame({"a": range(60), "b": [str(i % 6) for i in range(60)]}),
        "number names": pd.DataFrame({0: range(30), 1: list("xy") * 15}),
        "odd names": pd.DataFrame({"": range(30), 'q"uo,te': list("xy") * 15, "naïve {}[]": range(30)}),
        "an odd index": pd.DataFrame({"a": range(30), "b": list("xy") * 15}, index=pd.RangeIndex(100, 130)),
    }.items(),
    ids=lambda item: item[0],
)
def test_unusual_tables_work(build, df, tmp_path):
    table = df[1]
    model = build().fit(table)
    model.save(tmp_path / "m")
    rows = TabTreeFormer.load(tmp_path / "m", verbose=False).sample(25)
    assert len(rows) == 25
    assert list(rows.columns) == list(table.columns)
    assert (rows.dtypes == table.dtypes).all()


def test_an_unsaid_target_is_chosen_by_the_seed_and_kept(build, mixed):
    chosen = [build(random_state=seed).fit(mixed).summary()["tree_target"] for seed in range(6)]
    assert len(set(chosen)) > 1
    assert chosen == [build(random_state=seed).fit(mixed).summary()["tree_target"] for seed in range(6)]


def test_settings_and_schema_reach_the_model(build, mixed):
    schema = Schema.infer(mixed).with_kind("age", CATEGORICAL)
    model = build(train=TrainConfig(steps=3), model=ModelConfig(width=8, heads=2, layers=1)).fit(mixed, schema=schema)
    assert model.fitted_.config.train.steps == 3
    assert model.fitted_.config.model.width == 8
    assert set(model.sample(50)["age"]) <= set(mixed["age"])


def test_it_follows_the_rules_of_scikit_learn(build, fitted):
    model = build(target="income")
    assert model.get_params()["target"] == "income"
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "fitted_")
    assert model.set_params(preset="L").preset == "L"
    TabTreeFormer("no such preset", tree={"no": "field"})  # no work, so no error, in the constructor
    with pytest.raises(ConfigError, match="preset must be one of"):
        TabTreeFormer("no such preset").fit(pd.DataFrame({"a": [1, 2]}))


@pytest.mark.parametrize("n", [0, -3, 2.5, "7", True])
def test_n_must_be_a_positive_whole_number(fitted, n):
    with pytest.raises(ConfigError, match=rf"n must be .*, got {n!r}"):
        fitted.sample(n)


def test_an_unfitted_model_says_so(build, tmp_path):
    for use in (lambda m: m.sample(3), lambda m: m.save(tmp_path / "m"), lambda m: m.summary()):
        with pytest.raises(NotFittedError, match=r"call fit\(df\) first"):
            use(build())


def test_a_target_that_is_not_there_lists_the_columns(build, mixed):
    with pytest.raises(SchemaError, match="there is no column 'y'; the table has 'age'"):
        build(target="y").fit(mixed)
    with pytest.raises(SchemaError, match="there is no column 'y'; the table has 'age'"):
        build(target="y").fit(mixed, schema=Schema.infer(mixed))


@pytest.mark.parametrize("preset", ["S", "auto"])
def test_missing_values_are_learned_in_every_column_and_in_the_target(build, mixed, preset, tmp_path):
    rng = np.random.default_rng(0)
    for name in mixed.columns:
        if mixed[name].dtype == "int64":
            mixed[name] = mixed[name].astype("Int64")
        if mixed[name].dtype == bool:
            mixed[name] = mixed[name].astype("boolean")
        mixed.loc[rng.random(len(mixed)) < 0.3, name] = None
    model = build(preset, target="income", train={"steps": 20}).fit(mixed)
    model.save(tmp_path / "m")
    rows = TabTreeFormer.load(tmp_path / "m", verbose=False).sample(200, random_state=0)
    assert (rows.dtypes == mixed.dtypes).all()
    assert rows.isna().any().all()
    assert rows.notna().any().all()


@pytest.mark.parametrize("state", [-1, "x", 2.5, True])
def test_a_seed_must_be_a_whole_number(build, mixed, state):
    with pytest.raises(ConfigError, match="random_state must be a whole number from 0"):
        build(random_state=state).fit(mixed)


def test_a_numpy_generator_is_a_seed(build, mixed):
    one, two = (build(random_state=np.random.default_rng(5)).fit(mixed).sample(20) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)


def test_an_unusable_device_says_what_to_try(build, mixed):
    for device in ("abacus", "cuda:99"):
        with pytest.raises(ConfigError, match=f"device '{device}' cannot be used here; try 'auto' or 'cpu'"):
            build(device=device).fit(mixed)


def test_the_table_is_left_as_it_was(build, mixed):
    before = mixed.copy(deep=True)
    build().fit(mixed)
    pd.testing.assert_frame_equal(mixed, before)


def test_public_names_can_be_imported():
    for name in tabtreeformer.__all__:
        assert getattr(tabtreeformer, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        tabtreeformer.nothing  # noqa: B018


def test_every_error_and_warning_is_public_and_drawn_in_the_tree_of_errors():
    raised = {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, Exception) and value.__module__ == errors.__name__
    }
    assert set(raised) <= set(tabtreeformer.__all__)
    trees = re.split(r"\n\s*\n", errors.__doc__)[1:3]
    drawn = {tree.split()[0]: set(re.findall(r"── (\w+)", tree)) for tree in trees}
    assert drawn == {
        base.__name__: {name for name, value in raised.items() if value is not base and issubclass(value, base)}
        for base in (errors.TabTreeFormerError, UserWarning)
    }
