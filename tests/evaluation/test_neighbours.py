from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.metrics.pairwise import cosine_distances
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer

from tabtreeformer._runtime.progress import Silent
from tabtreeformer.data.schema import Schema
from tabtreeformer.evaluation.encoding import Table, encode
from tabtreeformer.evaluation.metrics import neighbours
from tabtreeformer.evaluation.metrics.neighbours import Neighbours, Quantiles, Space

SINGLE = 1e-6
"""What single precision leaves of a distance."""


def search(queries: Table, reference: Table) -> Neighbours:
    return Space(reference).nearest(queries, Silent(), "")


def brute_force(queries: pd.DataFrame, reference: pd.DataFrame) -> np.ndarray:
    """Every distance, as scikit-learn computes it, (n, N)."""
    numbers = [name for name in reference if pd.api.types.is_numeric_dtype(reference[name].dtype)]
    texts = [name for name in reference if name not in numbers]
    scale = QuantileTransformer(n_quantiles=min(1000, len(reference)), subsample=None)
    transformer = make_column_transformer((scale, numbers), (OneHotEncoder(handle_unknown="ignore"), texts))
    transformer.fit(reference)
    return cosine_distances(transformer.transform(queries), transformer.transform(reference))


def encoded(*frames: pd.DataFrame) -> list[Table]:
    return list(encode({str(place): frame for place, frame in enumerate(frames)}, Schema.infer(frames[0])).values())


@pytest.fixture(params=["mixed", "numbers", "categories", "many categories", "unseen categories"])
def frames(request, train, test) -> tuple[pd.DataFrame, pd.DataFrame]:
    if request.param == "numbers":
        return train[["age", "pay", "tax"]], test[["age", "pay", "tax"]]
    if request.param == "categories":
        return train[["city", "owner"]].assign(more=train["age"].astype(str)), test.assign(more=test["age"].astype(str))
    if request.param == "many categories":
        rounded = [
            {
                "shop": df["pay"].round(-1).astype(str).astype("category"),
                "day": df["tax"].round(0).astype(str).astype("category"),
            }
            for df in (train, test)
        ]
        return train.assign(**rounded[0]), test.assign(**rounded[1])
    if request.param == "unseen categories":
        return train, test.assign(city=np.where(test["age"] > 50, "Rom", test["city"]))
    return train, test


@pytest.mark.parametrize("blocks", [(512, 4096), (7, 13)], ids=["one block", "many ragged blocks"])
def test_distances_are_those_of_scikit_learn(frames, blocks, monkeypatch):
    monkeypatch.setattr(neighbours, "BLOCK_QUERIES", blocks[0])
    monkeypatch.setattr(neighbours, "BLOCK_ROWS", blocks[1])
    train, queries = frames[0], frames[1][list(frames[0])]
    tables = encoded(train, queries)
    found = search(tables[1], tables[0])
    every = brute_force(queries, train)
    np.testing.assert_allclose(found.distances, np.sort(every, axis=1)[:, :2], atol=SINGLE)
    at_rows = np.take_along_axis(every, found.rows, axis=1)
    np.testing.assert_allclose(at_rows, found.distances, atol=SINGLE)
    assert (found.rows[:, 0] != found.rows[:, 1]).all()


def test_equal_rows_are_at_distance_zero_exactly(train):
    (table,) = encoded(train)
    assert (search(table, table).distances[:, 0] == 0).all()


def test_a_row_of_zeros_is_as_far_from_itself_as_from_any_other():
    (table,) = encoded(pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [0.0, 1.0, 2.0]}))
    distances = search(table, table).distances
    assert distances[0].tolist() == [1, 1]
    assert distances[1:, 0].tolist() == [0, 0]


def test_a_single_reference_row_has_no_second():
    table, one = encoded(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), pd.DataFrame({"a": [1, 2], "b": ["x", "x"]}))
    found = search(table, one.take(np.array([0])))
    assert np.isnan(found.distances[:, 1]).all()
    assert found.rows[:, 0].tolist() == [0, 0]


def test_missing_numbers_stand_at_the_median():
    gap, filled = (pd.DataFrame({"a": [1.0, 2, middle, 3, 9], "b": list("xxyyx")}) for middle in (np.nan, 2.5))
    table, other = encoded(gap, filled)
    assert search(other, table).distances[2, 0] == 0


@pytest.mark.parametrize("n_rows", [2, 7, 999, 1000, 1001, 5000])
@pytest.mark.parametrize("kind", ["spread", "tied", "constant"])
def test_quantiles_are_those_of_scikit_learn_to_the_last_bit(n_rows, kind):
    rng = np.random.default_rng(n_rows)
    make = {
        "spread": lambda: rng.normal(size=n_rows),
        "tied": lambda: rng.zipf(1.3, n_rows).clip(max=10**6).astype(float),
        "constant": lambda: np.full(n_rows, 0.3),
    }[kind]
    learned, asked = make(), np.concatenate([make(), [-1e9, 1e9]])
    theirs = QuantileTransformer(n_quantiles=min(1000, n_rows), subsample=None).fit(learned[:, None])
    np.testing.assert_array_equal(Quantiles(learned)(asked), theirs.transform(asked[:, None])[:, 0])


MANY = """
import json, resource
import numpy as np, scipy.stats
from tabtreeformer.evaluation.context import Context
from tabtreeformer.evaluation.encoding import Feature, Table
from tabtreeformer.evaluation.attacks.distances import copies, dcr
from tabtreeformer.evaluation.references import Tables

def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

rng, half = np.random.default_rng(0), 25
sizes = [20 * (place + 1) for place in range(half)]
features = tuple(Feature(f"n{place}", False) for place in range(half))
features += tuple(Feature(f"c{place}", True, tuple(map(str, range(size))), size) for place, size in enumerate(sizes))

def table(n_rows):
    numbers = [rng.random(n_rows) for _ in range(half)]
    return Table(features, (*numbers, *(rng.integers(1, size + 1, n_rows, dtype=np.int32) for size in sizes)))

tables = Tables(table(300_000), table(200), table(200))
before = peak_mib()
values = dcr(tables, Context()).value, copies(tables, Context()).value
print(json.dumps({"mib": peak_mib() - before, "values": values}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is counted in other units elsewhere")
def test_many_rows_of_fifty_columns_are_searched_in_bounded_memory():
    """Every distance would take 458 MiB, the one-hot matrix 7 GiB; the table itself is 86 MiB."""
    run = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["mib"] < 260
    assert report["values"][0] > 0.001
    assert report["values"][1] == 0
