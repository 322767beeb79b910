"""Models as seen by the gate: rows of one half, rows of the whole model, and likelihoods.

A half of the model was trained on half of the rows: one of the two networks, or a forest grown on half of the rows for
the verdict.

Shapes: `N` rows, `T` trees, `D` value slots.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...artifact.fitted import Fitted
from ...fitting.evidence import Evidence

Ids = NDArray[np.int32]
Floats = NDArray[np.float64]
UNLIKELY = -1e4
"""Log-likelihood of a row that a forest cannot write."""


class Subject(Protocol):
    """A model under attack."""

    name: str
    """Name of a half."""

    def write_half(self, j: int, n: int, rng: np.random.Generator) -> Ids:
        """Rows written by half j alone (n, D)."""

    def write_whole(self, n: int, rng: np.random.Generator) -> Ids:
        """Rows written by the whole model (n, D)."""

    def half_logs(self, j: int, leaf_ids: NDArray[np.int64], values: NDArray[np.int64]) -> Floats:
        """Log-likelihood of rows under half j (N,)."""

    def other_logs(self, j: int, leaf_ids: NDArray[np.int64], values: NDArray[np.int64]) -> Floats | None:
        """The same under the other half; None if there is none."""

    def whole_scores(self, leaf_ids: NDArray[np.int64], values: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Two membership scores: likelihood under the whole model, and a calibrated likelihood."""


class Networks:
    """Two networks, each trained on its half."""

    name = "network"

    def __init__(self, fitted: Fitted) -> None:
        self.fitted = fitted

    def write_half(self, j: int, n: int, rng: np.random.Generator) -> Ids:
        """Rows of network j, after prompts of its bank."""
        from ...sampling import Sampler

        sampler = Sampler(self.fitted.models[j], self.fitted.config.sampling)
        return sampler.draw(self.fitted.prompts[j].draw(n, rng), rng, _quietly)

    def write_whole(self, n: int, rng: np.random.Generator) -> Ids:
        """Half of the rows from each network, or all rows from both together."""
        if self.fitted.config.sampling.committee:
            from ...sampling.committee import Committee

            committee = Committee(self.fitted.models, self.fitted.config.sampling)
            prompts = [bank.draw((n + j) // 2, rng) for j, bank in enumerate(self.fitted.prompts)]
            return committee.draw(np.concatenate(prompts), rng, _quietly)
        return np.concatenate([self.write_half(j, (n + j) // 2, rng) for j in range(2)])

    def half_logs(self, j: int, leaf_ids: NDArray[np.int64], values: NDArray[np.int64]) -> Floats:
        """Under network j."""
        from .likelihood import attack_tokens, log_likelihoods

        blank = self.fitted.config.model.any_order
        tokens = attack_tokens(self.fitted.layout, leaf_ids, values, blank_prompts=blank)
        return log_likelihoods(self.fitted.models[j], tokens)

    def other_logs(self, j: int, leaf_ids: NDArray[np.int64], values: NDArray[np.int64]) -> Floats | None:
        """Under the other network."""
        return self.half_logs(1 - j, leaf_ids, values)

    def whole_scores(self, leaf_ids: NDArray[np.int64], values: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Likelihood of the mixture, and disagreement of the networks, because one saw a training row and the other did
        not.
        """
        first, second = (self.half_logs(j, leaf_ids, values) for j in range(2))
        return np.logaddexp(first, second), np.abs(first - second)


class Forests:
    """A forest, and another one grown on half of its rows."""

    name = "half"

    def __init__(self, fitted: Fitted, evidence: Evidence, seed: np.random.SeedSequence) -> None:
        from ...fitting.forest import grow_forest

        config, layout = fitted.config.forest, fitted.layout
        assert fitted.forest is not None
        assert config is not None
        self.whole = fitted.forest
        learned = layout.value_ids(np.asarray(evidence.tokens[evidence.parts[0][0]]))
        self.half = grow_forest(learned, layout, config, seed)

    def write_half(self, j: int, n: int, rng: np.random.Generator) -> Ids:
        """Rows of the forest of the half."""
        from ...forest import draw_rows

        return draw_rows(self.half, n, rng)

    def write_whole(self, n: int, rng: np.random.Generator) -> Ids:
        """Rows of the forest."""
        from ...forest import draw_rows

        return draw_rows(self.whole, n, rng)

    def half_logs(self, j: int, leaf_ids: NDArray[np.int64], values: NDArray[np.int64]) -> Floats:
        """Under the forest of the half."""
        from ...forest import log_prob

        return np.maximum(log_prob(self.half, values), UNLIKELY)

    def other_logs(self, j: int, leaf_ids: NDArray[np.int64], values: NDArray[np.int64]) -> Floats | None:
        """No other half is grown for it."""
        return None

    def whole_scores(self, leaf_ids: NDArray[np.int64], values: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Likelihood under the forest, and its ratio to the likelihood under the forest of the half."""
        from ...forest import log_prob

        own = np.maximum(log_prob(self.whole, values), UNLIKELY)
        return own, own - self.half_logs(0, leaf_ids, values)


def subject_of(fitted: Fitted, evidence: Evidence, seed: np.random.SeedSequence) -> Subject:
    """Return the subject for a fitted model."""
    return Networks(fitted) if fitted.forest is None else Forests(fitted, evidence, seed)


def _quietly(rows: int) -> None:
    """No progress."""
