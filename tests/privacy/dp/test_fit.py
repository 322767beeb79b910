"""Whole fits under differential privacy, tiny ones."""

from __future__ import annotations

import zipfile

import numpy as np
import pandas as pd
import pytest

import tabtreeformer as ttf
from tabtreeformer.data.io.chunks import open_chunks
from tabtreeformer.privacy.audit import audit
from tabtreeformer.privacy.card import model_card, to_markdown

pytest.importorskip("opacus")

SMALL = {"model": {"width": 8, "feed_forward": 16, "heads": 2, "layers": 1}, "train": {"steps": 3, "batch_size": 32}}
CANARY = "canary-93511"


def table(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    df = pd.DataFrame(
        {
            "city": rng.choice(["Bern", "Oslo"], n),
            "age": rng.integers(18, 80, n),
            "pay": rng.lognormal(7, 0.3, n).round(2),
            "start": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "id": np.arange(n) + 88_000_001,
        }
    )
    df.loc[rng.random(n) < 0.2, "pay"] = np.nan
    df.loc[7, ["city", "pay"]] = [CANARY, 98765432.25]
    return df


def fit(df, schema=None, epsilon=8.0, **changes):
    dp = ttf.DP(epsilon=epsilon)
    model = ttf.TabTreeFormer(dp=dp, **{"random_state": 0, "verbose": False, **SMALL, **changes})
    return model.fit(df, schema=ttf.Schema.infer(df) if schema is None else schema)


@pytest.fixture(scope="module")
def model():
    return fit(table())


def test_rows_have_the_dtypes_of_the_table_and_the_file_says_what_was_spent(model, tmp_path):
    df, path = table(), tmp_path / "m.tabtree"
    rows = model.sample(50, random_state=1)
    assert rows.dtypes.tolist() == df.dtypes.tolist()
    model.save(path)
    loaded = ttf.TabTreeFormer.load(path, verbose=False)
    pd.testing.assert_frame_equal(loaded.sample(50, random_state=1), rows)
    spent = loaded.fitted_.record["privacy"]["dp"]
    assert 0 < spent["epsilon"] <= 8.0
    assert spent["delta"] < 1 / len(df)
    text = to_markdown(model_card(path))
    assert f"epsilon {spent['epsilon']}" in text
    assert "Taken as public" in text


def test_neither_a_canary_nor_a_key_nor_a_seed_nor_a_loss_is_in_the_file(model, tmp_path):
    path = tmp_path / "m.tabtree"
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        content = b"\n".join(archive.read(name) for name in archive.namelist())
    for trace in (CANARY.encode(), b"98765432", b"88000001", b"88000400"):
        assert trace not in content
    record = model.fitted_.record
    assert "seed" not in record
    assert record["training"][0]["validations"] == []
    assert all(column.why == "" for column in model.fitted_.schema.columns)
    assert CANARY not in set(model.sample(300)["city"])


def test_the_audit_knows_where_everything_comes_from(model, tmp_path):
    path = tmp_path / "m.tabtree"
    model.save(path)
    assert [finding.path for finding in audit(path).findings if finding.kind in ("unknown", "hidden")] == []


def test_the_same_seed_makes_the_same_model_and_says_that_it_is_for_tests():
    df = table(200)
    first, second = (fit(df) for _ in range(2))
    pd.testing.assert_frame_equal(first.sample(20, random_state=0), second.sample(20, random_state=0))
    assert "tests only" in first.fitted_.record["privacy"]["dp"]["noise_from"]
    free = fit(df, random_state=None)
    assert free.fitted_.record["privacy"]["dp"]["noise_from"] == "the operating system"
    assert free.fitted_.codec.to_json() != fit(df, random_state=None).fitted_.codec.to_json()


def test_without_a_schema_it_is_refused_with_the_way_out():
    with pytest.raises(ttf.SchemaError, match="ttf schema"):
        ttf.TabTreeFormer(dp=ttf.DP(epsilon=1), verbose=False).fit(table())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"preset": "S"}, "preset 'auto' only"),
        ({"tree": "xgboost"}, "trees are grown without noise"),
        ({"tokens": {"scheme": "quantile", "bins": 5}}, "tokens.scheme"),
        ({"model": {"copula": True}}, "model.copula=True is learned without noise"),
        ({"train": {"margins": True}}, "train.margins=True"),
    ],
)
def test_settings_without_a_private_way_are_refused(changes, words):
    with pytest.raises(ttf.ConfigError, match=words):
        fit(table(), **changes)


def test_a_relation_that_lists_values_is_refused_and_an_order_is_kept():
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"low": rng.integers(0, 50, 300), "city": ["a", "b", "c"] * 100, "land": ["x", "y", "y"] * 100})
    df["high"] = df["low"] + rng.integers(1, 9, 300)
    with pytest.raises(ttf.SchemaError, match="pairs of values"):
        fit(df, constraints=["land from city"])
    with pytest.raises(ttf.SchemaError, match="write '>='"):
        fit(df, constraints=["high > low"])
    with pytest.raises(ttf.SchemaError, match="cannot be kept under differential privacy.*drop it"):
        fit(df, constraints=["high = 0 where city = 'Rome', nearly always"])
    rows = fit(df, constraints=["high >= low"]).sample(200)
    assert (rows["high"] >= rows["low"]).all()
    assert fit(df).fitted_.codec.rules.rules == ()


def test_checkpoints_and_tables_in_parts_are_refused(tmp_path):
    df = table()
    df.to_csv(tmp_path / "t.csv", index=False)
    model = ttf.TabTreeFormer(dp=ttf.DP(epsilon=1), verbose=False)
    with pytest.raises(ttf.ConfigError, match="checkpoints"):
        model.fit(df, schema=ttf.Schema.infer(df), checkpoint_dir=tmp_path)
    with pytest.raises(ttf.ConfigError, match="table in parts"):
        model.fit(open_chunks(tmp_path / "t.csv", 100), schema=ttf.Schema.infer(df))


def test_a_dtype_that_is_not_that_of_the_schema_is_refused():
    df = table()
    with pytest.raises(ttf.SchemaError, match="has dtype float64, and int64"):
        fit(df.astype({"age": float}), ttf.Schema.infer(df))
