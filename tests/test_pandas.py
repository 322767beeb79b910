"""The pandas that is tested is the one that was meant."""

import os

import pandas as pd


def test_the_pandas_in_front_is_the_one_under_test():
    if "pandas2" in os.environ.get("PYTHONPATH", ""):
        assert pd.__version__.startswith("2.2.")
    else:
        assert int(pd.__version__.split(".")[0]) >= 2
