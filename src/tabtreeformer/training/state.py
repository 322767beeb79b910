"""All that a run of steps is in the middle, as plain data and tensors, and back: to the bit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .checkpoint import Stage, State
from .meter import Reading

if TYPE_CHECKING:
    from .trainer import _Run

COPIES = 5
"""Weights, their average, the best ones, and the two moments of AdamW."""


def checkpoint_bytes(n_parameters: int) -> int:
    """What the checkpoints of both networks take at most: the newest, and the one before."""
    return 2 * 2 * COPIES * 4 * n_parameters


def state_of(run: _Run, elapsed: float, *, done: bool = False) -> tuple[State, dict[str, Tensor]]:
    """The state after a step, before that step is judged; of a run that is done, what it leaves behind."""
    state: State = {"done": done, "history": run.history.to_json(), "elapsed": elapsed}
    tensors = _named("model", run.model.state_dict())
    if done:
        return state, tensors
    best = run.stopping.best
    state |= {
        "batch_size": run.batch_size,
        "batches": run.batches.to_json(),
        "masks": run.mask_rng.bit_generator.state,
        "losses": run.losses,
        "stopping": {"best": best if math.isfinite(best) else None, "waited": run.stopping.waited},
        "scaler": run.scaler.state_dict(),
    }
    if run.kept is not run.model:
        tensors |= _named("kept", run.kept.state_dict())
    if run.best is not None:
        tensors |= _named("best", run.best)
    for number, moments in run.optimizer.state_dict()["state"].items():
        tensors |= _named(f"optimizer.{number}", moments)
    tensors |= {f"dropout.{rank}": t for rank, t in enumerate(run.team.gather(_dropout_state(run.device)))}
    return state, tensors


def restore(run: _Run, checkpoints: Stage) -> tuple[bool, float]:
    """Take up the last state if there is one; say whether the run was done, and how long it had taken."""
    loaded = checkpoints.load()
    if loaded is None:
        return False, 0.0
    state, tensors = loaded
    history: dict[str, Any] = state["history"]
    history["validations"] = [tuple(validation) for validation in history["validations"]]
    history["readings"] = [Reading(**reading) for reading in history["readings"]]
    run.history.__dict__.update(history)
    run.model.load_state_dict(_part(tensors, "model"))
    if state["done"]:
        return True, state["elapsed"]
    run.batch_size, run.losses = state["batch_size"], state["losses"]
    run.batches.go_on(state["batches"])
    run.mask_rng.bit_generator.state = state["masks"]
    best = state["stopping"]["best"]
    run.stopping.best, run.stopping.waited = math.inf if best is None else best, state["stopping"]["waited"]
    run.scaler.load_state_dict(state["scaler"])
    if run.kept is not run.model:
        run.kept.load_state_dict(_part(tensors, "kept"))
    run.best = {name: t.to(run.device) for name, t in _part(tensors, "best").items()} or None
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in _part(tensors, "optimizer").items():
        number, _, moment = name.partition(".")
        moments.setdefault(int(number), {})[moment] = tensor
    groups = run.optimizer.state_dict()["param_groups"]
    run.optimizer.load_state_dict({"state": moments, "param_groups": groups})
    _set_dropout_state(run.device, tensors[f"dropout.{run.team.rank}"])
    return False, state["elapsed"]


def _named(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) + 1 :]: tensor for name, tensor in tensors.items() if name.startswith(prefix + ".")}


def _dropout_state(device: torch.device) -> Tensor:
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.random.get_rng_state()


def _set_dropout_state(device: torch.device, state: Tensor) -> None:
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.random.set_rng_state(state)
