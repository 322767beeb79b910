"""The privacy budget of a fit, and how its parts spend it.

Every part is a Gaussian mechanism: noisy counts for the codec, noisy sums of clipped gradients for the network. A part
is described by its noise multiplier (noise divided by sensitivity), its sampling rate (1: all rows) and its number of
steps; opacus composes the parts by Rényi differential privacy. Neighbouring tables differ by one added or removed row;
the number of rows is treated as public.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from ...errors import ConfigError, import_extra

THRESHOLD_SHARE = 0.1
"""Share of delta for values found in the rows: the probability of releasing a value of a single row."""
ALPHAS = [1 + k / 5 for k in range(1, 21)] + [k / 2 for k in range(11, 24)] + list(range(12, 33))
ALPHAS += [36, 40, 48, 56, 64, 80, 100, 128, 192, 256, 384, 512, 1024]
"""Orders of Rényi divergence; the best one is used."""

Part = tuple[float, float, int]
"""Noise multiplier, share of rows drawn, times."""


@dataclass(frozen=True, kw_only=True)
class DP:
    """An (epsilon, delta) differential privacy guarantee for every row of the table.

    Examples
    --------
    >>> TabTreeFormer(dp=DP(epsilon=4)).fit(df, schema=schema)  # doctest: +SKIP
    """

    epsilon: float
    """Maximum change of the log-probability of any outcome when a row is added or removed."""
    delta: float | None = None
    """Probability that the guarantee fails; by default 1 / (2 rows²), and always below 1 / rows."""
    codec_share: float = 0.1
    """Share of the budget for category lists, ranges, intervals and frequencies; the rest trains the network."""

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, int | float) and 0 < self.epsilon < math.inf):
            raise ConfigError(f"dp.epsilon must be above 0 and finite, got {self.epsilon!r}")
        if self.delta is not None and not 0 < self.delta < 1:
            raise ConfigError(f"dp.delta must be between 0 and 1, got {self.delta!r}")
        if not 0 < self.codec_share < 1:
            raise ConfigError(f"dp.codec_share must be between 0 and 1, got {self.codec_share!r}")

    def check_run(self, checkpoints: bool, n_processes: int) -> None:
        """Raise an error for a fit that the guarantee cannot cover.

        Parameters
        ----------
        checkpoints
            Whether the fit writes checkpoints.
        n_processes
            Number of training processes.

        Examples
        --------
        >>> DP(epsilon=4).check_run(checkpoints=False, n_processes=1)
        """
        if checkpoints:
            raise ConfigError(
                "checkpoints would contain state without noise; under differential privacy leave checkpoint_dir out"
            )
        if n_processes > 1:
            raise ConfigError("differential privacy trains in one process; start it without torchrun")

    def delta_for(self, n_rows: int) -> float:
        """Return the delta of a table.

        Parameters
        ----------
        n_rows
            Rows of the table.

        Examples
        --------
        >>> DP(epsilon=4).delta_for(1000)
        5e-07
        """
        delta = 0.5 / n_rows**2 if self.delta is None else self.delta
        if delta >= 1 / n_rows:
            raise ConfigError(
                f"dp.delta={delta!r} is not below 1 / rows (the table has {n_rows:,}): it would allow publishing a "
                "whole row; choose a smaller one, or leave it out"
            )
        return delta


@dataclass(frozen=True)
class Plan:
    """The budget of every part of a fit, fixed before any row is read."""

    epsilon: float
    delta: float
    n_histograms: int
    """Number of histograms of the codec; a row counts once in each."""
    n_found: int
    """Number of histograms whose values are found in the rows instead of given."""
    codec_noise: float
    """Noise multiplier of all histograms together."""
    train_noise: float
    sample_rate: float
    steps: int

    @property
    def count_noise(self) -> float:
        """Standard deviation of the noise of a count: a row changes n histograms by one each, which has norm √n."""
        return self.codec_noise * math.sqrt(max(self.n_histograms, 1))

    @property
    def threshold_delta(self) -> float:
        """Part of delta spent on finding values."""
        return self.delta * THRESHOLD_SHARE if self.n_found else 0.0

    @property
    def threshold(self) -> float:
        """Minimum noisy count of a found value; the value of a single row hardly ever reaches it.

        A row can add one new value to each histogram, so the probability is shared among them. Noise is rounded to
        whole rows and the threshold is rounded up, so that rounding releases nothing more.
        """
        if not self.n_found:
            return 0.0
        return 1 + math.ceil(self.count_noise * -NormalDist().inv_cdf(self.threshold_delta / self.n_found))

    @property
    def codec_part(self) -> Part:
        """All histograms as one mechanism on all rows."""
        return self.codec_noise, 1.0, 1

    def spent(self, steps: int) -> dict[str, Any]:
        """The budget spent after this many steps, as plain data."""
        training = (self.train_noise, self.sample_rate, steps)
        delta = self.delta - self.threshold_delta
        total = total_epsilon([self.codec_part, training], delta)
        return {
            # A value of a single row that is let through, with a chance below threshold_delta, is all that the
            # accountant does not see; leaving that case out costs -log(1 - threshold_delta).
            "epsilon": total - math.log1p(-self.threshold_delta),
            "delta": self.delta,
            "codec_epsilon_alone": total_epsilon([self.codec_part], delta),
            "training_epsilon_alone": total_epsilon([training], delta),
            "threshold_delta": self.threshold_delta,
            "codec_noise_multiplier": self.codec_noise,
            "histograms": self.n_histograms,
            "training_noise_multiplier": self.train_noise,
            "sample_rate": self.sample_rate,
            "steps": steps,
            "accountant": "opacus RDP",
        }


def make_plan(dp: DP, n_rows: int, n_histograms: int, n_found: int, batch_size: int, steps: int) -> Plan:
    """Choose the noise of all parts so that together they meet the guarantee."""
    delta = dp.delta_for(n_rows)
    rate = min(1.0, batch_size / n_rows)
    found = delta * THRESHOLD_SHARE if n_found else 0.0
    epsilon = dp.epsilon + math.log1p(-found)
    whole = _least_noise(lambda noise: total_epsilon([(noise, 1.0, 1)], delta - found), epsilon)
    codec = whole / math.sqrt(dp.codec_share)  # budgets of Gaussian mechanisms add up by the squares of 1 / noise
    train = _least_noise(lambda noise: total_epsilon([(codec, 1.0, 1), (noise, rate, steps)], delta - found), epsilon)
    return Plan(dp.epsilon, delta, n_histograms, n_found, codec, train, rate, steps)


def total_epsilon(parts: Sequence[Part], delta: float) -> float:
    """Epsilon of all parts together."""
    accountant = import_extra("opacus.accountants", "dp").RDPAccountant()
    accountant.history = [part for part in parts if part[2]]
    if not accountant.history:
        return 0.0
    with warnings.catch_warnings():
        # If the best order is the first or last one, the bound is valid but looser than necessary.
        warnings.filterwarnings("ignore", message="Optimal order is")
        return float(accountant.get_epsilon(delta=delta, alphas=ALPHAS))


def _least_noise(epsilon_of: Any, most: float) -> float:
    """The smallest noise multiplier, to three decimals, with an epsilon of at most `most`."""
    low = high = 1.0
    while epsilon_of(high) > most:
        low, high = high, high * 2
        if high > 1e6:
            raise ConfigError(
                f"no amount of noise gives epsilon {most:.3g}; choose a larger epsilon or fewer train.steps"
            )
    while low == high or epsilon_of(low) <= most:
        high, low = low, low / 2
        if low < 1e-3:
            return high
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if epsilon_of(middle) <= most else (middle, high)
    return high
