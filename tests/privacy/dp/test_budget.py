"""What parts spend, against formulas that are written down here anew."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from tabtreeformer import DP
from tabtreeformer.errors import ConfigError
from tabtreeformer.privacy.dp.budget import ALPHAS, Plan, make_plan, total_epsilon

pytest.importorskip("opacus")


def to_epsilon(rdp_of, delta):
    """Rényi to (ε, δ), as Canonne, Kamath and Steinke have it."""
    return min(
        rdp_of(a) + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1)
        for a in ALPHAS
        if a == int(a) and a > 1
    )


def subsampled_rdp(noise: float, rate: float, alpha: int) -> float:
    """Rényi divergence of a Gaussian on a Poisson sample, at whole orders (Mironov, Talwar and Zhang)."""
    terms = [
        math.log(math.comb(alpha, k))
        + k * math.log(rate)
        + (alpha - k) * math.log1p(-rate)
        + (k * k - k) / (2 * noise**2)
        for k in range(alpha + 1)
    ]
    most = max(terms)
    return (most + math.log(sum(math.exp(t - most) for t in terms))) / (alpha - 1)


def test_the_total_of_codec_and_training_is_that_of_the_formulas():
    codec, training, delta = (12.0, 1.0, 1), (1.1, 0.02, 300), 1e-5
    by_hand = to_epsilon(
        lambda a: a / (2 * codec[0] ** 2) + training[2] * subsampled_rdp(training[0], training[1], int(a)), delta
    )
    total = total_epsilon([codec, training], delta)
    assert total <= by_hand + 1e-9
    assert total == pytest.approx(by_hand, rel=0.02)  # fractional orders, which are not tried here, win a little


def test_rdp_is_above_the_exact_curve_of_a_single_gaussian():
    noise, delta = 3.0, 1e-5
    epsilon = total_epsilon([(noise, 1.0, 1)], delta)
    exact = norm.cdf(0.5 / noise - epsilon * noise) - math.exp(epsilon) * norm.cdf(-0.5 / noise - epsilon * noise)
    assert exact <= delta


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_plan_spends_no_more_than_was_promised_and_nearly_all_of_it(epsilon):
    plan = make_plan(DP(epsilon=epsilon, delta=1e-5), 10_000, n_histograms=9, n_found=2, batch_size=200, steps=100)
    spent = plan.spent(100)
    assert 0.98 * epsilon < spent["epsilon"] <= epsilon
    assert spent["codec_epsilon_alone"] < 0.6 * epsilon
    assert plan.spent(50)["epsilon"] < spent["epsilon"]


def test_noise_of_counts_grows_with_the_root_of_the_histograms():
    dp = DP(epsilon=2, delta=1e-5)
    one, four = (make_plan(dp, 10_000, n, 0, 100, 10).count_noise for n in (1, 4))
    assert four == pytest.approx(2 * one)


@pytest.mark.parametrize("delta", [1e-5, 1e-16, 1e-300])
@pytest.mark.parametrize("codec_noise", np.linspace(0.3, 3.0, 25))
def test_the_threshold_lets_the_value_of_one_row_through_with_no_more_than_its_part_of_delta(codec_noise, delta):
    plan = Plan(2.0, delta, 5, 3, codec_noise, 1.0, 0.1, 10)
    assert plan.threshold_delta == pytest.approx(delta / 10)
    # A count of one and noise that is rounded to whole rows: it passes from the next half on.
    passes = norm.sf((math.floor(plan.threshold) - 1 + 0.5) / plan.count_noise)
    assert plan.n_found * passes <= plan.threshold_delta
    assert plan.n_found * norm.sf((plan.threshold - 2) / plan.count_noise) > plan.threshold_delta  # and not much less


def test_a_smaller_epsilon_means_more_noise_everywhere():
    small, large = (make_plan(DP(epsilon=e, delta=1e-5), 10_000, 5, 1, 100, 50) for e in (0.5, 8.0))
    assert small.codec_noise > 5 * large.codec_noise
    assert small.train_noise > large.train_noise


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": 1, "delta": 1.0}, "delta"),
        ({"epsilon": 1, "codec_share": 1.0}, "codec_share"),
    ],
)
def test_a_promise_that_cannot_be_is_refused(fields, words):
    with pytest.raises(ConfigError, match=words):
        DP(**fields)


def test_a_delta_that_would_allow_publishing_a_row_is_refused():
    with pytest.raises(ConfigError, match="below 1 / rows"):
        DP(epsilon=1, delta=1e-3).delta_for(1000)
    assert DP(epsilon=1).delta_for(1000) < 1e-6  # one in rows², unless asked otherwise
