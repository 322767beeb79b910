"""What laws keep of a table is no row's own: values that fewer rows have than the floor are nowhere in it."""

import json

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.artifact.limits import check_codec
from tabtreeformer.config.settings import TokenConfig
from tabtreeformer.data.schema import Schema
from tabtreeformer.laws import Laws, find_laws
from tabtreeformer.tokens import TableCodec, TokenLayout


def table(n=800):
    r = np.random.default_rng(0)
    city = r.choice(["Ulm", "Bonn", "Kiel", "Bern"], n).astype(object)
    net = r.lognormal(4, 1, n).round(2)
    rate = r.choice([0.07, 0.19], n)
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(r.integers(0, 9_000_000, n), unit="s")
    df = pd.DataFrame(
        {
            "city": city,
            "country": pd.Series(city).map({"Ulm": "DE", "Bonn": "DE", "Kiel": "DE", "Bern": "CH"}),
            "net": net,
            "tax": (net * rate).round(2),
            "start": start,
            "end": start + pd.to_timedelta(r.integers(60, 5000, n), unit="s"),
            "year": r.integers(1950, 2020, n),
        }
    )
    df["later"] = np.where(r.random(n) < 0.6, df["year"], np.minimum(df["year"] + r.integers(1, 40, n), 2020))
    df.loc[7, ["city", "country"]] = ["Zzyzx", "Nowhere"]
    df.loc[9, ["net", "tax"]] = [918_273.64, 174_471.99]
    df.loc[11, ["year", "later"]] = [1803, 1807]
    df["total"] = (df["net"] + df["tax"]).round(2)
    return df


def learned(floor=5):
    df = table()
    schema = Schema.infer(df)
    return df, find_laws(schema.validate(df), schema, floor=floor, rng=np.random.default_rng(0))


def test_no_rare_value_is_kept():
    _, laws = learned()
    assert {"total = net + tax", "country from city", "end ~ start", "later ~ year"} <= set(laws.texts)
    kept = json.dumps(laws.to_json())
    for secret in ("Zzyzx", "Nowhere", "918273", "174471", "1803", "1807"):
        assert secret not in kept, secret


def test_a_law_that_a_file_made_up_is_an_error():
    _, laws = learned()
    plain = laws.to_json()
    for wrong in ({"no such form": {}}, {"linear": {"target": "net", "nonsense": 1}}, {"share": {"target": "net"}}):
        with pytest.raises((ValueError, TypeError, KeyError)):
            Laws.from_json([*plain, wrong], laws.schema)


def test_a_codec_with_laws_comes_back_from_plain_data_and_passes_the_limits():
    df, laws = learned()
    codec = TableCodec.learn(df, laws.schema, TokenConfig(scheme="atoms", quantiles=40, bins=6, rare_floor=5), laws)
    again = TableCodec.from_json(json.loads(json.dumps(codec.to_json())), codec.schema)
    check_codec(again, TokenLayout.build([], again.slots))
    assert again.texts == codec.texts
    ids = codec.encode(df)
    assert (again.encode(df) == ids).all()
    new = again.decode(ids, np.random.default_rng(0))
    assert (new.dtypes == df.dtypes).all()
    assert np.allclose(new["total"], new["net"] + new["tax"], atol=0.001)


def test_a_density_is_stretched_as_much_as_the_number():
    df, laws = learned()
    scales = laws.log_scales(df)
    assert np.allclose(scales["tax / net"], -np.log(df["net"]))
    assert np.allclose(scales["end - (start)"], -np.log(1_000_000))  # microseconds that are learned as seconds
