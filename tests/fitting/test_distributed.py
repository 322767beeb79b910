import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tabtreeformer import TabTreeFormer
from tabtreeformer.fitting.distributed import Team

sys.path.insert(0, str(Path(__file__).parent / "checkpoint"))
from kill_fit import table

SMALL = {"width": 16, "feed_forward": 32, "heads": 2, "layers": 1}
STEPS = {"steps": 24, "batch_size": 11, "validate_every": 5}  # 90 rows: halves of 45, whose last batch is one row
TREE = {"trials": 0, "params": {"n_estimators": 4, "num_leaves": 5}}
PAPER = {"preset": "S", "tree": TREE, "tokens": {"quantiles": 20, "bins": 4}, "privacy": "off"}
CASES = {
    "auto": {"model": SMALL, "train": STEPS, "privacy": "off"},
    "S": {**PAPER, "model": SMALL, "train": STEPS},
    "pieces of half precision": {
        **PAPER,
        "model": {**SMALL, "dropout": 0.0},
        "train": {**STEPS, "precision": "bf16", "accumulate": 2},
    },
    "no trees": {"tree": "none", "model": SMALL, "train": STEPS, "privacy": "off"},
}


def torchrun(*words):
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run([*launch, *map(str, words)], capture_output=True, text=True, timeout=900)


def curve(record):
    return [v for history in record["training"] for v in history["validations"]]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What both processes found."""
    place = tmp_path_factory.mktemp("team")
    (place / "command").mkdir()
    table().to_csv(place / "command" / "t.csv", index=False)
    done = torchrun(Path(__file__).parent / "distributed_fit.py", place, json.dumps(CASES))
    assert done.returncode == 0, done.stderr
    return [json.loads((place / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system does not name the threads of a process")
def test_no_thread_of_the_group_is_left_when_a_process_ends(both):
    for facts in both:
        assert any("gloo" in name for name in facts["threads before"])
        assert not any("gloo" in name for name in facts["threads after"])


@pytest.mark.parametrize(
    ("name", "tolerance"), [("auto", 1e-4), ("pieces of half precision", 0.02), ("no trees", 1e-4)]
)
def test_two_processes_have_the_losses_of_one(both, name, tolerance):
    alone = TabTreeFormer(**CASES[name], device="cpu", random_state=3, verbose=False).fit(table())
    team = both[0]["fits"][name]["record"]
    assert [h["steps"] for h in team["training"]] == [h["steps"] for h in alone.fitted_.record["training"]]
    assert [h["rows"] for h in team["training"]] == [h["rows"] for h in alone.fitted_.record["training"]]
    one, other = np.array(curve(alone.fitted_.record)), np.array(curve(team))
    assert len(one) > 6  # of both networks
    assert np.allclose(one, other, rtol=tolerance, atol=tolerance)
    assert not np.array_equal(one, other)  # else there was no team


@pytest.mark.parametrize("name", CASES)
def test_all_processes_end_with_the_same_networks(both, name):
    one, other = (facts["fits"][name] for facts in both)
    assert one["weights"] == other["weights"]
    assert curve(one["record"]) == curve(other["record"])


def test_a_team_that_was_cut_short_goes_on_to_the_same_networks(both):
    for facts in both:  # with dropout, of which each process has its own
        assert facts["resumed"]["weights"] == facts["fits"]["S"]["weights"]
        assert curve(facts["resumed"]["record"]) == curve(facts["fits"]["S"]["record"])


def test_processes_without_a_seed_share_one(both):
    assert both[0]["no seed"] == both[1]["no seed"]


def test_processes_that_disagree_say_so(both):
    for facts in both:
        assert facts["another table"].startswith("process 1 has another table than process 0; all processes must fit")
        assert facts["another setting"].startswith("process 1 has another settings than process 0")


def test_the_command_line_writes_one_model_and_speaks_once(both):
    assert [facts["command"]["code"] for facts in both] == [0, 0]
    assert "".join(facts["command"]["out"] for facts in both).count("learned 72 rows × 4 columns") == 1
    place = Path(both[0]["command"]["place"])
    assert sorted(p.name for p in place.iterdir()) == ["t.csv", "t.holdout.csv", "t.tabtree", "t.train.csv"]
    assert len(TabTreeFormer.load(place / "t.tabtree", verbose=False).sample(7)) == 7


@pytest.mark.parametrize("n_rows", [1, 2, 3, 64, 65])
@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("n_pieces", [1, 2, 7])
def test_the_pieces_of_all_processes_are_the_batch(n_rows, size, n_pieces):
    pieces = [piece for rank in range(size) for piece in Team(rank, size).pieces(n_rows, n_pieces)]
    taken = [row for part, share in pieces if share for row in range(part.start, part.stop)]
    assert taken == list(range(n_rows))
    assert math.isclose(sum(share for _, share in pieces), 1.0)
    assert all(len(Team(rank, size).pieces(n_rows, n_pieces)) >= 1 for rank in range(size))


@pytest.mark.parametrize("name", ["auto", "no trees"])
def test_a_step_in_pieces_is_the_same_step(name):
    settings = CASES[name]
    whole, pieces = (
        TabTreeFormer(**{**settings, "train": {**STEPS, "accumulate": n}}, random_state=3, device="cpu", verbose=False)
        .fit(table())
        .fitted_.record
        for n in (1, 4)
    )
    assert np.allclose(curve(whole), curve(pieces), rtol=1e-4)
    assert curve(whole) != curve(pieces)
