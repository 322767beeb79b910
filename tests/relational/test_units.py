"""Privacy counts persons, not rows."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import RelationalTabTreeFormer
from tabtreeformer.errors import ConfigError
from tabtreeformer.fitting.split import split_rows
from tabtreeformer.relational.audit import audit_database
from tabtreeformer.relational.source import Database
from tabtreeformer.relational.units import MIN_CAP, Units, within_cap
from tabtreeformer.relational.verdict import halves, main_unit

SETTINGS = {"preset": "trees", "random_state": 0, "verbose": False}


def accounts(n: int = 150, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Accounts with payments; account 0 has a purpose, ten times, that nobody else has."""
    rng = np.random.default_rng(seed)
    owner = np.sort(rng.integers(0, n, 6 * n))
    payments = pd.DataFrame({"account_id": owner, "amount": np.round(rng.gamma(2, 30, len(owner)), 2)})
    payments["purpose"] = rng.choice(["rent", "food", "fun"], len(owner))
    mine = payments.index[payments["account_id"] == 0]
    extra = pd.DataFrame({"account_id": 0, "amount": 31.7, "purpose": "alimony Schmidt"}, index=range(10))
    payments = pd.concat([payments, extra], ignore_index=True)
    assert len(mine) < len(payments)
    return {"accounts": pd.DataFrame({"id": range(n), "kind": rng.choice(["a", "b"], n)}), "payments": payments}


def units_of(tables: dict[str, pd.DataFrame], unit: str | None = None) -> tuple[Units, Database]:
    from tabtreeformer.data.link_search import find_links

    source = Database(tables, find_links(tables), {}, {}).described()
    return Units.of(tables, source.plans(), source.parents(), unit), source


def test_a_value_that_only_one_person_has_is_not_written_however_often_it_occurs():
    new = RelationalTabTreeFormer(privacy="off", **SETTINGS).fit(accounts()).sample(scale=3, random_state=0)
    assert "alimony Schmidt" not in set(new["payments"]["purpose"])
    assert {"rent", "food", "fun"} <= set(new["payments"]["purpose"])


def test_the_file_does_not_hold_the_value_of_one_person(tmp_path):
    model = RelationalTabTreeFormer(privacy="off", **SETTINGS).fit(accounts())
    model.save(tmp_path / "bank.tabtree")
    import zipfile

    with zipfile.ZipFile(tmp_path / "bank.tabtree") as archive:
        assert not any(b"alimony" in archive.read(name) for name in archive.namelist())


def test_rows_belong_to_the_topmost_parent_that_has_enough_rows():
    tables = accounts()
    units, _ = units_of(tables)
    assert units.table == {"accounts": "accounts", "payments": "accounts"}
    assert (units.numbers["payments"] == tables["payments"]["account_id"]).all()
    few = {name: frame[frame.iloc[:, 0] < 40].reset_index(drop=True) for name, frame in tables.items()}
    assert units_of(few)[0].table["payments"] == "payments"
    assert units_of(few, "accounts")[0].table["payments"] == "accounts"
    with pytest.raises(ConfigError, match="unit='people' is not a table"):
        units_of(tables, "people")


def test_all_rows_of_a_person_are_learned_by_the_same_network():
    units = np.repeat(np.arange(40), 7)
    (first, second), (again, _) = split_rows(len(units), np.random.default_rng(0), units)
    assert not set(units[first]) & set(units[second])
    assert sorted([*first, *second]) == list(range(len(units)))
    assert abs(len(first) - len(second)) <= 14
    assert (again == second).all()


def test_halves_of_a_database_share_nobody_and_their_keys_match():
    tables = accounts()
    units, source = units_of(tables)
    unit = main_unit(units, source)
    assert unit == "accounts"
    one, other = halves(units, source, unit, np.random.default_rng(0))
    for name in tables:
        assert len(one.tables[name]) + len(other.tables[name]) == len(tables[name])
    for part in (one, other):
        assert set(part.tables["payments"]["account_id"]) <= set(part.tables["accounts"]["id"])
    assert not set(one.tables["accounts"]["id"]) & set(other.tables["accounts"]["id"])


def test_a_person_with_thousands_of_rows_has_a_limited_say(capsys):
    units = np.concatenate([np.zeros(3_000, dtype=int), np.arange(1, 200)])
    assert np.bincount(units[within_cap(units)])[0] == MIN_CAP
    tables = accounts()
    giant = pd.DataFrame({"account_id": 7, "amount": 999.0, "purpose": "rent"}, index=range(3_000))
    tables["payments"] = pd.concat([tables["payments"], giant], ignore_index=True)
    model = RelationalTabTreeFormer("trees", privacy="off", random_state=0, verbose=True).fit(tables)
    assert "rows are dropped" in capsys.readouterr().err
    payments = model.sample(random_state=0)["payments"]
    assert (payments["amount"] == 999.0).mean() < 0.1
    assert payments.groupby("account_id").size().max() < 100


def test_the_verdict_is_on_persons_and_a_copy_of_them_fails(monkeypatch):
    tables = accounts()
    model = RelationalTabTreeFormer(**SETTINGS).fit(tables)
    assert model.privacy_["unit"] == "accounts"
    assert model.privacy_["verdict"] in ("pass", "fail")
    assert {"dcr", "membership", "membership_density"} <= set(model.privacy_["measures"])
    from tabtreeformer._runtime.progress import Silent
    from tabtreeformer.relational.verdict import judge_database

    units, source = units_of(tables)
    copied = judge_database(
        source, units, lambda part, seed: part.tables, "balanced", np.random.SeedSequence(0), Silent()
    )
    assert copied["verdict"] == "fail"
    assert copied["reasons"]


def test_too_few_persons_have_no_verdict():
    tables = accounts(30)
    model = RelationalTabTreeFormer(unit="accounts", **SETTINGS).fit(tables)
    assert model.privacy_["verdict"] == "not judged"
    assert "30" in model.privacy_["reasons"][0]


def with_canary(number: float = 8731.46925) -> dict[str, pd.DataFrame]:
    """Accounts of which one has a text of its own ten times, and an amount of its own thirty times."""
    tables = accounts()
    extra = pd.DataFrame({"account_id": 3, "amount": number, "purpose": "rent"}, index=range(30))
    return tables | {"payments": pd.concat([tables["payments"], extra], ignore_index=True)}


@pytest.mark.parametrize("floor", [5, 0])
def test_the_audit_finds_what_one_person_has_however_often(tmp_path, floor):
    tables = with_canary()
    model = RelationalTabTreeFormer(privacy="off", tokens={"rare_floor": floor}, **SETTINGS).fit(tables)
    model.save(tmp_path / "bank.tabtree")
    found = audit_database(tmp_path / "bank.tabtree", tables)
    assert found.passed == (floor == 5), [finding.sentence(True) for finding in found.findings]
    kinds = {(finding.kind, finding.column) for finding in found.findings}
    assert not kinds or kinds >= {("rare text", "payments.purpose"), ("rare value", "payments.amount")}
    with pytest.raises(ConfigError, match="'payments' is missing"):
        audit_database(tmp_path / "bank.tabtree", {"accounts": tables["accounts"]})


def test_differential_privacy_is_refused_with_the_way_out():
    from tabtreeformer import DP

    with pytest.raises(ConfigError, match="Make one row per unit"):
        RelationalTabTreeFormer(dp=DP(epsilon=4))
