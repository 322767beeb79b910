"""Shape and Trend are those of SDMetrics, which lives in an environment of its own: it needs an older pandas."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from tabtreeformer.data.schema import Schema
from tabtreeformer.evaluation import evaluate

PYTHON = Path(__file__).parents[2] / ".venv" / "sdmetrics" / "bin" / "python"
EXACT = 1e-9

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason=f"SDMetrics is not installed in {PYTHON.parents[1]}; `make sdmetrics` creates it"
)

SCRIPT = """
import json, sys, warnings
import numpy as np, pandas as pd
warnings.simplefilter("ignore")
from sdmetrics.reports.single_table import QualityReport

def read(path, categorical):
    return pd.read_csv(path, dtype={name: str for name in categorical}, float_precision="round_trip")

def report(folder, categorical, strong):
    real, synthetic = (read(f"{folder}/{name}.csv", categorical) for name in ("real", "synthetic"))
    kinds = {name: {"sdtype": "categorical" if name in categorical else "numerical"} for name in real}
    quality = QualityReport()
    if not strong:
        quality.real_correlation_threshold = quality.real_association_threshold = 0
    quality.generate(real, synthetic, {"columns": kinds}, verbose=False)
    shapes, pairs = quality.get_details("Column Shapes"), quality.get_details("Column Pair Trends")
    overall = quality.get_properties().set_index("Property")["Score"]
    return {"shape": overall["Column Shapes"], "trend": overall["Column Pair Trends"],
            "columns": shapes["Score"].tolist(), "pairs": pairs["Score"].tolist()}

answers = {}
for folder, categorical in json.load(sys.stdin).items():
    answers[folder] = {"all": report(folder, categorical, False), "strong": report(folder, categorical, True)}
json.dump(answers, sys.stdout)
"""


def mixed(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """Numbers and categories that hang together."""
    size = rng.normal(size=n_rows)
    return pd.DataFrame(
        {
            "size": size,
            "weight": size * 2 + rng.normal(size=n_rows) * 0.3,
            "count": rng.poisson(3, n_rows),
            "group": rng.choice(list("abc"), n_rows, p=[0.6, 0.3, 0.1]),
            "heavy": np.where(size > 0.3, "yes", "no"),
            "many": rng.integers(0, 200, n_rows).astype(str),
        }
    )


def with_gaps(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """A fifth of every column is missing."""
    df = mixed(rng, n_rows).astype({"count": float})
    return df.mask(rng.random(df.shape) < 0.2)


def with_constants(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """Columns of one value, of one value and gaps, and of nothing."""
    df = mixed(rng, n_rows)
    df["same"], df["same text"], df["tiny"] = 7.5, "x", 1.0 + rng.integers(0, 3, n_rows) * 1e-16
    df["same or none"] = np.where(rng.random(n_rows) < 0.5, 3.0, np.nan)
    df["nothing"], df["no text"] = np.nan, np.full(n_rows, None, dtype=object)
    return df


def toy(load, rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    bunch = load(as_frame=True)
    df = bunch.frame.rename(columns=str)
    if "target_names" in bunch:
        df["target"] = df["target"].map(str)
    return df.sample(n_rows, replace=True, random_state=int(rng.integers(1000))).reset_index(drop=True)


def skewed(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """Long tails, rounded numbers with ties, and categories that one side may lack."""
    return pd.DataFrame(
        {
            "tail": np.exp(rng.normal(size=n_rows) * 3),
            "large": rng.normal(1e12, 1e3, n_rows),
            "rounded": np.round(rng.normal(size=n_rows), 1),
            "rare": rng.zipf(1.5, n_rows).clip(max=500).astype(str),
            "pair": rng.zipf(1.7, n_rows).clip(max=500).astype(str),
        }
    )


def other(make):
    """Draw both tables by the same recipe, of different length."""
    return lambda rng: (make(rng, 300), make(rng, 170))


TABLES = {
    "mixed": other(mixed),
    "with gaps": other(with_gaps),
    "with constants": other(with_constants),
    "gaps on one side": lambda rng: (mixed(rng, 250), with_gaps(rng, 250)),
    "constants on one side": lambda rng: (with_constants(rng, 60), with_constants(rng, 60).assign(size=1.0)),
    "iris": other(lambda rng, n: toy(datasets.load_iris, rng, n)),
    "wine": other(lambda rng, n: toy(datasets.load_wine, rng, n)),
    "diabetes": other(lambda rng, n: toy(datasets.load_diabetes, rng, n)),
    "cancer": other(lambda rng, n: toy(datasets.load_breast_cancer, rng, n).iloc[:, ::3]),
    "skewed": other(skewed),
    "categories only": other(lambda rng, n: skewed(rng, n)[["rare", "pair"]]),
    "two rows": lambda rng: (mixed(rng, 2), mixed(rng, 3)),
}


@pytest.fixture(scope="module")
def tables() -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    return {name: make(np.random.default_rng(place)) for place, (name, make) in enumerate(TABLES.items())}


def categorical(df: pd.DataFrame) -> list[str]:
    return [name for name in df if not pd.api.types.is_numeric_dtype(df[name].dtype)]


@pytest.fixture(scope="module")
def theirs(tables, tmp_path_factory) -> dict[str, dict]:
    """What SDMetrics says of every pair of tables, in one process."""
    root = tmp_path_factory.mktemp("sdmetrics")
    questions = {}
    for name, (real, synthetic) in tables.items():
        folder = root / name
        folder.mkdir()
        real.to_csv(folder / "real.csv", index=False)
        synthetic.to_csv(folder / "synthetic.csv", index=False)
        questions[str(folder)] = categorical(real)
    run = subprocess.run(
        [str(PYTHON), "-c", SCRIPT], input=json.dumps(questions), capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return {Path(folder).name: answer for folder, answer in json.loads(run.stdout).items()}


@pytest.fixture(params=TABLES)
def name(request) -> str:
    return request.param


@pytest.fixture
def ours(tables, name):
    real, synthetic = tables[name]
    schema = Schema.infer(real)
    for name in categorical(real):
        if schema.column(name).kind != "constant":
            schema = schema.with_kind(name, "categorical")
    return evaluate(real, None, synthetic, schema=schema, metrics=["shape", "trend"]).scores


def equal(left: list[float | None], right: list[float | None]) -> None:
    np.testing.assert_allclose(np.array(left, float), np.array(right, float), rtol=0, atol=EXACT, equal_nan=True)


def test_shape_is_that_of_sdmetrics_overall_and_by_column(ours, theirs, name):
    expected = theirs[name]["all"]
    equal([column["score"] for column in ours["shape"].breakdown["columns"]], expected["columns"])
    equal([ours["shape"].value], [expected["shape"]])


def test_trend_is_that_of_sdmetrics_overall_and_by_pair(ours, theirs, name):
    expected = theirs[name]["all"]
    equal([pair["score"] for pair in ours["trend"].breakdown["pairs"]], expected["pairs"])
    equal([ours["trend"].value], [expected["trend"]])


def test_strong_trends_are_those_that_newer_sdmetrics_keeps(ours, theirs, name):
    expected = theirs[name]["strong"]
    pairs = ours["trend"].breakdown["pairs"]
    equal([pair["score"] if pair["strong"] else None for pair in pairs], expected["pairs"])
    equal([ours["trend"].breakdown["strong"]], [expected["trend"]])
