import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.sampling.streaming import workers as engines

ROWS = 9_000
"""Three blocks, the last not full."""


WORK = """
import os, pathlib, signal, sys
from tabtreeformer.errors import SchemaError

class Work:
    def __init__(self, settings, files):
        self.settings = settings
        self.text = files["text"].read_text() if "text" in files else ""

    def __call__(self, job):
        print("a library that prints")
        folder = pathlib.Path(self.settings["folder"])
        with (folder / f"done-{job}").open("a") as log:
            log.write(f"{os.getpid()} ")
        if job == self.settings.get("deadly") and not (folder / "died").exists():
            if self.settings.get("once"):
                (folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if job == self.settings.get("wrong"):
            raise SchemaError("column 'a' is wrong")
        if job == self.settings.get("broken"):
            raise RuntimeError("a bug")
        return {"job": job, "text": self.text, "torch": "torch" in sys.modules}
"""


def check_jobs(engine, work, place):
    """All jobs are done, though a worker dies during one of them."""
    (place / "words.txt").write_text("hello")
    settings = {"folder": str(place), "deadly": 2, "once": True}
    results = dict(engines.run(work, range(5), settings, {"text": place / "words.txt"}, engine=engine, workers=2))
    assert results == {k: {"job": k, "text": "hello", "torch": False} for k in range(5)}
    tries = [len((place / f"done-{k}").read_text().split()) for k in range(5)]
    assert tries[2] == 2
    assert sum(tries) == 6


@pytest.fixture(scope="session")
def streamed():
    """A model of a table with keys of three forms, gaps, a date and classes, fitted in a moment."""
    rng = np.random.default_rng(0)
    n = 80
    table = pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "code": [f"{i * 7919 % 2**32:08x}" for i in range(1, n + 1)],
            "customer": [f"C-{i:03d}" for i in range(n)],
            "age": rng.integers(18, 80, n),
            "income": rng.normal(3000, 500, n).round(2),
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "town": rng.choice(["Köln", "Ulm", "Bern"], n),
            "note": np.where(rng.random(n) < 0.5, None, "called back"),
        }
    )
    return TabTreeFormer(
        "auto",
        "town",
        tree={"trials": 0, "params": {"n_estimators": 4, "num_leaves": 5}},
        model={"width": 16, "feed_forward": 32, "heads": 2, "layers": 1},
        train={"steps": 4, "batch_size": 16, "validate_every": 2},
        random_state=0,
        verbose=False,
    ).fit(table)


@pytest.fixture(scope="session")
def whole(streamed):
    return streamed.sample(ROWS, random_state=5)
