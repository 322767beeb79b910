"""Fits in two processes, started by torchrun from test_team.py; the first prints what became of it as JSON."""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

import torch

from tabtreeformer import TabTreeFormer, cli
from tabtreeformer.errors import ConfigError
from tabtreeformer.fitting import distributed as team
from tabtreeformer.fitting.run import Run


class Killed(BaseException):
    """What no code of ours catches."""


def table():
    sys.path.insert(0, str(Path(__file__).parent / "checkpoint"))
    from kill_fit import table

    return table()


def fit(settings, df=None, **options):
    torch.set_num_threads(1)
    model = TabTreeFormer(**settings, device="cpu", random_state=3, verbose=False)
    return model.fit(table() if df is None else df, **options)


def resumed(settings, folder):
    """Fall dead in the middle, in all processes, and go on."""
    update, count = Run.update, iter(range(10**6))

    def mortal(run):
        if next(count) >= 20:
            raise Killed
        return update(run)

    Run.update = mortal
    try:
        fit(settings, checkpoint_dir=folder, checkpoint_every=0.0)
    except Killed:
        pass
    finally:
        Run.update = update
    if os.environ["RANK"] == "0":  # to the other it may be between two names
        assert (Path(folder) / "network_1.checkpoint").exists()
    return fit(settings, checkpoint_dir=folder)


def refusal(settings, **changes):
    """What this process says when the second process is asked for something else."""
    second = os.environ["RANK"] == "1"
    try:
        fit({**settings, **(changes if second else {})}, table()[::-1] if second and not changes else None)
    except ConfigError as error:
        return str(error)


def command(place):
    """`ttf fit` in this team: the exit code, and what this process prints."""
    settings = ("train.steps=8", "train.batch_size=16", "model.width=16", "model.heads=2")
    words = ["--holdout", "0.2", "--resume", "--privacy", "off", *(f"--set={s}" for s in settings)]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            cli.main(["fit", str(place / "t.csv"), "-o", str(place / "t.tabtree"), *words])
        except SystemExit as end:
            return {"code": end.code, "out": out.getvalue(), "place": str(place)}


def threads():
    """The names of this process' threads, where the system tells them."""
    return [place.read_text().strip() for place in Path("/proc/self/task").glob("*/comm")]


def weights(model):
    return [p.double().sum().item() for network in model.fitted_.models for p in network.parameters()]


def main(place, cases):
    facts = {"fits": {}}
    for name, settings in cases.items():
        model = fit(settings)
        facts["fits"][name] = {"record": model.fitted_.record, "weights": weights(model)}
        if name == "S":
            again = resumed(settings, Path(place) / "run")
            facts["resumed"] = {"record": again.fitted_.record, "weights": weights(again)}
    facts["no seed"] = TabTreeFormer(**cases["auto"], device="cpu", verbose=False).fit(table()).fitted_.record["seed"]
    facts["another table"] = refusal(cases["auto"])
    facts["another setting"] = refusal(cases["auto"], train={"steps": 2})
    facts["command"] = command(Path(place) / "command")
    facts["threads before"] = threads()
    team._leave()  # what the interpreter calls when it ends
    facts["threads after"] = threads()
    (Path(place) / f"{os.environ['RANK']}.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
