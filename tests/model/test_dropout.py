import pytest
import torch
from torch.nn import functional as F

from tabtreeformer.model.dropout import Dropout, attention_with_dropout, keep_mask, kept_share


def test_as_many_numbers_are_dropped_as_the_rate_says() -> None:
    torch.manual_seed(0)
    for rate in (0.1, 0.5):
        mask = keep_mask(torch.empty(1000, 1001), rate)
        share = float(mask.double().mean())
        assert abs(share - (1 - rate)) < 4 * (rate * (1 - rate) / mask.numel()) ** 0.5 + 1e-5
        assert set(mask.unique().tolist()) == {0.0, 1.0}
    assert abs(kept_share(0.1) - 0.9) < 1e-5


def test_neighbours_are_dropped_independently() -> None:
    torch.manual_seed(0)
    mask = keep_mask(torch.empty(1_000_000), 0.1)
    for distance in (1, 2, 3, 4, 170, 256):
        both = float(((mask[distance:] == 0) & (mask[:-distance] == 0)).double().mean())
        assert both == pytest.approx(0.01, abs=0.0005)


def test_dropout_keeps_the_mean_its_gradient_and_the_state_of_the_seed() -> None:
    layer, x = Dropout(0.25), torch.ones(500, 400, requires_grad=True)
    torch.manual_seed(3)
    y = layer(x)
    state = torch.get_rng_state()
    assert float(y.detach().mean()) == pytest.approx(1, abs=0.01)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach()), "what is dropped learns nothing, the rest a little more"
    following = layer(x)
    torch.set_rng_state(state)
    assert torch.equal(layer(x), following), "a restored state continues with the same masks"
    assert not torch.equal(following, y)
    assert layer.eval()(x) is x


@pytest.mark.parametrize("causal", [True, False])
def test_attention_is_that_of_pytorch_where_nothing_is_dropped(causal: bool) -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 3, 7, 4, requires_grad=True) for _ in range(3))
    ours = attention_with_dropout(q, k, v, 0.0, causal)
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    assert torch.allclose(ours, theirs, atol=1e-6)
    for a, b in zip(*(torch.autograd.grad(y.square().sum(), (q, k, v)) for y in (ours, theirs)), strict=True):
        assert torch.allclose(a, b, atol=1e-5)


def test_dropped_weights_of_attention_keep_its_mean_and_hide_what_follows() -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 1, 6, 4).expand(20_000, 1, 6, 4) for _ in range(3))
    drawn = attention_with_dropout(q, k, v, 0.3, True)
    whole = F.scaled_dot_product_attention(q[:1], k[:1], v[:1], is_causal=True)
    assert torch.allclose(drawn.mean(0, keepdim=True), whole, atol=0.03)
    first = drawn[:, 0, 0]  # sees itself only: kept and scaled, or dropped
    dropped = (first == 0).all(1)
    assert float(dropped.float().mean()) == pytest.approx(0.3, abs=0.02)
    assert torch.allclose(first[~dropped], v[0, 0, 0] / kept_share(0.3), atol=1e-5)
