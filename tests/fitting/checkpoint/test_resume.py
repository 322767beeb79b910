"""A fit that is killed and continued ends with the same model as one that was left alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tabtreeformer.artifact.archive import load_json, read_archive

SMALL = {"model": {"width": 16, "feed_forward": 32, "heads": 2, "layers": 1}}
AUTO = {**SMALL, "train": {"steps": 60, "validate_every": 7, "patience": 4}}
PAPER = {
    "preset": "S",
    "privacy": "off",
    "tree": {"trials": 4, "params": {"n_estimators": 4, "num_leaves": 5}},
    "tokens": {"quantiles": 20, "bins": 4},
    "model": {**SMALL["model"], "dropout": 0.1},
    "train": {"steps": 40, "batch_size": 16, "validate_every": 6, "patience": 4},
}
CASES = {"auto": (AUTO, 0), "S": (PAPER, 1)}
"""Settings, and the seed of the moments at which processes die."""


def without_seconds(data):
    """The same data with the clock taken out."""
    if isinstance(data, dict):
        return {name: without_seconds(value) for name, value in data.items() if not name.endswith("seconds")}
    return [without_seconds(value) for value in data] if isinstance(data, list) else data


def contents(path):
    members = read_archive(path)
    return {**members, "record.json": without_seconds(load_json(members["record.json"]))}


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """All cases in one process, which imports once: the folder of their files, and where each was killed."""
    place, script = tmp_path_factory.mktemp("killed"), Path(__file__).parent / "kill_fit.py"
    command = [sys.executable, str(script), str(place), json.dumps(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return place, json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES)
def test_a_killed_fit_goes_on_and_ends_with_the_same_file(killed, name):
    place, facts = killed[0] / name, killed[1][name]
    assert len(facts["killed"]) == 4, facts
    assert not facts["left"]  # nothing of the run stays when it ends well
    whole, ended = contents(place / "whole.tabtree"), contents(place / "killed.tabtree")
    assert whole.keys() == ended.keys()
    for member in whole:
        assert whole[member] == ended[member], member
