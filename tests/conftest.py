"""Small tables and settings that many tests share."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from pathlib import Path

import hypothesis
import numpy as np
import pandas as pd
import pytest
import torch

from tabtreeformer.sampling import margins

# In CI the same examples each time; at a desk new ones.
hypothesis.settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")

# Whoever starts tests in the background may have them ignore Ctrl-C, and what they start too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Steps this small lose badly to thread contention.
torch.set_num_threads(1)

PAPER = Path(__file__).parent / "paper"

TINY = {
    "tree": {"trials": 0, "params": {"n_estimators": 4, "num_leaves": 5}},
    "tokens": {"quantiles": 20, "bins": 4},
    "model": {"width": 16, "feed_forward": 32, "heads": 2, "layers": 1},
    "train": {"steps": 6, "batch_size": 16, "validate_every": 3},
    "sampling": {"batch_size": 64},
}
"""Overrides that make a fit take a fraction of a second."""


BROWSER_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def few_rows_for_margins(request):
    """Where neither models nor margins are looked at, margins are corrected on fewer rows: they are half of a fit."""
    about = {*request.path.relative_to(Path(__file__).parent).parts}
    with pytest.MonkeyPatch.context() as patch:
        if not about & {"learning", "test_pins.py", "test_margins.py", "test_readme.py"}:
            patch.setattr(margins, "MIN_ROWS", 512)
        yield


@pytest.fixture
def tiny() -> dict[str, dict[str, object]]:
    return json.loads(json.dumps(TINY))


@pytest.fixture
def mixed() -> pd.DataFrame:
    """Sixty rows of whole numbers, decimals, text, truth values and ordered categories."""
    rng = np.random.default_rng(0)
    n = 60
    age = rng.integers(18, 80, n)
    return pd.DataFrame(
        {
            "age": age,
            "height in m": np.round(rng.normal(1.7, 0.1, n), 2),
            "stadt": rng.choice(["Köln", "Ulm", "Bern"], n),
            "smoker": rng.random(n) < 0.3,
            "size": pd.Categorical(rng.choice(["S", "L"], n), categories=["S", "M", "L"], ordered=True),
            "income": np.where(age > 45, ">50K", "<=50K"),
        }
    )


@pytest.fixture(scope="session")
def paper_config() -> dict[str, dict[str, dict[str, object]]]:
    return json.loads((PAPER / "config.json").read_text())


@pytest.fixture(scope="session")
def open_browser(tmp_path_factory):
    """A function that opens a browser without a window; it is closed at the end of the `with` block."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and chromedriver):
        pytest.skip("needs chromium and chromedriver: scripts/install-browser installs them on Debian")
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs the dev extra")

    @contextlib.contextmanager
    def opened(logs: tuple[str, ...] = ("browser",), downloads: Path | None = None):
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in (*BROWSER_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", dict.fromkeys(logs, "ALL"))
        if downloads is not None:
            options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
        try:
            yield driver
        finally:
            driver.quit()

    return opened
