"""The complete state of a run of steps as plain data and tensors, and back, bit for bit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..history import History
from .folder import State

if TYPE_CHECKING:
    from ..run import Run

COPIES = 4
"""Weights, the best ones, and the two moments of AdamW."""


def checkpoint_bytes(n_parameters: int) -> int:
    """Maximum size of the checkpoints of both networks: the newest, and the one before."""
    return 2 * 2 * COPIES * 4 * n_parameters


def run_state(run: Run, *, done: bool) -> tuple[State, dict[str, Tensor]]:
    """The state after a step; for a finished run, only its result."""
    state: State = {"history": run.history.to_json()}
    tensors = _named("model", run.model.state_dict())
    if done:
        return state, tensors
    best = run.stopping.best
    state |= {
        "batch_size": run.updater.batch_size,
        "batches": run.batches.to_json(),
        "masks": run.mask_rng.bit_generator.state,
        "losses": run.losses,
        "stopping": {"best": best if math.isfinite(best) else None, "waited": run.stopping.waited},
        "scaler": run.updater.scaler.state_dict(),
    }
    if run.best is not None:
        tensors |= _named("best", run.best)
    for number, moments in run.updater.optimizer.state_dict()["state"].items():
        tensors |= _named(f"optimizer.{number}", moments)
    dropout_states = run.team.gather(_dropout_state(run.updater.device))
    return state, tensors | {f"dropout.{rank}": state for rank, state in enumerate(dropout_states)}


def restore_run(run: Run, state: State, tensors: dict[str, Tensor]) -> None:
    """Continue from a state."""
    run.history = History.from_json(state["history"])
    run.model.load_state_dict(_part(tensors, "model"))
    if state["done"]:
        return
    updater = run.updater
    updater.batch_size, run.losses = state["batch_size"], state["losses"]
    run.batches.go_on(state["batches"])
    run.mask_rng.bit_generator.state = state["masks"]
    best = state["stopping"]["best"]
    run.stopping.best, run.stopping.waited = math.inf if best is None else best, state["stopping"]["waited"]
    updater.scaler.load_state_dict(state["scaler"])
    run.best = {name: t.to(updater.device) for name, t in _part(tensors, "best").items()} or None
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in _part(tensors, "optimizer").items():
        number, _, moment = name.partition(".")
        moments.setdefault(int(number), {})[moment] = tensor
    groups = updater.optimizer.state_dict()["param_groups"]
    updater.optimizer.load_state_dict({"state": moments, "param_groups": groups})
    _set_dropout_state(updater.device, tensors[f"dropout.{run.team.rank}"])


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
