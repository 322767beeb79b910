"""`ttf schema --public` and `ttf fit --epsilon`."""

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("opacus")

SMALL = ["model.width=8", "model.heads=2", "model.feed_forward=16", "train.steps=2", "train.batch_size=32"]
SETTINGS = [word for setting in SMALL for word in ("--set", setting)]


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "people.csv"
    pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "age": rng.integers(20, 60, 300)}).to_csv(path, index=False)
    return path


def test_a_public_schema_has_no_reasons_and_a_private_fit_says_what_it_spent(run, table, tmp_path):
    code, _, _ = run("schema", table, "--public", "-o", "schema.json")
    assert code == 0
    content = json.loads((tmp_path / "schema.json").read_text())
    assert all("why" not in column for column in content["columns"])
    assert content["constraints"] == []
    code, _, err = run("fit", table, "--schema", "schema.json", "--epsilon", 8, "-o", "m.tabtree", *SETTINGS)
    assert code == 0
    assert "spent: epsilon 7." in err
    code, out, _ = run("card", "m.tabtree")
    assert code == 0
    assert "delta" in out
    code, out, _ = run("inspect", "m.tabtree")
    assert code == 0
    assert "1 networks" in out
    assert run("sample", "m.tabtree", "-n", 5, "-o", "new.csv", "-q")[0] == 0


@pytest.mark.parametrize(
    ("options", "words"), [(["--epsilon", 4], "needs a schema"), (["--delta", 1e-6], "without --epsilon")]
)
def test_what_cannot_be_promised_is_refused(run, table, options, words):
    code, _, err = run("fit", table, *options, "-q")
    assert code != 0
    assert words in err.replace("\n", " ")
