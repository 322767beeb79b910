"""The worked examples run as they stand, on fewer rows and with small settings."""

import importlib.util
import ipaddress
import re
import runpy
import unicodedata
from pathlib import Path

import pandas as pd
import pytest

from tabtreeformer.data.schema.meanings import is_iban

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(tiny):
    """The functions of an example, and the new rows that its `main` returns."""
    # Of the preset's own tokens, so that what comes back is what a user gets.
    settings = {name: tiny[name] for name in ("tree", "model", "train")}
    settings |= {"privacy": "off", "verbose": False}

    def run(name, **sizes):
        module = runpy.run_path(str(EXAMPLES / f"{name}.py"))
        return module, module["make"](**sizes), module["main"](**sizes, **settings)

    return run


def test_the_shop_keeps_its_keys_its_business_days_and_its_sums(run):
    module, df, new = run("retail", n_rows=300)
    assert (new.dtypes == df.dtypes).all()
    assert new["order_id"].str.fullmatch(r"R-\d{6}").all()
    for name in ("order_id", "token", "customer"):
        assert not set(new[name]) & set(df[name])
    assert new["ordered"].dt.day_of_week.lt(5).all()
    shipped = new.dropna(subset="shipped")
    assert (shipped["shipped"] >= shipped["ordered"]).all()
    assert (new["country"] == new["city"].map(module["CITIES"])).all()
    assert (new["total"] - new["quantity"] * new["price"]).abs().max() < 0.0051
    assert new["discount"].str.fullmatch(r"\d+%").all()


def test_the_clinic_keeps_its_gaps(run):
    _, df, new = run("clinic", n_rows=300)
    assert (new.dtypes == df.dtypes).all()
    assert (new.isna().any() == df.isna().any()).all()
    whole = new.dropna(subset="discharged")
    assert (whole["discharged"] >= whole["admitted"]).all()
    assert new["visit"].min() > df["visit"].max()


def test_the_sensors_keep_every_dtype_and_their_clock(run):
    _, df, new = run("sensors", n_rows=200, n_channels=14)
    assert (new.dtypes == df.dtypes).all()
    assert (new["time"].dt.minute % 10 == 0).all()
    for name in df.columns[3:]:
        # No end is that of a single row, but about there.
        span = df[name].max() - df[name].min()
        assert new[name].min() >= df[name].min() - span / 4
        assert new[name].max() <= df[name].max() + span / 4


def test_a_messy_file_is_read_as_what_it_means_and_written_in_its_dialect(run, tmp_path, capsys):
    module = runpy.run_path(str(EXAMPLES / "messy.py"))
    df = module["make"](n_rows=400)
    new = module["main"](n_rows=400, folder=str(tmp_path), preset="trees", verbose=False)
    said = capsys.readouterr().out
    assert "'-' was read as missing among the numbers of column 'rooms'" in said
    assert "day first" in said
    # Everything that has a form has it again, and nothing that names somebody comes back.
    assert pd.to_datetime(new["sold"], format="%d.%m.%Y").between("2020-06-01", "2025-06-01").all()
    assert new["entered"].str.fullmatch(r"\d{8}T000000").all()
    for name in ("house_id", "sale", "buyer name", "email", "phone", "iban", "link", "ip", "colour"):
        assert not set(new[name]) & set(df[name]), name
    assert all(ipaddress.ip_address(ip) in ipaddress.ip_network("192.168.0.0/16") for ip in new["ip"])
    assert all(is_iban(text) and text.startswith("DE") and len(text) == 22 for text in new["iban"])
    assert new["phone"].str.fullmatch(r"\+49 \d{3} \d{7}").all()
    assert new["plz"].str.fullmatch(r"\d{5}").all()
    assert new["colour"].str.fullmatch("#[0-9a-f]{6}").all()
    assert new["link"].str.match(r"https://example\.com/").all()
    assert new["rooms"].dropna().between(1, 9).all()
    assert 1 < new["house_id"].value_counts().max() < 10
    assert set(new["pool"]) <= set(module["POOLS"])
    # A person is one person: the mail has the name, and sales of one house have one buyer.
    if importlib.util.find_spec("faker"):
        given = new["buyer name"].str.split(" ").str[0].str.lower()
        assert all(mail.startswith(_plain(name)) for name, mail in zip(given, new["email"], strict=True))
        assert (new.groupby("house_id")["buyer name"].nunique() == 1).all()
    header, first = (tmp_path / "new.csv").read_text(encoding="utf-8").splitlines()[:2]
    assert header.count(";") == first.count(";") == df.shape[1] - 1
    assert re.search(r";\d+,\d;", first)


def _plain(name):
    for mark, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss")):
        name = name.replace(mark, letters)
    return "".join(c for c in unicodedata.normalize("NFKD", name) if "a" <= c <= "z")
