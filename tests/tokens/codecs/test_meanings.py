"""Texts with a meaning are made up by it, and none that was learned from comes back."""

import importlib.util
import ipaddress
import json
import re

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import Schema, TabTreeFormer
from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.schema.meanings import find_meaning, is_iban
from tabtreeformer.tokens.codecs.key_repeats import learn_repeats, shared_numbers
from tabtreeformer.tokens.codecs.row_numbers import RowNumbers
from tabtreeformer.tokens.codecs.spaces import Part
from tabtreeformer.tokens.codecs.stand_ins import StandIn, _letters, with_stand_ins, words_of
from tabtreeformer.tokens.codecs.templates import Template, Templates
from tabtreeformer.tokens.codecs.unlearned import TextCodec
from tabtreeformer.tokens.table_codec import TableCodec

FAKER = importlib.util.find_spec("faker") is not None
CONFIG = TokenConfig(scheme="atoms", quantiles=20, rare_floor=5)


@pytest.mark.parametrize(
    ("name", "texts", "meaning"),
    [
        ("x", ["a@b.de", "c.d+e@f.co.uk"], "email"),
        ("x", ["https://a.de/b?c", "www.x.org"], "url"),
        ("x", ["192.168.1.1", "10.0.0.7"], "ipv4"),
        ("x", ["192.168.1.1", "10.0.0.777"], None),
        ("x", ["2001:db8::1", "fe80::2"], "ipv6"),
        ("x", ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"], "iban"),
        ("x", ["DE88370400440532013000", "GB82WEST12345698765433"], None),
        ("x", ["+49 151 123456", "+1 (555) 123-4567"], "phone"),
        ("phone", ["0151 1234567", "030/123456"], "phone"),
        ("x", ["0151 1234567", "030/123456"], None),
        ("plz", ["01067", "99998"], "postal code"),
        ("Zip Code", ["12345-6789", "12345"], "postal code"),
        ("x", ["#a1b2c3", "#00ff00"], "hex"),
        ("x", ['{"a": 1}', "[]"], "json"),
        ("x", ["['a', 'b']", "[]"], "json"),
        ("Full Name", ["Ada Moor", "Ben Ek"], "person"),
        ("product name", ["Blue Chair", "Red Lamp"], None),
        ("name", ["Ada Moor", "Ben Ek"], "person"),
        ("name", [f"{a}{b} Airport" for a in "ABCDEFGH" for b in "abcdefgh"], None),
        ("name", [f"{a}{b}, Mr. {b.upper()}{a.lower()}" for a in "ABCDEFGH" for b in "ijklmnop"], "person"),
        ("Name", ["Duke of York", "King George"], None),
        ("Vorname", ["Anna", "Bernd"], "first name"),
        ("city", ["Ulm", "Bern"], "city"),
        ("city", ["1", "2"], None),
        ("x", ["20141013T000000", "20141014T000000"], None),
        ("x", ["+12.5", "+13.5"], None),
        ("x", ["1.000,00 €", "2.000,00 €"], None),
    ],
)
def test_texts_are_known_by_their_form_or_by_the_name_of_their_column(name, texts, meaning):
    assert find_meaning(name, texts) == meaning


def made(meaning, texts, n=500):
    maker = Templates.from_json(json.loads(json.dumps(Templates.learn(meaning, texts, 5).to_json())))
    new = maker.write(RowNumbers.first(n), np.random.default_rng(0))
    assert not set(new) & set(texts)
    return new


def test_addresses_of_computers_are_possible_ones():
    rng = np.random.default_rng(0)
    home = [f"192.168.{a}.{b}" for a, b in rng.integers(0, 256, (200, 2))]
    away = [f"{a}.{b}.7.9" for a, b in rng.integers(20, 150, (200, 2))]
    new = [ipaddress.ip_address(text) for text in made("ipv4", [*home, *away])]
    assert 0.3 < np.mean([ip in ipaddress.ip_network("192.168.0.0/16") for ip in new]) < 0.7
    assert all(
        ip in ipaddress.ip_network("192.168.0.0/16") or ip in ipaddress.ip_network("198.18.0.0/15") for ip in new
    )


def test_account_numbers_pass_their_own_check_and_keep_their_country():
    def iban(number):
        digits = f"{number:018d}"
        return f"DE{98 - int(digits + '131400') % 97:02d}{digits}"

    texts = [iban(int(n)) for n in np.random.default_rng(0).integers(10**17, 10**18, 50)]
    assert all(is_iban(text) for text in texts)
    assert all(is_iban(text) and re.fullmatch(r"DE\d{20}", text) for text in made("iban", texts))


def test_phones_and_postal_codes_keep_their_length_and_country():
    rng = np.random.default_rng(0)
    phones = [f"+49 {a} {b}" for a, b in zip(rng.integers(150, 180, 99), rng.integers(10**6, 10**7, 99), strict=True)]
    assert all(re.fullmatch(r"\+49 \d{3} \d{7}", text) for text in made("phone", phones))
    codes = [f"{n:05d}" for n in rng.integers(99000, 99999, 60)]
    new = Templates.learn("postal code", codes, 5).write(RowNumbers.first(300), rng)
    assert all(re.fullmatch(r"99\d{3}", text) for text in new)


def test_no_area_code_begins_with_digits_that_none_begins_with():
    rng = np.random.default_rng(0)
    real = [f"({rng.integers(200, 1000)}) {rng.integers(200, 1000)}-{rng.integers(10_000):04d}" for _ in range(300)]
    assert all(re.fullmatch(r"\([2-9]\d\d\) [2-9]\d\d-\d{4}", text) for text in made("phone", real))


def test_phones_that_only_their_column_tells_from_codes_keep_their_form():
    rng = np.random.default_rng(0)
    real = [f"0{rng.integers(151, 180)}/{rng.integers(10**6, 10**7)}" for _ in range(300)]
    assert all(re.fullmatch(r"01[5-7]\d/\d{7}", text) for text in made("phone", real))


def test_postal_codes_of_few_rows_each_are_those_of_their_town():
    rng = np.random.default_rng(0)
    towns = rng.choice(["Ulm", "Kiel"], 800)
    codes = [f"{(89_000 if town == 'Ulm' else 24_000) + rng.integers(100)}" for town in towns]
    df = pd.DataFrame({"town": towns, "plz": pd.Series(codes, dtype="str")})
    model = TabTreeFormer("trees", random_state=0, privacy="off").fit(df)
    new = model.sample(200, random_state=0)
    assert model.fitted_.schema.columns[1].kind == "text"
    assert (new["plz"].str[:2] == new["town"].map({"Ulm": "89", "Kiel": "24"})).mean() > 0.95


def test_a_template_has_a_place_for_each_of_its_texts():
    template = Template(r"\+\4\910A\-h")
    assert template.size == 9 * 10 * 26 * 16
    for place in (0, 1, 777, template.size - 1):
        assert template.place(template.write(place, np.random.default_rng(0))) == place
    assert template.place("+4905A-f") == -1


@pytest.mark.parametrize("size", [1, 7, 1000, 10**15])
def test_numbers_that_are_scattered_can_be_gathered(size):
    numbers = np.arange(min(size, 2000))
    assert (RowNumbers(RowNumbers(numbers, 3).scattered(size), 3).gathered(size) == numbers).all()


def test_a_free_part_of_a_space_holds_no_known_place_and_each_of_its_own_once():
    known = np.random.default_rng(0).integers(0, 10**6, 500)
    part = Part.free_of(known.tolist(), 10**6, 100, np.random.default_rng(1))
    new = part.places(RowNumbers.first(900), 10**6)
    assert len(set(new.tolist())) == 900
    assert not set(new.tolist()) & set(known.tolist())


def test_where_a_code_begins_follows_the_row():
    rng = np.random.default_rng(0)
    town = rng.choice(["Köln", "Ulm"], 600)
    codes = [f"{'50' if t == 'Köln' else '89'}{n:03d}" for t, n in zip(town, rng.integers(0, 900, 600), strict=True)]
    df = pd.DataFrame({"town": town, "plz": codes})
    rows = (
        TabTreeFormer("trees", constraints=None, privacy="off", random_state=0, verbose=False)
        .fit(df)
        .sample(300, random_state=0)
    )
    assert (rows["plz"].str[:2] == rows["town"].map({"Köln": "50", "Ulm": "89"})).mean() > 0.95


def test_no_letter_is_made_up_that_no_text_began_with():
    rng = np.random.default_rng(0)
    decks = rng.choice(list("ABCDE"), 300)
    texts = pd.Series([f"{deck}{n}" for deck, n in zip(decks, rng.integers(1, 150, 300), strict=True)] + ["T1"])
    schema = Schema.infer(pd.DataFrame({"cabin": texts, "x": 1.5}))
    codec = TextCodec.learn(texts, schema.column("cabin").with_kind("text"), CONFIG)
    new = codec.decode(np.full((200, 1), len(codec.labels.values)), rng)
    assert set(pd.Series(new).str[0]) == {"A"}  # one id per deck
    assert codec.slots(0)[0].size == len(codec.labels.values) + 5


def test_mails_that_many_rows_have_are_not_kept():
    df = pd.DataFrame({"mail": [f"p{k % 30}@firm.de" for k in range(300)], "x": np.arange(300) % 7})
    rows = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(df).sample(100, random_state=0)
    assert not set(rows["mail"]) & set(df["mail"])
    assert rows["mail"].str.fullmatch(r"[\w.]+@example\.(com|org|net)").all()


def test_keys_that_rows_share_are_shared_again():
    rng = np.random.default_rng(0)
    owners = np.sort(rng.integers(0, 700, 1000))
    df = pd.DataFrame({"house_id": 5000 + 3 * owners, "price": rng.normal(size=1000)})
    assert Schema.infer(df).column("house_id").kind == "identifier"
    rows = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(df).sample(1000, random_state=0)
    assert not set(rows["house_id"]) & set(df["house_id"])
    shares = [t["house_id"].value_counts().value_counts(normalize=True) for t in (df, rows)]
    assert (shares[0] - shares[1]).abs().dropna().max() < 0.06
    assert learn_repeats(pd.Series(range(50)), 5) == ()
    first, second = (shared_numbers(RowNumbers(np.arange(a, b), 7), (0.5, 0.5)).numbers for a, b in ((0, 9), (4, 9)))
    assert (first[4:] == second).all()  # parts can be written anywhere


def test_dates_that_a_few_words_stand_between_are_dates_again():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 330, 200), unit="D")
    texts = pd.Series([f"{d.month}/{d.day}/{d.year}" for d in days])
    texts[::29] = [f"see note {k}" for k in range(len(texts[::29]))]
    schema = Schema.infer(pd.DataFrame({"due": texts, "x": 1.5}))
    codec = TextCodec.learn(texts, schema.column("due"), CONFIG)
    codec = TextCodec.from_json(json.loads(json.dumps(codec.to_json())))
    new = codec.decode(np.full((300, 1), len(codec.labels.values)), rng)
    assert pd.to_datetime(pd.Series(new), format="%m/%d/%Y").dt.year.eq(2024).all()
    assert not any(re.search("(^|/)0", text) for text in new)


def test_public_values_survive_however_rare_they_are():
    df = pd.DataFrame({"pool": ["none"] * 290 + ["good"] * 8 + ["best", "odd"], "x": np.arange(300) % 9})
    schema = Schema.infer(df).with_public("pool", values=["none", "good", "best", "never"])
    codec = TableCodec.learn(df, schema, CONFIG).columns[0]
    assert codec.inner.known_values().values == ("none", "good", "best", "never")
    assert codec.encode(df["pool"].tail(2)).ravel().tolist() == [2, 0]  # one odd row alone is taken for the commonest


# ---- people


def people(n=300):
    rng, words = np.random.default_rng(0), words_of("de_DE")
    first, last = rng.choice(words.firsts, n), rng.choice(words.lasts, n)
    names = [f"{a} {b}" for a, b in zip(first, last, strict=True)]
    return pd.DataFrame({"Name": names, "Vorname": first, "Nachname": last, "email": [f"k{i}@web.de" for i in range(n)],
                         "Ort": rng.choice(words.cities, n), "PLZ": [f"{k:05d}" for k in rng.integers(1e3, 99999, n)],
                         "x": rng.normal(size=n)})  # fmt: skip


@pytest.mark.skipif(not FAKER, reason="faker is not installed: pip install 'tabtreeformer[fakes]'")
def test_a_person_is_one_person_and_nobody_of_the_table(tmp_path):
    df = people()
    model = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(df)
    assert "de_DE" in model.fitted_.codec.schema.column("Name").stand_in
    model.save(tmp_path / "m.tabtree")
    rows = TabTreeFormer.load(tmp_path / "m.tabtree", verbose=False).sample(400, random_state=0)
    assert not set(rows["Name"]) & set(df["Name"])
    made_up = ~rows["Vorname"].isin(df["Vorname"].value_counts().loc[lambda c: c >= 5].index)
    made_up &= ~rows["Nachname"].isin(df["Nachname"].value_counts().loc[lambda c: c >= 5].index)
    new = rows[made_up]
    assert len(new) > 100
    assert (new["Name"] == new["Vorname"] + " " + new["Nachname"]).all()
    assert rows["email"].str.fullmatch(r"[a-z]+\.[a-z]+\d*@example\.(com|org|net)").all()
    towns = rows[~rows["Ort"].isin(df["Ort"].value_counts().loc[lambda c: c >= 5].index)]
    assert (towns.groupby("Ort")["PLZ"].nunique() == 1).all()  # a town has one code
    assert rows["PLZ"].str.fullmatch(r"\d{5}").all()


@pytest.mark.skipif(not FAKER, reason="faker is not installed: pip install 'tabtreeformer[fakes]'")
def test_no_pair_of_names_of_the_table_is_ever_made_up():
    df = people(2000)[["Name", "x"]]
    rows = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(df).sample(3000, random_state=0)
    assert not set(rows["Name"]) & set(df["Name"])


@pytest.mark.skipif(not FAKER, reason="faker is not installed: pip install 'tabtreeformer[fakes]'")
@pytest.mark.skipif(not FAKER, reason="the extra fakes is absent")
def test_the_house_number_stands_where_the_country_writes_it():
    made = {
        locale: StandIn("address", locale, words_of(locale).digest, Part(1, 0), "x") for locale in ("en_US", "de_DE")
    }
    assert re.match(r"\d+ \D", made["en_US"].example)
    assert re.match(r"\D+ \d+, \d{5} ", made["de_DE"].example)


def test_without_the_words_placeholders_are_written(monkeypatch):
    df = people()[["Name", "x"]]
    model = TabTreeFormer("trees", privacy="off", random_state=0, verbose=False).fit(df)
    from tabtreeformer.errors import MissingExtraError
    from tabtreeformer.tokens.codecs import stand_ins

    def absent(locale):
        raise MissingExtraError("faker is not installed")

    monkeypatch.setattr(stand_ins, "words_of", absent)
    assert model.sample(3)["Name"].tolist() == ["Name 1", "Name 2", "Name 3"]
    schema = Schema.infer(df)
    assert with_stand_ins(schema, df) is schema


def named(n=400):
    """Names with mails and the sex that goes with them."""
    words = words_of("en_US")
    r = np.random.default_rng(0)
    women, men = sorted(words.women), sorted(words.men)
    female = r.random(n) < 0.4
    first = np.where(female, r.choice(women, n), r.choice(men, n))
    last = r.choice(words.lasts, n)
    return pd.DataFrame(
        {
            "name": [f"{a} {b}" for a, b in zip(first, last, strict=True)],
            "email": [f"{a}.{b}@mail.org".lower() for a, b in zip(first, last, strict=True)],
            "sex": np.where(female, "f", "m"),
        }
    )


@pytest.mark.skipif(not FAKER, reason="faker is not installed: pip install 'tabtreeformer[fakes]'")
def test_made_up_names_agree_with_the_sex_and_the_mail_of_their_row():
    df, words = named(), words_of("en_US")
    codec = TableCodec.learn(df, Schema.infer(df), CONFIG)
    rows = codec.decode(codec.encode(df), np.random.default_rng(0))
    first = rows["name"].str.split().str[0]
    assert first[rows["sex"] == "f"].isin(words.women).mean() > 0.97
    assert first[rows["sex"] == "m"].isin(words.men).mean() > 0.97
    assert (rows["email"].str.split(".").str[0] == first.map(_letters)).all()
    assert not set(rows["name"]) & set(df["name"])
    again = TableCodec.from_json(json.loads(json.dumps(codec.to_json())), codec.schema)
    assert again.decode(codec.encode(df), np.random.default_rng(0)).equals(rows)


@pytest.mark.skipif(not FAKER, reason="faker is not installed: pip install 'tabtreeformer[fakes]'")
@pytest.mark.skipif(not FAKER, reason="faker is not installed: pip install 'tabtreeformer[fakes]'")
def test_no_made_up_name_contradicts_the_sex_of_a_row_whose_own_name_both_have():
    words, r = words_of("de_DE"), np.random.default_rng(0)
    both = [name for name in words.firsts if name not in words.women | words.men]
    pools = {"w": sorted(words.women), "m": [*sorted(words.men)[:200], *both * 5]}
    sex = r.choice(["w", "m"], 600)
    names = [f"{r.choice(pools[own])} {last}" for own, last in zip(sex, r.choice(words.lasts, 600), strict=True)]
    df = pd.DataFrame({"Kunde": names, "Geschlecht": sex})
    schema = Schema.infer(df).with_meaning("Kunde", "person", locale="de_DE")
    rows = TabTreeFormer("trees", random_state=0, privacy="off", verbose=False).fit(df, schema=schema).sample(600)
    first = rows["Kunde"].str.split().str[0]
    assert first[rows["Geschlecht"] == "m"].isin(words.women).mean() < 0.05  # 0.3 where such rows took any name


@pytest.mark.parametrize(
    ("name", "form"),
    [("Cumings, Mrs. John Bradley", 0), ("Braund, Mr. Owen Harris", 1), ("Xqzt Zzyw", 2), ("Frau Schmidt", 0)],
)
def test_titles_and_first_names_say_whom_a_row_is_about(name, form):
    digest = words_of("en_US").digest
    assert StandIn("person", "en_US", digest, Part(1, 0), "name {n}").form_of(name) == form
