"""Embeddings of ids that follow from their rank, so that neighbouring ids of a number are similar from the start.

Shapes: `S` ids of a slot, `r` smooth functions, `d` width.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..config.settings import ModelConfig
from ..tokens import Slot, TokenLayout
from .decoder import INIT_STD
from .embedding import quantile_embedding
from .sizes import number_slots

OWN_ROWS = 50
"""Ids of numbers in this many rows or more, or far more common than their neighbours, also have their own embedding."""
SPIKE_REACH = 3
"""An id is compared with this many on either side to see whether it is far more common than they are."""


class SmoothTable(nn.Module):
    """Adds smooth functions of an id's rank to a table of embeddings, in slots of numbers.

    Neighbouring ids of a number then start similar and learn together, which a few hundred rows could not teach them.
    """

    basis: Tensor
    rows: Tensor
    cells: Tensor
    own: Tensor

    def __init__(
        self,
        layout: TokenLayout,
        config: ModelConfig,
        spare: int,
        generator: torch.Generator | None,
        *,
        raw: bool = False,
    ) -> None:
        """Take the slots in order; `spare` rows of the table follow each slot's ids.

        With `raw`, the value of an id itself is one more function.
        """
        super().__init__()
        n_functions = config.functions + raw
        slots = layout.value_slots
        starts = [sum(slot.size + spare for slot in slots[:i]) for i in range(len(slots))]
        numbers = number_slots(layout)
        widest = max((slots[i].size for i in numbers), default=0)
        basis = torch.zeros(len(numbers), widest, n_functions)  # (n, S, r)
        rows, cells = [torch.zeros(0, dtype=torch.long)], [torch.zeros(0, dtype=torch.long)]
        for place, i in enumerate(numbers):
            functions = quantile_embedding(slots[i].size, config.functions)
            if raw:
                functions = torch.cat([functions, _values(slots[i])[:, None]], dim=1)
            basis[place, : slots[i].size] = (functions - functions.mean(0)) / functions.std(0).clamp_min(1e-6)
            rows.append(starts[i] + torch.arange(slots[i].size))
            cells.append(place * widest + torch.arange(slots[i].size))
        self.register_buffer("basis", basis, persistent=False)
        self.register_buffer("rows", torch.cat(rows), persistent=False)
        self.register_buffer("cells", torch.cat(cells), persistent=False)
        # 0 where an id has only its rank: stored with the weights, since it comes from the data.
        self.register_buffer("own", torch.ones(sum(slot.size + spare for slot in slots), 1))  # (rows, 1)
        self.weight = nn.Parameter(torch.empty(len(numbers), n_functions, config.width))
        nn.init.normal_(self.weight, std=INIT_STD / n_functions**0.5, generator=generator)

    def keep_own(self, own: Tensor) -> None:
        """Set which ids, of all slots of numbers in order, have an embedding of their own."""
        self.own[self.rows, 0] = own.to(self.own)

    def forward(self, table: Tensor) -> Tensor:
        """(rows, d) → (rows, d)."""
        smooth = torch.bmm(self.basis, self.weight).flatten(0, 1)  # (n * S, d)
        return (table * self.own).index_add(0, self.rows, smooth[self.cells].to(table.dtype))

    def functions(self) -> Tensor:
        """What the smooth functions are at each row of the table, (rows, r); 0 where a row has none."""
        flat = self.basis.flatten(0, 1)[self.cells]
        return flat.new_zeros(len(self.own), flat.shape[1]).index_copy(0, self.rows, flat)


def _values(slot: Slot) -> Tensor:
    """The numbers that the ids of a slot represent (S,), standardised; 0 for ids that represent none."""
    values = torch.zeros(slot.size, dtype=torch.float64)
    if slot.centres:
        centres = torch.tensor(slot.centres, dtype=torch.float64)
        centres = centres / centres.abs().max().clamp_min(1e-300)
        values[: len(centres)] = (centres - centres.mean()) / centres.std().clamp_min(1e-300)
    return values.float()


def stands_out(counts: Tensor, rows: int) -> Tensor:
    """Ids (S,) common enough to be learned one by one: in `rows` rows, or a fifth of that and twice their neighbours'.

    The latter are values such as a common rate among uncommon ones, which mean more than their rank.
    """
    reach = SPIKE_REACH
    padded = nn.functional.pad(counts.float(), (reach, reach), value=math.nan)
    around = padded.unfold(0, 2 * reach + 1, 1)  # (S, 2 reach + 1)
    around = torch.cat([around[:, :reach], around[:, reach + 1 :]], dim=1)
    return (counts >= rows) | ((5 * counts >= rows) & (counts >= 2 * around.nanmedian(1).values))
