"""A small table, and generators that are a few lines."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.evaluation.compare import GeneratorSpec, Table

GOOD = """
class Generator:
    def __init__(self, *, seed, budget_seconds=None, told=None):
        self.facts = {}
    def fit(self, df, schema):
        self.df, self.schema = df, schema
    def sample(self, n):
        return self.df.sample(n, replace=True, random_state=0)
"""
BAD = GOOD.replace("self.df, self.schema = df, schema", "raise RuntimeError('no rows\\nlike these')")
SLOW = GOOD.replace("self.df, self.schema = df, schema", "while True: pass")
DEAD = GOOD.replace("self.df, self.schema = df, schema", "import os; os._exit(3)")
SHORT = GOOD.replace("return self.df", "return self.df[['x']]")


@pytest.fixture
def table() -> Table:
    rng = np.random.default_rng(0)
    x = rng.normal(size=80).round(2)
    frame = pd.DataFrame({"x": x, "k": rng.integers(0, 9, 80), "c": rng.choice(["a", "NA", ""], 80)})
    frame["y"] = np.where(x + rng.normal(0, 0.3, 80) > 0, "yes", "no")
    return Table("tiny", frame, "y")


@pytest.fixture
def generator(tmp_path: Path):
    def make(source: str, name: str = "tiny", **rest) -> GeneratorSpec:
        path = tmp_path / f"{name}.py"
        path.write_text(source)
        return GeneratorSpec(name=name, file=path, family="test", **rest)

    return make
