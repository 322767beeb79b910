"""A frame hands through what no law touches, and writes what one does in the column's own dtype."""

import numpy as np
import pandas as pd

from tabtreeformer.data.schema import Schema
from tabtreeformer.laws import Cells, Frame, Laws
from tabtreeformer.laws.base import replaced


def table():
    return pd.DataFrame(
        {
            "a": pd.array([1, None, 3], dtype="Int16"),
            "t": pd.to_datetime(["2024-01-01", None, "2024-01-03"]),
            "label": pd.Categorical(["x", None, "y"]),
        }
    )


def test_a_frame_comes_back_to_the_bit_read_or_unread():
    df = table()
    frame = Frame.read(df, Schema.infer(df))
    pd.testing.assert_frame_equal(frame.table(), df)
    cells = {name: frame.cells(name) for name in df.columns}
    pd.testing.assert_frame_equal(frame.changed(frame.schema, cells).table(), df)
    pd.testing.assert_frame_equal(frame.take(np.array([2, 0])).table(), df.iloc[[2, 0]].reset_index(drop=True))


def test_a_column_is_replaced_in_its_place():
    df = table()
    schema = Schema.infer(df)
    frame = Frame.read(df, schema)
    shorter = frame.changed(replaced(schema, "t", []), {"a": Cells(np.array([7, 8, 9]), np.zeros(3, dtype=bool))})
    assert list(shorter.table()) == ["a", "label"]
    assert shorter.table()["a"].tolist() == [7, 8, 9]
    assert shorter.table()["a"].dtype == "Int16"


def test_no_laws_change_nothing():
    df = table()
    laws = Laws(Schema.infer(df))
    assert laws.express(df) is df
    assert laws.restore(df, np.random.default_rng(0)) is df
    assert Laws.from_json(laws.to_json(), laws.schema) == laws
