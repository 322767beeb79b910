"""Any ids decode to rows in which every relation holds."""

import json

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.schema import Schema
from tabtreeformer.errors import ConfigError, SchemaError
from tabtreeformer.laws import given_laws, parse
from tabtreeformer.tokens import TableCodec

N = 300


def table():
    r = np.random.default_rng(1)
    a, b, c = r.integers(0, 50, N), r.integers(0, 30, N), r.integers(0, 20, N)
    begin = pd.Series(pd.bdate_range("2020-01-01", periods=700)[r.integers(0, 690, N)])
    end = pd.Series([pd.bdate_range(day, periods=9)[k] for day, k in zip(begin, r.integers(0, 9, N), strict=True)])
    return pd.DataFrame(
        {
            "a": a.astype("int8"),
            "b": b,
            "c": c.astype("uint16"),
            "sum": (a + b).astype("int16"),
            "less": a.astype(np.int64) + b - c,
            "price of one": r.lognormal(2, 0.5, N).round(2),
            "begin": begin,
            "end": end,
            "paid": end + pd.to_timedelta(r.integers(0, 48, N), unit="h"),
            "city": r.choice(["Köln", "Ulm", "Bern"], N),
        }
    ).assign(
        cost=lambda d: (d["price of one"] * d["b"]).round(2),
        land=lambda d: d["city"].map({"Köln": "DE", "Ulm": "DE"}),  # Bern has none
        least=lambda d: (d["cost"] * r.random(N)).round(1).clip(upper=d["cost"]),
    )


RULES = [
    "sum = a + b",
    "less = a + b - c",
    "cost = `price of one` * b",
    "end >= begin",
    "paid >= end",
    "least <= cost",
    "land from city",
]


def decoded(df, rules, scheme="atoms", n=2000, seed=0):
    schema = Schema.infer(df)
    laws = given_laws(rules, schema.validate(df), schema, floor=1)
    codec = TableCodec.learn(df, schema, TokenConfig(scheme=scheme, quantiles=40, bins=6), laws)
    codec = TableCodec.from_json(json.loads(json.dumps(codec.to_json())), schema)
    rng = np.random.default_rng(seed)
    ids = np.column_stack([rng.integers(0, slot.size, n) for slot in codec.slots])
    return codec.decode(ids, rng)


@pytest.mark.parametrize("scheme", ["atoms", "quantile"])
def test_every_relation_holds_in_rows_of_any_ids(scheme):
    df = table()
    new = decoded(df, RULES, scheme)
    assert (new.dtypes == df.dtypes).all()
    assert (new["sum"] == new["a"].astype(int) + new["b"]).all()
    assert (new["less"] == new["a"].astype(int) + new["b"] - new["c"]).all()
    assert np.allclose(new["cost"], (new["price of one"] * new["b"]).round(2), atol=0.0051)
    assert (new["end"] >= new["begin"]).all()
    assert (new["paid"] >= new["end"]).all()
    assert (new["least"] <= new["cost"]).all()
    assert (new["land"].notna() == (new["city"] != "Bern")).all()
    assert (new.loc[new["city"] != "Bern", "land"] == "DE").all()


def test_moved_values_are_on_the_grid_of_the_column_and_inside_its_range():
    df = table()
    new = decoded(df, ["end >= begin", "paid >= end"])
    assert (new["end"] == new["end"].dt.normalize()).all()
    assert new["end"].between(df["end"].min(), df["end"].max() + pd.Timedelta("3D")).all()
    gaps = (new["end"] - new["begin"]).dt.days
    assert gaps.nunique() > 5  # not all moved to the bound


def test_a_computed_column_stays_what_it_is_and_the_lesser_gives_way():
    df = table()
    new = decoded(df, ["cost = `price of one` * b", "least <= cost"])
    assert np.allclose(new["cost"], (new["price of one"] * new["b"]).round(2), atol=0.0051)
    assert (new["least"] <= new["cost"]).all()
    assert np.allclose(new["least"], new["least"].round(1))


def test_missing_values_stay_missing():
    df = table()[["a", "b", "sum"]].astype("Int64")
    df = df.mask(np.random.default_rng(0).random(df.shape) < 0.2)
    new = decoded(df, ["sum = a + b"])
    whole = new.dropna()
    assert new.isna().any().all()
    assert (whole["sum"] == whole["a"] + whole["b"]).all()


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (["begin >= end"], "'begin >= end' does not hold in the table: .* rows break it, the first is row"),
        (["sum = a + c"], "'sum = a \\+ c' does not hold"),
        (["city from land"], "'city from land' does not hold"),
        (["end > begin"], "'end > begin' does not hold"),
        (["end >= begin", "nonsense"], "'nonsense' cannot be read"),
        (["sum = a + nonsense"], "'sum = a \\+ nonsense': there is no column 'nonsense'"),
        (["a = b"], "'a = b' does not hold"),
        (["a + b"], "'a \\+ b' cannot be read; write it as 'end >= start'"),
        (["a >= city"], "compares columns that have no common order"),
        (["a >= begin"], "compares columns that have no common order"),
        (["sum = a + city"], "column 'city' is categorical, not numeric"),
        (["sum = a + a"], "names a column twice"),
        (["sum = a + b", "a = sum - b"], "cannot all be kept: each changes what another reads"),
    ],
)
def test_a_relation_that_cannot_be_kept_is_an_error(rules, message):
    with pytest.raises(SchemaError, match=message):
        decoded(table(), rules)


def test_the_readable_form_comes_back():
    df = table().rename(columns={"a": "a + x", "b": "from", "c": "c>="})
    schema = Schema.infer(df)
    for text in ("sum = `a + x` + `from`", "`c>=` >= sum", "city from `from`", "cost = `price of one` * `from`"):
        assert parse(text, schema).text == text


def test_relations_reach_the_model_and_its_file(tiny, tmp_path):
    df = table()
    tiny = {"privacy": "off", "verbose": False, **tiny}
    model = TabTreeFormer("S", constraints=["end >= begin", "land from city"], **tiny, random_state=0)
    model.fit(df).save(tmp_path / "m")
    loaded = TabTreeFormer.load(tmp_path / "m", verbose=False)
    rows = loaded.sample(200)
    assert (rows["end"] >= rows["begin"]).all()
    assert set(loaded.summary()["constraints"]) == {"end >= begin", "land from city"}
    assert TabTreeFormer("S", **tiny, random_state=0).fit(df).summary()["constraints"] == []
    with pytest.raises(ConfigError, match="constraints must be 'auto', a list or None, got 'end >= begin'"):
        TabTreeFormer("S", constraints="end >= begin", **tiny).fit(df)
