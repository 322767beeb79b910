"""The audit finds what is planted, names the origin of all else, and does not print what is private."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
from sklearn.datasets import load_iris

from tabtreeformer import TabTreeFormer
from tabtreeformer.artifact.archive import read_archive, write_archive
from tabtreeformer.cli import main
from tabtreeformer.errors import ArchiveError, ConfigError, SchemaError
from tabtreeformer.privacy.audit import audit
from tabtreeformer.privacy.audit.chance import at_least
from tabtreeformer.privacy.audit.origins import ORIGINS, TREES, pattern_of
from tabtreeformer.privacy.audit.rare import RareValues, is_distinctive

TABLES = Path(__file__).parents[4] / "shared" / "data"
"""The paper's tables, where they are at hand."""
TOWN, PAY, AGE = "Canaryville", 9876.54, 117


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """A table with a unique text, a unique number, and a unique age."""
    rng, n = np.random.default_rng(0), 200
    df = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "pay": np.round(rng.normal(3000, 500, n), 2),
            "town": rng.choice(["Köln", "Ulm", "Bern"], n),
            "size": pd.Categorical(rng.choice(["S", "L"], n), categories=["S", "M", "L"], ordered=True),
            "y": rng.choice(["a", "b"], n),
        }
    )
    df.loc[3, ["age", "pay", "town"]] = [AGE, PAY, TOWN]
    return df


def fit(table, path, tree="lightgbm", preset="auto", target="y", floor=0, quantiles=20, privacy="balanced"):
    params = {} if tree in ("decision_tree", "none") else {"n_estimators": 6}
    model = TabTreeFormer(
        preset,
        target=target,
        tree={"model": tree, "trials": 0, "params": params},
        tokens={"quantiles": quantiles, "bins": 4, "rare_floor": floor},
        model={"width": 16, "feed_forward": 32, "heads": 2, "layers": 1},
        train={"steps": 4, "batch_size": 16, "validate_every": 2},
        privacy=privacy,
        random_state=0,
        verbose=False,
        device="cpu",
    )
    model.fit(table).save(path)
    return path


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    return fit(table, tmp_path_factory.mktemp("audit") / "model.tabtree")


def found(result, kind: str, **where) -> list:
    return [
        f for f in result.findings if f.kind == kind and all(getattr(f, name) == value for name, value in where.items())
    ]


@pytest.mark.parametrize(
    ("tree", "preset"),
    [("lightgbm", "S"), ("xgboost", "auto"), ("catboost", "S"), ("decision_tree", "auto"), ("none", "S")],
)
def test_every_place_of_every_kind_of_model_has_an_origin(table, tmp_path, tree, preset):
    result = audit(fit(table, tmp_path / "m.tabtree", tree, preset), table)
    assert found(result, "unknown") == found(result, "hidden") == []
    assert {place["member"] for place in result.places} >= {"manifest.json", "codec.json", "weights_1.safetensors"}
    # The canaries are there, whatever the trees.
    assert found(result, "rare value", member="codec.json", column="town")
    assert found(result, "rare value", member="codec.json", column="pay")
    if tree != "none":
        assert found(result, "rare value", member="tree.json", column="town")


def test_dates_gaps_keys_texts_and_relations_have_origins_too(tmp_path):
    rng, n = np.random.default_rng(0), 120
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    city = rng.choice(["Ulm", "Bern", "Oslo"], n)
    words = zip(rng.permutation(n), rng.permutation(n), strict=True)
    df = pd.DataFrame(
        {
            "id": np.arange(1000, 1000 + n),
            "code": [f"AB-{k:04d}" for k in rng.permutation(n)],
            "start": start,
            "end": start + pd.to_timedelta(rng.integers(1, 30, n), unit="D"),
            "for": pd.to_timedelta(rng.integers(1, 90, n), unit="s"),
            "note": [f"said {a} to {b} on the way" for a, b in words],
            "pay": np.where(rng.random(n) < 0.1, np.nan, np.round(rng.normal(10, 2, n), 1)),
            "city": city,
            "country": pd.Series(city).map({"Ulm": "D", "Bern": "CH", "Oslo": "N"}),
            "same": 1,
        }
    )
    for preset in ("auto", "S"):
        result = audit(fit(df, tmp_path / "m.tabtree", preset=preset, target="city"), df)
        assert found(result, "unknown") == found(result, "hidden") == []
        assert found(result, "rare value", column="start")  # the earliest day
        assert not found(result, "rare text", column="note")


def test_planted_values_are_found_where_they_are(path, table):
    result = audit(path, table)
    assert not result.passed
    (town,) = found(result, "rare value", member="codec.json", column="town")
    assert (town.path, town.count, town.values) == ("columns[*].labels[*]", 1, (TOWN,))
    (high,) = found(result, "rare value", member="codec.json", path="columns[*].atoms.high", column="pay")
    assert high.values == (PAY,)
    (infos,) = found(result, "rare value", member="tree.txt", path="feature_infos", column="age")
    assert AGE in infos.values
    assert found(result, "midpoint", member="tree.txt", path="threshold", column="pay")
    assert not found(result, "rare value", column="size")


def test_prompts_that_fit_few_rows_are_counted(path, table):
    result = audit(path, table)
    assert sum(f.count for f in found(result, "prompt")) > 0
    leaves = TabTreeFormer.load(path, device="cpu", verbose=False).fitted_.leaf_model
    assert leaves.n_leaves  # the trees were read, as an attacker would
    masked = {name: np.full_like(ids, -1) for name, ids in prompts(path).items()}
    hidden = path.with_name("masked.tabtree")
    write_archive(hidden, {**read_archive(path), "prompts.safetensors": safetensors.numpy.save(masked)})
    assert found(audit(hidden, table), "prompt") == found(audit(hidden), "mask") == []


def prompts(path):
    return safetensors.numpy.load(read_archive(path)["prompts.safetensors"])


def test_without_the_table_origins_are_checked_and_no_more(path):
    result = audit(path)
    assert result.rows is None
    assert {f.kind for f in result.findings} <= {"mask"}


def test_what_nobody_documented_is_a_finding(path, tmp_path, table):
    members = read_archive(path)
    record = json.loads(members["record.json"]) | {"notes": "row 17", "holdout": [1, 2, 3]}
    write_archive(tmp_path / "m", {**members, "record.json": json.dumps(record).encode()})
    unknown = {(f.member, f.path): f.count for f in found(audit(tmp_path / "m"), "unknown")}
    assert unknown == {("record.json", "notes"): 1, ("record.json", "holdout[*]"): 3}


def test_a_rare_text_or_number_anywhere_is_found(path, tmp_path, table):
    members = read_archive(path)
    record = json.loads(members["record.json"])
    record["training"][0]["name"] = f"saw {TOWN} today"
    record["fit_seconds"] = PAY
    weights = safetensors.numpy.load(members["weights_2.safetensors"])
    weights["begin" if "begin" in weights else next(iter(weights))].flat[0] = PAY
    changed = {"record.json": json.dumps(record).encode(), "weights_2.safetensors": safetensors.numpy.save(weights)}
    write_archive(tmp_path / "m", {**members, **changed})
    result = audit(tmp_path / "m", table)
    assert found(result, "rare text", member="record.json", column="town")
    assert found(result, "rare value", member="record.json", path="fit_seconds", column="pay")
    assert found(result, "rare value", member="weights_2.safetensors", column="pay")


def test_bytes_outside_the_members_are_found(path, tmp_path):
    (tmp_path / "m").write_bytes(path.read_bytes())
    assert found(audit(tmp_path / "m"), "hidden") == []
    with zipfile.ZipFile(tmp_path / "m", "a") as archive:
        archive.comment = b"met Ada Lovelace"
    (hidden,) = found(audit(tmp_path / "m"), "hidden")
    assert hidden.count == len(b"met Ada Lovelace")


def test_a_file_without_anything_rare_passes(tmp_path):
    """Every value in many rows, no trees: the audit can be passed."""
    df = pd.DataFrame({"a": [1, 2, 3] * 40, "b": ["x", "y", "z", "z"] * 30})
    result = audit(fit(df.assign(y=df["b"]), tmp_path / "m.tabtree", tree="none"), df.assign(y=df["b"]))
    assert result.passed, result.findings


@pytest.mark.parametrize("tree", ["lightgbm", "xgboost", "catboost", "decision_tree", "none"])
def test_with_a_floor_every_kind_of_model_passes(table, tmp_path, tree):
    result = audit(fit(table, tmp_path / "m.tabtree", tree, floor=5), table)
    assert result.passed, [finding.sentence(True) for finding in result.findings]


def test_iris_passes_as_it_is(tmp_path):
    iris = load_iris(as_frame=True).frame
    result = audit(fit(iris, tmp_path / "m.tabtree", target="target", floor=5), iris)
    assert result.passed, [finding.sentence(True) for finding in result.findings]


@pytest.mark.skipif(not TABLES.exists(), reason=f"the paper's tables are not in {TABLES}")
@pytest.mark.parametrize(("name", "target"), [("boston", "MEDV"), ("credit-g", "class"), ("diabetes", "class")])
def test_tables_of_many_different_numbers_pass_as_they_are(tmp_path, name, target):
    df = pd.read_csv(TABLES / f"{name}.csv")
    path = fit(df, tmp_path / "m.tabtree", target=target, floor=5, quantiles=100, privacy="off")
    result = audit(path, df)
    assert result.passed, [finding.sentence(True) for finding in result.findings]
    assert result.coincidences > 0  # which were findings once


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    """A protected model of a column so full of rare values that unrelated numbers meet some; and its table."""
    rng, n = np.random.default_rng(1), 2000
    df = pd.DataFrame({"sum": rng.integers(10_000, 16_000, n), "y": rng.choice(["a", "b"], n)})
    return fit(df, tmp_path_factory.mktemp("dense") / "model.tabtree", floor=5, quantiles=100), df


def test_matches_that_chance_makes_are_no_finding(dense):
    path, df = dense
    result = audit(path, df)
    assert result.passed, [finding.sentence(True) for finding in result.findings]
    codec = json.loads(read_archive(path)["codec.json"])
    (ends,) = (c["atoms"]["lows"] for c in codec["columns"] if "atoms" in c)
    rare = RareValues("sum", df["sum"], True, 5)
    alike = sum(map(rare.is_midpoint, set(ends)))
    assert 0 < alike <= result.coincidences  # ends of intervals that are half way between two rows
    assert alike == pytest.approx(sum(map(rare.midpoint_chance, set(ends))), abs=4)  # as many as chance lets expect


def test_matches_beyond_chance_are_found_however_dense_the_column(dense, tmp_path):
    path, df = dense
    members = read_archive(path)
    codec, record = json.loads(members["codec.json"]), json.loads(members["record.json"])
    distinct = np.unique(df["sum"])
    middles = (distinct[1:] + distinct[:-1]) / 2
    middles = middles[(np.diff(distinct) > 1) & (middles % 1 == 0.5)]
    (atoms,) = (c["atoms"] for c in codec["columns"] if "atoms" in c)
    near = np.searchsorted(middles, atoms["lows"]).clip(0, len(middles) - 1)
    atoms["lows"] = np.minimum(middles[near], atoms["highs"]).tolist()
    record["training"][0]["validations"] = [[j, int(v), 0.0] for j, v in enumerate(df["sum"][:12])]
    changed = {"codec.json": json.dumps(codec).encode(), "record.json": json.dumps(record).encode()}
    write_archive(tmp_path / "m", {**members, **changed})
    result = audit(tmp_path / "m", df)
    assert found(result, "midpoint", member="codec.json", path="columns[*].atoms.lows[*]", column="sum")
    assert found(result, "rare value", member="record.json", column="sum")


def test_the_floor_decides_what_is_rare(path, table):
    once = audit(path, table, rare_floor=2)
    assert found(once, "rare value", column="town")
    assert not audit(path, table, rare_floor=1).findings or not found(audit(path, table, rare_floor=1), "rare value")
    with pytest.raises(ConfigError, match="rare_floor must be a whole number"):
        audit(path, table, rare_floor=0)


def test_another_table_is_refused(path, table):
    with pytest.raises(SchemaError, match="not the table that the model was fitted on"):
        audit(path, table.drop(columns="pay"))


# ---- pieces


def test_values_half_way_between_two_rows_give_them_away():
    rare = RareValues("pay", pd.Series([1.0, 4.5, 9.25, 9.5] + [20.0] * 9), True, 5)
    assert rare.is_midpoint((1 + 4.5) / 2)
    assert not rare.is_midpoint((9.25 + 9.5) / 2)  # as near as values of this column get
    assert not rare.is_midpoint(12.0)
    assert rare.holds(4.5)
    assert not rare.holds(20.0)


def test_the_chance_of_a_match_is_how_dense_rare_values_lie():
    rare = RareValues("pay", pd.Series([10_000.0, 10_010.0, 10_020.0, 10_025.5, 90_000.0]), True, 5)
    assert rare.chance(10_015) == pytest.approx(3 / 2003)  # three whole numbers within a tenth, 2003 it could be
    assert rare.chance(10_015.3) == pytest.approx(4 / 20_030.6)  # and one more with one decimal
    assert rare.chance(50_000) == 0
    assert RareValues("x", pd.Series([3.0, 9.0]), True, 5).chance(3.1 + 1 / 30) == 0  # more digits than a grid has
    assert RareValues("zip", pd.Series(["10115", "Bonn"]), False, 5).chance(10_115) == pytest.approx(1 / 2023)


def test_the_chance_of_a_middle_is_one_in_the_steps_of_its_gap():
    rare = RareValues("age", pd.Series([20, 25, 26, 30] + [40] * 5 + [49] * 5), True, 5)
    assert rare.midpoint_chance(21.5) == rare.midpoint_chance(22.5) == pytest.approx(1 / 5)
    assert rare.midpoint_chance(25.5) == 0  # nothing to give away between neighbours of one step
    assert rare.midpoint_chance(28.5) == 0  # the middle, 28, is no place for an end
    assert rare.midpoint_chance(22.3) == 0  # neither is this: if it were a middle, it would be no chance
    assert rare.midpoint_chance(44.5) == rare.midpoint_chance(99.5) == 0  # many rows on both sides, or nobody
    assert [at_least(n, [0.5, 0.25]) for n in range(4)] == pytest.approx([1.0, 0.625, 0.125, 0.0])


@pytest.mark.parametrize(("value", "is_so"), [(12.5, False), (987654.32, True), (100000, False), (1 / 3, True)])
def test_numbers_of_many_digits_are_distinctive(value, is_so):
    assert is_distinctive(value) is is_so


@pytest.mark.parametrize("known", [*ORIGINS.values(), *TREES.values()])
def test_every_documented_path_finds_itself(known):
    for pattern in known:
        assert pattern_of(pattern.replace("**", "x.y"), known) is not None


# ---- the command


def test_the_command_says_fail_and_keeps_the_values_to_itself(path, table, tmp_path, capsys):
    table.to_csv(tmp_path / "train.csv", index=False)
    for show in ([], ["--show"]):
        with pytest.raises(SystemExit) as stop:
            main(["audit", str(path), "--train", str(tmp_path / "train.csv"), *show])
        assert stop.value.code == 1
        out = capsys.readouterr().out
        assert "FAIL" in out
        assert (TOWN in out) is bool(show)
        assert (str(PAY) in out) is bool(show)
    with pytest.raises(SystemExit) as stop:
        main(["audit", str(path), "--train", str(tmp_path / "train.csv"), "--json"])
    plain = json.loads(capsys.readouterr().out)
    assert (stop.value.code, plain["passed"], plain["rows"]) == (1, False, 200)
    assert TOWN not in json.dumps(plain)


def test_the_command_passes_and_errs_by_exit_code(tmp_path, capsys):
    df = pd.DataFrame({"a": [1, 2, 3] * 40, "y": ["x", "y", "z"] * 40})
    fit(df, tmp_path / "m.tabtree", tree="none")
    df.to_csv(tmp_path / "train.csv", index=False)
    codes = {}
    for name in ("m.tabtree", "absent.tabtree"):
        with pytest.raises(SystemExit) as stop:
            main(["audit", str(tmp_path / name), "--train", str(tmp_path / "train.csv")])
        codes[name] = stop.value.code
    assert codes == {"m.tabtree": 0, "absent.tabtree": 2}
    assert "PASS" in capsys.readouterr().out


def test_text_that_is_no_trees_is_our_error_before_it_is_searched(path, table, tmp_path):
    members = read_archive(path)
    text = members["tree.txt"].decode()
    line = next(line for line in text.splitlines() if line.startswith("decision_type="))
    wrong = (
        text.replace(line, line.rsplit(" ", 1)[0] + " nan", 1)
        if " " in line
        else text.replace(line, "decision_type=nan", 1)
    )
    write_archive(tmp_path / "m", {**members, "tree.txt": wrong.encode()})
    with pytest.raises(ArchiveError, match="LightGBM"):
        audit(tmp_path / "m", table)


def test_digits_inside_a_longer_number_are_no_text():
    from tabtreeformer.privacy.audit.rare import RareValues, texts_inside

    tickets = pd.Series(["113806", "PC 17599", "Müller-7"], dtype=object)
    column = RareValues("ticket", tickets, numeric=False, floor=5)

    def found(data):
        return {text for _, _, text in texts_inside({"tree.txt": data}, [column])}

    assert found(b"leaf_value=0.001138062 1138067 11.1138060 0.113806") == set()
    assert found(b"names=113806;PC 175991") == {"113806"}
    assert found("x PC 17599, Müller-7".encode()) == {"PC 17599", "Müller-7"}
