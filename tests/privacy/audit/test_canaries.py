"""Values that one row alone has are neither in the bytes of a model file nor in the rows that it writes."""

from __future__ import annotations

import struct

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.artifact.archive import read_archive
from tabtreeformer.errors import ConditionError
from tabtreeformer.privacy.audit import audit

N = 300
CANARIES = {
    "town": "Canaryville",
    "grade": "Unheard-of",
    "note": "met Zebedee Quagga at the dentist",
    "key": "XK-CANARY-99731",
    "order": 98_765_432_101,
    "visits": 7_654_321,
    "pay": 987_654.32,
    "share": 0.999876543211,
    "born": pd.Timestamp("1893-04-05"),
    "took": pd.Timedelta(seconds=86_313_601),
}
NEVER_KEPT = {"note", "key"}
"""Rare texts and keys are written anew whatever the floor."""


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Ten columns in which the first row has what no other has, and a combination of its own."""
    rng = np.random.default_rng(0)
    df = pd.DataFrame(
        {
            "town": rng.choice(["Köln", "Ulm", "Bern", "Oslo"], N),
            "plan": rng.choice(["gold", "free"], N),
            "grade": rng.choice(["good", "bad"], N),
            "note": [
                f"said {a} to {b} on the way" for a, b in zip(rng.permutation(N), rng.permutation(N), strict=True)
            ],
            "key": [f"C-{k:04d}" for k in rng.permutation(N)],
            "order": rng.permutation(N) + 1000,
            "visits": rng.poisson(3, N),
            "pay": np.round(rng.normal(3000, 500, N), 2),
            "share": rng.beta(5, 5, N),
            "born": pd.Timestamp("1990-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), unit="D"),
            "took": pd.to_timedelta(rng.integers(1, 900, N), unit="s"),
        }
    )
    df.loc[(df["town"] == "Ulm") & (df["plan"] == "gold"), "plan"] = "free"
    df.loc[1, ["town", "plan"]] = ["Ulm", "gold"]
    for name, value in CANARIES.items():
        df.loc[0, name] = value
    df["grade"] = df["grade"].astype("category")
    return df


def fit(table, path, floor: int):
    model = TabTreeFormer(
        target="plan",
        tree={"params": {"n_estimators": 6}},
        tokens={"rare_floor": floor},
        model={"width": 8, "feed_forward": 16, "heads": 1, "layers": 1},
        train={"steps": 12, "batch_size": 32, "validate_every": 4},
        sampling={"batch_size": 8192},
        random_state=0,
        verbose=False,
        device="cpu",
    ).fit(table)
    model.save(path)
    return model


@pytest.fixture(scope="module")
def protected(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("canaries") / "model.tabtree"
    return fit(table, path, 5), path


def forms(value) -> list[bytes]:
    """A value as it could stand in a file: as text, and as a number of 64 or 32 bits."""
    if isinstance(value, str):
        return [value.encode(), value.encode("utf-16-le")]
    if isinstance(value, pd.Timestamp):
        counts = [int(value.as_unit(unit).to_datetime64().astype(np.int64)) for unit in ("s", "ms", "us", "ns")]
        days = counts[0] // 86_400
        written = [str(value.date()).encode(), str(days).encode()]
        return written + [form for count in counts for form in forms(count)]
    if isinstance(value, pd.Timedelta):
        return [form for unit in ("s", "ms", "us", "ns") for form in forms(value.as_unit(unit)._value)]
    numbers = [repr(value).encode(), struct.pack("<d", value), struct.pack("<f", value)]
    return numbers + ([struct.pack("<q", value)] if isinstance(value, int) else [])


def found(path) -> set[str]:
    """Columns whose canary is anywhere in the unpacked bytes of a model file, or in the file as it is."""
    pieces = [*read_archive(path).values(), path.read_bytes()]
    return {name for name, value in CANARIES.items() if any(form in piece for form in forms(value) for piece in pieces)}


def test_no_canary_is_in_the_bytes_of_the_file(protected):
    assert found(protected[1]) == set()


def test_without_a_floor_the_same_search_finds_them(table, tmp_path):
    fit(table, tmp_path / "open.tabtree", 0)
    assert found(tmp_path / "open.tabtree") == set(CANARIES) - NEVER_KEPT


def test_the_audit_passes_with_a_floor_and_fails_without(protected, table, tmp_path):
    result = audit(protected[1], table)
    assert result.passed, [finding.sentence(True) for finding in result.findings]
    fit(table, tmp_path / "open.tabtree", 0)
    found_in = {finding.column for finding in audit(tmp_path / "open.tabtree", table).findings}
    assert {"town", "grade", "pay", "visits", "born"} <= found_in


def test_no_canary_is_in_a_hundred_thousand_rows(protected, table):
    rows = protected[0].sample(100_000, random_state=0)
    for name, value in CANARIES.items():
        assert not (rows[name] == value).any(), name
    assert (rows.dtypes.drop("grade") == table.dtypes.drop("grade")).all()
    assert list(rows["grade"].cat.categories) == ["bad", "good"]
    # A combination that one row has alone comes at most as often as if the two columns had nothing to do with each
    # other (and four standard deviations of chance): the model knows both values, and not that somebody has both.
    together = (rows["town"] == "Ulm") & (rows["plan"] == "gold")
    chance = (rows["town"] == "Ulm").mean() * (rows["plan"] == "gold").mean()
    assert together.mean() <= chance + 4 * np.sqrt(chance / len(rows))


def test_questions_about_a_rare_value_have_an_answer(protected, table):
    model = protected[0]
    with pytest.raises(ConditionError, match=r"'Canaryville' is not among .* protected as one group"):
        model.sample(2, given={"town": "Canaryville"})
    with pytest.raises(ConditionError, match="values go from"):
        model.sample(2, given={"pay": (900_000, 990_000)})
    assert np.isfinite(model.log_prob(table.iloc[:3])).all()
    assert model.predict(table.iloc[:2].drop(columns="plan"), "plan").isin(["gold", "free"]).all()
    holes = table.iloc[:2].copy()
    holes.loc[0, "pay"] = np.nan
    filled = model.impute(holes, random_state=0)
    assert filled.loc[0, "town"] == "Canaryville"  # what is given stays, whatever it is
    assert filled.loc[0, "pay"] < 10_000


def test_the_record_counts_what_was_merged_and_clipped(protected):
    facts = protected[0].fitted_.record["protected"]
    columns = {entry["column"]: entry for entry in facts["columns"]}
    assert facts["rare_floor"] == 5
    assert columns[0] == {"column": 0, "merged": 1}
    assert 1 <= columns[7]["clipped"] <= 20
