"""Numbers that are often equal: a flag beside them, and what else depends on them stays."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.data.schema import Schema
from tabtreeformer.errors import SchemaError
from tabtreeformer.laws import Frame, Laws, find_laws, given_laws, parse
from tabtreeformer.laws.find import greedy
from tabtreeformer.laws.laws import in_order
from tabtreeformer.laws.order import AtLeast, limited
from tabtreeformer.laws.search import Candidate

from .planted import noise, shuffled


def lots(n=3000, seed=0, gaps=0.0):
    """Lots in tens, of which a third are as large as the neighbours', with houses that depend on them."""
    r = np.random.default_rng(seed)
    around = np.round(r.lognormal(9, 0.6, n), -1).astype(int)
    own = np.where(r.random(n) < 0.33, around, np.round(around * r.lognormal(0, 0.4, n), -1)).astype(int)
    df = pd.DataFrame({"around": around, "lot": own, "house": np.round(own**0.5 * r.lognormal(2, 0.3, n), 0)})
    return df.mask(r.random(df.shape) < gaps) if gaps else df


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_numbers_that_are_often_equal_are_found_and_come_back(gaps):
    df = lots(gaps=gaps)
    schema = Schema.infer(df)
    frame = schema.validate(df)
    laws = find_laws(frame, schema, floor=5, rng=np.random.default_rng(0))
    assert {"lot often equals around", "around often equals lot"} & set(laws.texts)
    back = laws.restore(laws.express(frame), np.random.default_rng(0))
    pd.testing.assert_frame_equal(back, frame)
    again = Laws.from_json(laws.to_json(), schema)
    assert again == laws


def test_mere_neighbours_are_not_often_equal():
    r = np.random.default_rng(0)
    a = r.poisson(60, 3000)
    df = pd.DataFrame({"a": a, "b": a + r.integers(-6, 7, 3000)})  # equal in 8 % of the rows, as often as any other
    schema = Schema.infer(df)
    laws = find_laws(schema.validate(df), schema, floor=5, rng=np.random.default_rng(0))
    assert not any("often" in text for text in laws.texts)


def test_rows_are_written_with_the_share_the_grain_and_the_dependence():
    df = lots()
    model = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(df)
    rows = model.sample(3000, random_state=1)
    assert abs((rows["lot"] == rows["around"]).mean() - (df["lot"] == df["around"]).mean()) < 0.04
    assert (rows["lot"] % 10 == 0).mean() > 0.99
    for pair in (["lot", "around"], ["lot", "house"]):
        real, new = (t[pair].corr(method="spearman").iloc[0, 1] for t in (df, rows))
        assert abs(real - new) < 0.05, pair


def test_a_copied_number_has_no_probability_of_its_own():
    df = lots()
    model = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(df)
    target = next(t for t in ("lot", "around") if any(text.startswith(t) for text in model.fitted_.codec.laws.texts))
    logs = model.log_prob(df, by_column=True)
    equal = (df["lot"] == df["around"]).to_numpy()
    assert logs[target][equal].mean() > logs[target][~equal].mean() + 3


def test_conditions_hold_and_given_sentences_are_read():
    df = lots()
    model = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(df)
    usual = int(df["lot"].mode()[0])
    assert (model.sample(50, random_state=0, given={"lot": usual})["lot"] == usual).all()
    schema = Schema.infer(df)
    laws = given_laws(["lot often equals around"], schema.validate(df), schema, floor=5)
    assert laws.texts == ("lot often equals around",)
    assert "beside 'lot is around'" in laws.explain()["lot"]
    with pytest.raises(SchemaError, match="names a column twice"):
        parse("lot often equals lot", schema)


def prices(rng, n=2000):
    """Days of a share: it often opens or closes at its highest or lowest price; some prices have four decimals."""
    low = np.round(np.exp(rng.normal(4, 1, n)), 2)
    high = np.round(low * (1 + rng.gamma(1, 0.01, n)), 2)
    up = rng.random(n) < 0.5
    ends = rng.random((2, n)) < 0.5
    first, last = np.where(ends, [np.where(up, 0, 1), np.where(up, 1, 0)], rng.random((2, n)).round(2))
    prices = {name: np.round(low + (high - low) * part, 2) for name, part in (("open", first), ("close", last))}
    df = pd.DataFrame({**noise(rng, n), "high": high, "low": low, **prices})
    fine = rng.random(n) < 0.04
    df.loc[fine, ["open", "high", "low", "close"]] += np.array([0.0012, 0.0031, 0.0001, 0.0022])
    return df


def test_orders_that_always_hold_decide_which_of_two_equal_columns_is_copied():
    rng = np.random.default_rng(0)
    df = prices(rng)
    schema = Schema.infer(df)
    laws = find_laws(schema.validate(df), schema, floor=5, rng=rng)
    drawn = shuffled(laws.express(schema.validate(df)), rng)
    rows = laws.restore(drawn, rng)
    assert any("often equals" in text for text in laws.texts)
    assert (rows["high"] >= rows[["open", "low", "close"]].max(axis=1)).all()
    assert (rows["low"] <= rows[["open", "high", "close"]].min(axis=1)).all()
    whole_cents = [np.isclose(rows[name].round(2), rows[name]).mean() for name in ("open", "high", "low", "close")]
    assert min(whole_cents) > 0.9  # 0.96 of the table; a value that is moved stays as round as it was


def test_what_is_often_equal_to_a_column_is_no_difference_from_another():
    r = np.random.default_rng(0)
    sold = r.integers(200, 3000, 1000) * 100
    asked = sold + r.integers(0, 60, 1000) * 100
    first = np.where(r.random(1000) < 0.6, asked, asked + r.integers(1, 100, 1000) * 100)
    df = pd.DataFrame({"first": first, "asked": asked, "sold": sold})
    texts = find_laws(df, Schema.infer(df), floor=5, rng=np.random.default_rng(0)).texts
    assert "first often equals asked" in texts
    assert "first ~ sold" not in texts


def test_orders_that_follow_from_two_on_both_sides_of_a_column_are_kept_too():
    r = np.random.default_rng(0)
    df = pd.DataFrame({"cards": r.integers(0, 9, 500)})
    df["sound"] = df["cards"] + r.integers(0, 9, 500)
    df["open"] = df["sound"] + r.integers(0, 9, 500)
    schema = Schema.infer(df)
    orders = [AtLeast("sound", ("cards",)), AtLeast("open", ("sound",), downward=True)]
    chosen = [c.law for c in greedy([Candidate(order, 1.0, exact=True, share=1.0) for order in orders], schema)]
    assert AtLeast("open", ("cards",), downward=True) in chosen
    laws = Laws(schema, tuple(law.learn(Frame.read(df, schema), 5) for law in in_order(limited(chosen), schema)))
    rows = laws.restore(df.apply(lambda column: r.permutation(column)), r)
    assert (rows["open"] >= rows["sound"]).all()
    assert (rows["sound"] >= rows["cards"]).all()
