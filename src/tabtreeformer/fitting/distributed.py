"""Several processes that train one network together, started by torchrun: PyTorch's DistributedDataParallel.

Every process reads the same table and draws the same batches, masks and orders; each takes its part of every batch, and
gradients are weighted so that they add up to those of one process. The first process writes; the others are silent.
Only bytes and numbers pass between them, nothing is pickled.
"""

from __future__ import annotations

import atexit
import contextlib
import datetime
import gc
import hashlib
import importlib
import inspect
import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ..artifact.archive import dump_json
from ..errors import ConfigError
from ..model import Network

PATIENCE = datetime.timedelta(days=1)
"""The others wait while the first searches for trees, which may take hours; if one dies, torchrun ends them all."""

_SYNC_BUFFERS = next(
    name
    for name in ("forward_sync_buffers", "broadcast_buffers")
    if name in inspect.signature(nn.parallel.DistributedDataParallel.__init__).parameters
)
"""Our buffers never change and need not be sent around; the option's name depends on PyTorch's version."""

Loss = Callable[[Tensor, Tensor | None, Tensor], Tensor]


@dataclass(frozen=True)
class Team:
    """The processes of a run, of which this is one; most runs have only one."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files and shows progress."""
        return self.rank == 0

    def sum(self, *numbers: float) -> tuple[float, ...]:
        """Each number, added up over all processes."""
        if self.size == 1:
            return numbers
        return tuple(self.total(torch.tensor(numbers, dtype=torch.float64)).tolist())

    def total(self, numbers: Tensor) -> Tensor:
        """A tensor, added up over all processes, in place."""
        if self.size > 1:
            dist.all_reduce(numbers)
        return numbers

    def agreed(self, loss: float, asked: bool, used: float, due: bool) -> tuple[float, bool, float, bool]:
        """The loss of the whole batch; whether any process was asked to stop; the first one's time and checkpoint."""
        own = (used, float(due)) if self.first else (0.0, 0.0)
        loss, n_asked, used, is_due = self.sum(loss, float(asked), *own)
        return loss, n_asked > 0, used, is_due > 0

    def share(self, data: bytes | None) -> bytes | None:
        """The first process's value, in all processes."""
        if self.size == 1:
            return data
        length = torch.tensor([-1 if data is None else len(data)])
        dist.broadcast(length, 0)
        if length < 0:
            return None
        content = torch.zeros(int(length), dtype=torch.uint8)
        if self.first and data:
            content = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        if len(content):
            dist.broadcast(content, 0)
        return content.numpy().tobytes()

    def share_number(self, number: int) -> int:
        """The first process's non-negative integer."""
        return int(self.share(str(number).encode()) or b"0")

    def gather(self, data: Tensor) -> list[Tensor]:
        """A tensor of the same size from each process."""
        if self.size == 1:
            return [data]
        all_data = [torch.empty_like(data) for _ in range(self.size)]
        dist.all_gather(all_data, data)
        return all_data

    def check_same(self, facts: Mapping[str, Any]) -> None:
        """Raise an error if the processes' facts differ: they would train different models."""
        if self.size == 1:
            return
        digests = b"".join(hashlib.sha256(dump_json(fact)).digest() for fact in facts.values())
        own = torch.frombuffer(bytearray(digests), dtype=torch.uint8)
        first, *others = (of_one.numpy().tobytes() for of_one in self.gather(own))
        for rank, other in enumerate(others, start=1):
            for place, name in enumerate(facts):
                part = slice(32 * place, 32 * place + 32)
                if other[part] != first[part]:
                    raise ConfigError(
                        f"process {rank} has another {name} than process 0; all processes must fit the same table with "
                        "the same settings, seed and versions"
                    )

    def part(self, n_rows: int) -> slice:
        """The part of `n_rows` rows that belongs to this process."""
        return slice(n_rows * self.rank // self.size, n_rows * (self.rank + 1) // self.size)

    def pieces(self, n_rows: int, n_pieces: int) -> list[tuple[slice, float]]:
        """Cut this process's part of a batch into `n_pieces` pieces: their rows, and their shares of the batch."""
        own = self.part(n_rows)
        edges = [own.start + (own.stop - own.start) * k // n_pieces for k in range(n_pieces + 1)]
        pieces = [(slice(a, b), (b - a) / n_rows) for a, b in itertools.pairwise(edges) if b > a]
        return pieces or [(slice(0, 1), 0.0)]  # adds nothing, but takes part in the exchange

    def together(self, network: Network, loss: Loss, device: torch.device) -> nn.Module | None:
        """The loss as a module whose backward pass averages the gradients of all processes; None for a single one."""
        if self.size == 1:
            return None
        # Models of other packages have weights that are not used; a table without trees has no leaves to look up.
        unused = network.config.backbone != "gpt2" or any(p.numel() == 0 for p in network.parameters())
        ids = [device.index or 0] if device.type == "cuda" else None
        options: dict[str, Any] = {"device_ids": ids, "find_unused_parameters": unused, _SYNC_BUFFERS: False}
        return nn.parallel.DistributedDataParallel(_LossOf(network, loss), **options)


ALONE = Team()


class _LossOf(nn.Module):
    """A network and its loss as one module, which is what DistributedDataParallel takes."""

    def __init__(self, network: nn.Module, loss: Loss) -> None:
        super().__init__()
        self.network = network
        self._loss = loss

    def forward(self, masked: Tensor, order: Tensor | None, rows: Tensor) -> Tensor:
        return self._loss(masked, order, rows)


def alone(module: nn.Module | None) -> contextlib.AbstractContextManager[Any]:
    """A context in which gradients stay in this process."""
    if isinstance(module, nn.parallel.DistributedDataParallel):
        context: contextlib.AbstractContextManager[Any] = module.no_sync()
        return context
    return contextlib.nullcontext()


def join() -> Team:
    """The team that torchrun started this process in, or a team of one."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size < 2 or "RANK" not in os.environ:
        return Team()
    if not dist.is_initialized():
        # DistributedDataParallel imports this once a group exists, and its functions then reference the group forever.
        importlib.import_module("torch.distributed.nn.functional")
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo", timeout=PATIENCE)
        atexit.register(_leave)
    return Team(dist.get_rank(), dist.get_world_size())


def _leave() -> None:
    """End the threads of the group: one that releases a tensor at interpreter exit would abort the process."""
    if dist.is_initialized():
        gc.collect()  # networks in cycles keep the group alive; its threads end with the last reference
        dist.destroy_process_group()
