"""The attacks are those of Anonymeter, which lives in an environment of its own: it needs an older numpy."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.data.schema import Schema
from tabtreeformer.evaluation.attacks import inference, linkability, singling_out
from tabtreeformer.evaluation.attacks.predicates import match
from tabtreeformer.evaluation.attacks.risk import Rate, Risk
from tabtreeformer.evaluation.context import Context
from tabtreeformer.evaluation.encoding import encode
from tabtreeformer.evaluation.metrics.gower import Gower
from tabtreeformer.evaluation.references import Tables

PYTHON = Path(__file__).parents[2] / ".venv" / "anonymeter" / "bin" / "python"

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason=f"Anonymeter is not installed in {PYTHON.parents[1]}; `make anonymeter` creates it"
)

COUNTS = [(5, 3, 500, 500), (499, 0, 500, 500), (0, 0, 7, 7), (40, 4, 60, 20), (1, 200, 300, 300), (300, 300, 300, 300)]
HALVES = (["age", "pay", "shoe"], ["tax", "city", "height"])
SECRETS = ["owner", "city"]

SCRIPT = """
import json, sys, warnings
import numpy as np, pandas as pd
warnings.simplefilter("ignore")
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
from anonymeter.stats.confidence import EvaluationResults

question = json.load(sys.stdin)
train, control, synthetic = (pd.read_csv(question["folder"] + f"/{n}.csv", float_precision="round_trip")
                             for n in ("train", "control", "synthetic"))
for table in (train, control, synthetic):
    for name in table.select_dtypes("str"):
        table[name] = table[name].astype(object)
n = len(train)
answer = {"risks": []}
for on_train, on_control, n_train, n_control in question["counts"]:
    result = EvaluationResults((n_train, n_train, n_control), on_train, 0, on_control)
    risk = result.risk()
    answer["risks"].append([result.attack_rate.value, result.attack_rate.error, risk.value, *risk.ci])
for mode in ("univariate", "multivariate"):
    found = SinglingOutEvaluator(train, synthetic, n_attacks=question["attacks"][mode], control=control, seed=1,
                                 max_attempts=30_000)
    found.evaluate(mode=mode)
    answer[mode] = [found._n_success, found._n_control]
    if mode == "multivariate":
        from anonymeter.evaluators import singling_out_evaluator as module
        answer["queries"] = len(module.multivariate_singling_out_queries(
            found._syn, question["attacks"][mode], 3, 30_000, np.random.default_rng(1)))
halves = tuple(question["halves"])
links = LinkabilityEvaluator(train, synthetic, halves, n_attacks=n, control=control).evaluate(n_jobs=1)
answer["linkability"] = [links.results().n_success, links.results().n_control]
for secret in question["secrets"]:
    known = [name for name in train if name != secret]
    guess = InferenceEvaluator(train, synthetic, known, secret, regression=False, n_attacks=n, control=control)
    results = guess.evaluate(n_jobs=1).results()
    answer[secret] = [int(results.n_success), int(results.n_control)]
json.dump(answer, sys.stdout)
"""


def rows(draw, n: int, seed: int) -> pd.DataFrame:
    """Enough columns of fine numbers that nearest rows are never two at once."""
    rng = np.random.default_rng(seed)
    df = draw(n, seed)
    return df.assign(height=rng.normal(170, 9, n) + (df["owner"] == "yes") * 3, shoe=rng.normal(size=n) + df["age"] / 9)


@pytest.fixture(scope="module")
def frames(draw) -> dict[str, pd.DataFrame]:
    """A table of which a quarter leaks; the ends of every column stand in all tables, so that ranges agree."""
    train, control, fresh = (rows(draw, 500, seed) for seed in (1, 2, 3))
    everything = pd.concat([train, control, fresh])
    numbers = [name for name in train if pd.api.types.is_numeric_dtype(train[name])]
    frames = {"train": train, "control": control, "synthetic": pd.concat([train.head(125), fresh.tail(375)])}
    ends = everything[numbers].agg(["min", "max"])
    for frame in frames.values():
        for place, end in enumerate(("min", "max")):
            for name in numbers:
                frame.iloc[-1 - place, frame.columns.get_loc(name)] = ends.loc[end, name]
    return {name: frame.reset_index(drop=True) for name, frame in frames.items()}


@pytest.fixture(scope="module")
def theirs(frames, tmp_path_factory):
    folder = tmp_path_factory.mktemp("anonymeter")
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    attacks = {"univariate": 10_000, "multivariate": 300}
    question = {"folder": str(folder), "counts": COUNTS, "halves": HALVES, "secrets": SECRETS, "attacks": attacks}
    run = subprocess.run(
        [str(PYTHON), "-c", SCRIPT], input=json.dumps(question), capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def tables(frames) -> Tables:
    named = {"training": frames["train"], "held-out": frames["control"], "synthetic": frames["synthetic"]}
    return Tables(*encode(named, Schema.infer(frames["train"])).values())


def test_risks_and_intervals_are_the_same_for_the_same_counts(theirs):
    for (on_train, on_control, n_train, n_control), expected in zip(COUNTS, theirs["risks"], strict=True):
        rate = Rate.of(on_train, n_train)
        risk = Risk.of(train=on_train, control=on_control, baseline=0, attacks=(n_train, n_control))
        np.testing.assert_allclose([rate.value, rate.error, risk.value, risk.low, risk.high], expected, atol=1e-9)


def test_univariate_predicates_single_out_the_same_rows(theirs, tables):
    predicates = singling_out.univariate(tables.synthetic, 10_000, np.random.default_rng(0))
    found = [int(match(predicates, table).alone.sum()) for table in (tables.train, tables.holdout)]
    assert found == theirs["univariate"]
    assert found[0] > 500


def test_multivariate_predicates_single_out_as_often(theirs, tables):
    rng = np.random.default_rng(0)
    predicates = singling_out.multivariate(tables.synthetic, 300, 3, rng)
    for table, success in zip((tables.train, tables.holdout), theirs["multivariate"], strict=True):
        ours = Rate.of(int(match(predicates, table).alone.sum()), len(predicates))
        anonymeters = Rate.of(success, theirs["queries"])
        assert abs(ours.value - anonymeters.value) < np.hypot(ours.error, anonymeters.error)


def test_the_same_rows_are_linked(theirs, tables):
    names = [feature.name for feature in tables.train.features]
    halves = tuple([names.index(name) for name in half] for half in HALVES)
    space = Gower(tables.synthetic, tables.train, tables.holdout)
    linked = [
        int(linkability.linked(space, table, halves, Context(), "").sum()) for table in (tables.train, tables.holdout)
    ]
    assert linked == theirs["linkability"]


@pytest.mark.parametrize("secret", SECRETS)
def test_the_same_secrets_are_guessed(theirs, tables, secret):
    place = [feature.name for feature in tables.train.features].index(secret)
    context = Context(sensitive=(place,), max_attacks=500)
    record = inference.inference(tables, context).breakdown["columns"][0]
    assert [round(record["train"] * 500), round(record["control"] * 500)] == theirs[secret]
