"""Two real tables, a synthetic one, and their evaluation, with names and values that try to break out of a page."""

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.evaluation import evaluate

NASTY = "<script>document.title='broken'</script>"


def make(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = np.where(rng.random(n) < 0.5, rng.normal(0, 1, n), rng.normal(12, 1, n))
    return pd.DataFrame(
        {
            "two humps": x.round(3),
            NASTY: rng.choice(["a", NASTY, '"><img src=x onerror=alert(1)>'], n, p=[0.6, 0.3, 0.1]),
            "count": rng.integers(1, 6, n),
            "y": np.where(x + rng.normal(0, 2, n) > 6, "yes & no", "no"),
        }
    )


@pytest.fixture(scope="session")
def tables():
    return make(300, 0), make(120, 1), make(250, 2)


@pytest.fixture(scope="session")
def evaluation(tables):
    return evaluate(*tables, target="y")


@pytest.fixture(scope="session")
def nasty() -> str:
    """A column name and value that would run as a script if it were not escaped."""
    return NASTY
