"""`ttf schema` and `ttf explain` say the laws of a table, and a schema file takes them back."""

import json

import numpy as np
import pandas as pd


def bills(n=400):
    r = np.random.default_rng(0)
    net, fee = r.lognormal(3, 1, n).round(2), r.lognormal(1, 1, n).round(2)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(r.integers(0, 300, n), unit="D")
    return pd.DataFrame(
        {"net": net, "fee": fee, "total": (net + fee).round(2), "day": day.strftime("%Y-%m-%d"), "month": day.month}
    )


def test_laws_are_said_edited_and_explained(run, tmp_path):
    bills().to_csv(tmp_path / "bills.csv", index=False)
    code, out, _ = run("schema", "bills.csv", "-o", "schema.json")
    assert code == 0
    assert "every row keeps: total = net + fee (400 rows, no exception)" in out
    assert "every row keeps: month = month of day (400 rows, no exception)" in out
    content = json.loads((tmp_path / "schema.json").read_text())
    content["constraints"].remove("month = month of day")
    (tmp_path / "schema.json").write_text(json.dumps(content))
    fit = ("fit", "bills.csv", "-o", "m.tabtree", "--schema", "schema.json", "--preset", "trees", "--privacy", "off")
    code, _, err = run(*fit)
    assert code == 0, err
    assert "every row keeps: total = net + fee (400 rows, no exception)" in err
    code, out, _ = run("explain", "m.tabtree")
    assert code == 0
    assert "every row keeps: total = net + fee (400 rows, no exception)" in out
    assert "computed: total = net + fee" in out
    assert "month = month of day" not in out
    code, out, _ = run("explain", "m.tabtree", "--json")
    assert json.loads(out)["laws"] == ["total = net + fee"]


def test_a_law_that_does_not_hold_is_refused_with_a_row(run, tmp_path):
    df = bills()
    df.loc[17, "total"] += 1
    df.to_csv(tmp_path / "bills.csv", index=False)
    run("schema", "bills.csv", "-o", "schema.json")
    content = json.loads((tmp_path / "schema.json").read_text())
    content["constraints"] = ["total = net + fee"]
    (tmp_path / "schema.json").write_text(json.dumps(content))
    code, _, err = run("fit", "bills.csv", "-o", "m.tabtree", "--schema", "schema.json", "--preset", "trees")
    assert code == 2
    assert "'total = net + fee' does not hold in the table: 1 row breaks it, the first is row 17" in err


def test_a_schema_shows_frequent_values_but_nobody_by_name(run, tmp_path):
    people = pd.DataFrame({"name": ["Ada Moor", "Ben Ek"] * 20, "town": ["Ulm", "Bern"] * 20})
    people.to_csv(tmp_path / "people.csv", index=False)
    _, out, _ = run("schema", "people.csv")
    assert "Ulm" in out
    assert "Ada" not in out
