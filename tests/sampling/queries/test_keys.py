"""Keys go on from call to call when asked, whatever the seeds of the calls."""

import uuid

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import ConfigError, TabTreeFormer

N = 60


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    df = pd.DataFrame(
        {
            "order_id": np.arange(100, 100 + N),
            "token": [str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in range(N)],
            "code": [f"K-{k:04d}" for k in rng.permutation(N)],
            "x": rng.normal(size=N),
        }
    )
    return TabTreeFormer("trees", random_state=0, verbose=False).fit(df)


def test_keys_of_several_calls_are_all_different(model):
    calls = [model.sample(50, random_state=seed, start_keys=50 * seed) for seed in range(3)]
    for name in ("order_id", "token", "code"):
        assert pd.concat(calls)[name].is_unique, name
    assert calls[1]["order_id"].min() == calls[0]["order_id"].max() + 1
    again = pd.concat([model.sample(5, random_state=seed) for seed in range(2)])
    assert not again["order_id"].is_unique  # unless asked, each call starts anew


def test_parts_of_a_stream_go_on_too(model, tmp_path):
    model.sample_to(tmp_path / "new.csv", 30, random_state=1, start_keys=1000)
    whole = model.sample(30, random_state=1, start_keys=1000)
    assert pd.read_csv(tmp_path / "new.csv")["order_id"].tolist() == whole["order_id"].tolist()


def test_the_number_of_rows_before_is_a_whole_one(model):
    with pytest.raises(ConfigError, match="start_keys must be a whole number of rows from 0"):
        model.sample(5, start_keys=-1)
