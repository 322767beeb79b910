import json

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.schema import Schema
from tabtreeformer.tokens import SlotKind, TableCodec


def learned(df, **config):
    schema = Schema.infer(df)
    return TableCodec.learn(df, schema, TokenConfig(**config))


def test_slots_are_in_table_order_with_the_bin_before_the_quantile(mixed):
    kinds = [(slot.column, slot.kind) for slot in learned(mixed).slots]
    assert kinds == [
        (0, SlotKind.BIN), (0, SlotKind.QUANTILE), (1, SlotKind.BIN), (1, SlotKind.QUANTILE),
        (2, SlotKind.CATEGORY), (3, SlotKind.CATEGORY), (4, SlotKind.CATEGORY), (5, SlotKind.CATEGORY),
    ]  # fmt: skip


def test_fitted_state_is_plain_json(mixed):
    codec = learned(mixed, quantiles=5)
    again = TableCodec.from_json(json.loads(json.dumps(codec.to_json())), codec.schema)
    ids = codec.encode(mixed)
    assert np.array_equal(again.encode(mixed), ids)
    pd.testing.assert_frame_equal(
        again.decode(ids, np.random.default_rng(1)), codec.decode(ids, np.random.default_rng(1))
    )


def test_a_table_comes_back_when_there_are_enough_ids(mixed):
    codec = learned(mixed, scheme="atoms")
    back = codec.decode(codec.encode(mixed), np.random.default_rng(0))
    pd.testing.assert_frame_equal(back.drop(columns=["age", "height in m"]), mixed.drop(columns=["age", "height in m"]))
    assert (back.dtypes == mixed.dtypes).all()
    quantiles = [i for i, slot in enumerate(codec.slots) if slot.kind == SlotKind.QUANTILE]
    assert np.array_equal(codec.encode(back)[:, quantiles], codec.encode(mixed)[:, quantiles])
    assert (back["age"] == mixed["age"]).mean() > 0.5


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_row_of_any_allowed_ids_decodes_to_values_of_the_schema(data):
    df = pd.DataFrame({"a": [1, 2, 9, 4], "b": [0.25, 0.5, 7.0, 1.0], "c": ["x", "y", "x", "z"]})
    codec = learned(df, quantiles=3)
    ids = np.array([[data.draw(st.integers(0, slot.size - 1)) for slot in codec.slots] for _ in range(4)])
    back = codec.decode(ids, np.random.default_rng(0))
    assert (back.dtypes == df.dtypes).all()
    assert back["a"].between(1, 9).all()
    assert back["b"].between(0.25, 7).all()
    assert set(back["c"]) <= set(df["c"])
