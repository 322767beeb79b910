"""What preceding ids say about a slot if all depended on each other as the ranks of normal variables do.

Each id of a number, and of a category with two values, has a place on the normal line, given by its share of the rows.
The correlations of these places predict the next slot's place, in any order of the slots and whatever is masked (a
Gaussian copula). The prediction is added to the logits: a network that learns from a few hundred rows only has to learn
what is not linear, instead of every linear relation first.

Shapes: `N` rows, `B` rows per batch, `D` value slots, `k` of them, `S` ids of a slot, `H` ids of all value slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..tokens import SlotKind, TokenLayout

HIDDEN = 1e4
"""Variance added to a masked place, so that it says nothing."""
EDGE = 1e-3
"""Shares of the rows beyond which no place lies."""
NUGGET = 1e-3
"""Added to the variance of each place, so that no place follows exactly from others."""
ITERATIONS, MAX_STEP, MAX_GAIN = 12, 0.5, 2.0
"""Limits of Newton's method, which finds how far to trust the predictions."""
RIDGE = 1.0
"""Strength of the ridge that pulls this trust towards zero, in rows."""


class Copula(nn.Module):
    """Places of all ids, the correlations of the slots, and how far they are trusted: not at all before learning."""

    places: Tensor
    correlations: Tensor
    gains: Tensor
    starts: Tensor

    def __init__(self, layout: TokenLayout) -> None:
        super().__init__()
        slots = layout.value_slots
        self.sizes = [slot.size for slot in slots]
        self.ranked = [i for i, slot in enumerate(slots) if slot.size == 2 or slot.kind != SlotKind.CATEGORY]
        starts = torch.tensor([sum(self.sizes[:i]) for i in range(len(slots))])
        self.register_buffer("starts", starts, persistent=False)
        self.register_buffer("places", torch.zeros(sum(self.sizes)))  # (H,)
        self.register_buffer("correlations", torch.eye(len(slots)))  # (D, D)
        self.register_buffer("gains", torch.zeros(len(slots), 2))

    @torch.no_grad()
    def learn(self, counts: Sequence[Tensor], rows: Iterable[Tensor], some: Tensor, bias: Tensor) -> None:
        """Learn from rows of local ids, all in parts (n, D) and a few at once (n, D).

        `counts` says how many rows have each id of each slot; `bias` (H,) are the logits where nothing is known.
        """
        for i in self.ranked:
            self.places[self._ids(i)] = _places(counts[i].double()).float()
        self._correlate(rows)
        # Half of them in the table's order, half in random orders, as in training.
        orders = torch.rand(some.shape, generator=torch.Generator().manual_seed(0)).to(some.device).argsort(1)
        orders[::2] = torch.arange(some.shape[1], device=some.device)
        self._weigh(some, orders, bias)

    def _correlate(self, rows: Iterable[Tensor]) -> None:
        """Find the correlations, shrunk by how far single rows are from their mean (Ledoit and Wolf, 2004)."""
        D, n = len(self.sizes), 0
        products, squares = torch.zeros(2, D, D, dtype=torch.float64, device=self.places.device)
        for part in rows:
            z = self.places[part + self.starts].double()  # (n, D)
            products += z.T @ z
            squares += z.square().T @ z.square()
            n += len(z)
        mean = products / n
        off = ~torch.eye(D, dtype=torch.bool, device=mean.device)
        noise = (squares / n - mean.square())[off].sum() / n
        shrunk = mean * (1 - (noise / mean.square()[off].sum().clamp_min(1e-12)).clamp(0, 1))
        self.correlations.copy_(torch.where(off, shrunk, 1.0))

    def _weigh(self, local: Tensor, orders: Tensor, bias: Tensor) -> None:
        """Find how far to trust each slot's prediction, by how likely it makes rows of local ids (n, D)."""
        self.gains.fill_(1.0)
        known = local.gather(1, orders[:, :-1])
        expected = self.expect(known, orders, torch.zeros_like(known, dtype=torch.bool))
        expected = expected.gather(1, orders.argsort(1)[..., None].expand_as(expected)).double()  # in table order
        table = self.table().double()
        self.gains.zero_()
        for i in self.ranked:
            own = self._ids(i)
            self.gains[i] = _likeliest(expected[:, i], table[own], bias[own].double(), local[:, i]).float()

    def is_sound(self) -> bool:
        """Whether any rows can have these correlations."""
        own = self.correlations.double()
        failed = torch.linalg.cholesky_ex(own + NUGGET / 2 * torch.eye(len(own), dtype=own.dtype)).info
        return torch.equal(own, own.T) and bool((own.diagonal() == 1).all()) and int(failed) == 0

    def _ids(self, slot: int) -> slice:
        start = int(self.starts[slot])
        return slice(start, start + self.sizes[slot])

    def table(self) -> Tensor:
        """Factors of a slot's features for each id (H, 2)."""
        return torch.stack([self.places.square(), self.places], dim=1)

    def place(self, local: Tensor, slots: Tensor) -> Tensor:
        """Places of local ids (B, …) of slots."""
        return self.places[self.starts[slots] + local].double()

    def roots(self, order: Tensor, hidden: Tensor | None = None) -> Tensor:
        """Triangular roots of the correlations (1 or B, D, D) in these orders (1 or B, D).

        `hidden` says which positions in the order are masked (B, D).
        """
        ordered = self.correlations.double()[order[:, :, None], order[:, None, :]]
        ordered = ordered + NUGGET * torch.eye(order.shape[1], dtype=torch.float64, device=order.device)
        if hidden is not None:
            ordered = ordered + torch.diag_embed(HIDDEN * hidden.double())
        root: Tensor = torch.linalg.cholesky(ordered)
        return root

    def expect(self, local: Tensor, order: Tensor, hidden: Tensor) -> Tensor:
        """Features (B, k + 1, 2) of the slots at the first k + 1 places of the orders (1 or B, D).

        `local` are the ids at the first k places (B, k), `hidden` says which of them are masked.
        """
        k = local.shape[1]
        masked = nn.functional.pad(hidden, (0, order.shape[1] - k)) if bool(hidden.any()) else None  # (B, D)
        roots = self.roots(order, masked)[:, : k + 1, : k + 1]
        z = self.place(local, order[:, :k]).masked_fill(hidden, 0.0)  # (B, k)
        seen = torch.linalg.solve_triangular(roots[:, :k, :k], z[..., None], upper=False)  # (B, k, 1)
        means = (roots[:, :, :k].tril(-1) @ seen)[..., 0]  # (B, k + 1)
        variances = roots.diagonal(dim1=1, dim2=2).square()
        if masked is not None:
            variances = variances - HIDDEN * masked[:, : k + 1]
        return _features(means, variances) * self.gains[order[:, : k + 1]]

    def follow(self, cache: Any, local: Tensor, order: Tensor) -> Tensor:
        """Features (B, 1, 2) of the slot after the next ids (B, k); `cache` remembers those before."""
        if not hasattr(cache, "copula_rows"):
            cache.copula_rows = CopulaRows(self, order, len(local))
        for ids in local.unbind(1):
            cache.copula_rows.push(ids)
        features: Tensor = cache.copula_rows.features()
        return features[:, None]


class CopulaRows:
    """Rows that take ids slot by slot."""

    def __init__(self, copula: Copula, order: Tensor, n_rows: int) -> None:
        """Start rows in orders (1 or B, D)."""
        self.copula, self.order, self.at = copula, order, 0
        self.roots = copula.roots(order)
        self.seen = torch.zeros(n_rows, order.shape[1], dtype=torch.float64, device=order.device)
        self.means = self.seen[:, 0]

    def push(self, ids: Tensor) -> None:
        """Take the ids (B,) of the next slot."""
        z = self.copula.place(ids, self.order[:, self.at])
        self.seen[:, self.at] = (z - self.means) / self.roots[:, self.at, self.at]
        self.at += 1
        self.means = (self.seen[:, : self.at] * self.roots[:, self.at, : self.at]).sum(1)

    def features(self) -> Tensor:
        """Features of the next slot (B, 2)."""
        variances = self.roots[:, self.at, self.at].square()
        return _features(self.means, variances) * self.copula.gains[self.order[:, self.at]]


def _features(means: Tensor, variances: Tensor) -> Tensor:
    """Factors of a place's square and of the place itself in the logits (…, 2), given means and variances (…).

    The sum is the logarithm of how much more likely a normal place is given what came before than by itself.
    """
    inverse = (1 / variances.clamp_min(NUGGET)).expand_as(means)
    return torch.stack([0.5 - 0.5 * inverse, means * inverse], dim=-1).float()


def _places(counts: Tensor) -> Tensor:
    """Where each id lies on the normal line, with mean 0 and deviation 1 over the rows (S,)."""
    places = torch.special.ndtri(((counts.cumsum(0) - counts / 2) / counts.sum()).clamp(EDGE, 1 - EDGE))
    places = places - (places * counts).sum() / counts.sum()
    spread = (places.square() * counts).sum() / counts.sum()
    return places / spread.sqrt() if spread > 0 else torch.zeros_like(places)


def _likeliest(expected: Tensor, table: Tensor, bias: Tensor, ids: Tensor) -> Tensor:
    """The gains (2,) of features (n, 2) that make ids (n,) most likely; none is below 0."""
    gains = torch.zeros(2, dtype=torch.float64, device=ids.device)
    each = expected[:, None] * table  # (n, S, 2)
    own = each[torch.arange(len(ids), device=ids.device), ids].sum(0)
    ridge = RIDGE * torch.eye(2, dtype=torch.float64, device=ids.device)
    for _ in range(ITERATIONS):
        shares = torch.softmax(bias + each @ gains, dim=1)  # (n, S)
        means = (shares[..., None] * each).sum(1)  # (n, 2)
        bend = torch.einsum("ns,nsi,nsj->ij", shares, each, each) - means.T @ means + ridge
        step = torch.linalg.solve(bend, own - means.sum(0) - RIDGE * gains)
        gains = (gains + step.clamp(-MAX_STEP, MAX_STEP)).clamp(0.0, MAX_GAIN)
    return gains
