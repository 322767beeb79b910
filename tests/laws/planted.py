"""Tables with laws planted in them, for tests of the searches."""

import numpy as np
import pandas as pd

from tabtreeformer.data.schema import Schema
from tabtreeformer.laws import Frame
from tabtreeformer.laws.search import Search


def noise(rng, n):
    """Columns that nothing depends on."""
    return {
        "noise_label": rng.choice(list("abcdef"), n),
        "noise_count": rng.poisson(3, n),
        "noise_number": np.round(rng.normal(50, 12, n), 2),
        "noise_flag": rng.random(n) < 0.3,
    }


def shuffled(df, rng):
    """Every column shuffled on its own: no law is left."""
    return pd.DataFrame({name: df[name].to_numpy()[rng.permutation(len(df))] for name in df})


def search(df, seed=0, floor=5):
    schema = Schema.infer(df)
    return Search.begin(Frame.read(df, schema), floor, np.random.default_rng(seed))


def texts(find, df, seed=0):
    return [candidate.law.text for candidate in find(search(df, seed))]


def round_trip(law, df, seed=0):
    """The table after a law took away what it determines and gave it back."""
    schema = Schema.infer(df)
    expressed = law.express(Frame.read(df, schema)).table()
    frame = Frame.read(expressed, law.reshape(schema))
    return law.restore(frame, np.random.default_rng(seed), schema).table()
