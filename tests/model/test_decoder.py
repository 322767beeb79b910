import pytest
import torch

from tabtreeformer.config.settings import ModelConfig
from tabtreeformer.model.decoder import Decoder

CONFIG = ModelConfig(width=24, feed_forward=40, heads=3, layers=2)


def embeddings(rows=3, length=7, width=24):
    return torch.randn(rows, length, width, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def decoder() -> Decoder:
    return Decoder(CONFIG, 9, torch.Generator().manual_seed(0)).eval()


@torch.no_grad()
def test_later_positions_never_change_earlier_ones(decoder):
    before = embeddings()
    after = before.clone()
    after[:, 4:] += 1
    torch.testing.assert_close(decoder(before)[:, :4], decoder(after)[:, :4])
    assert not torch.allclose(decoder(before)[:, 4:], decoder(after)[:, 4:])


@torch.no_grad()
def test_one_by_one_with_a_cache_equals_all_at_once(decoder):
    x = embeddings(length=9)
    cache = decoder.new_cache(len(x))
    parts = [decoder(x[:, :4], cache)] + [decoder(x[:, k : k + 1], cache) for k in range(4, 9)]
    torch.testing.assert_close(torch.cat(parts, dim=1), decoder(x))


def test_the_start_is_gpt2s():
    decoder = Decoder(ModelConfig(width=128, heads=4, layers=4), 50, torch.Generator().manual_seed(0))
    assert decoder.h[0].c_fc.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert decoder.h[0].c_proj.weight.std().item() == pytest.approx(0.02 / 8**0.5, rel=0.05)
    assert decoder.h[0].attn.c_proj.weight.std().item() == pytest.approx(0.02 / 8**0.5, rel=0.05)
    assert not decoder.h[0].attn.c_attn.bias.any()


def test_the_same_generator_gives_the_same_weights():
    one, two, other = (Decoder(CONFIG, 9, torch.Generator().manual_seed(s)) for s in (0, 0, 1))
    assert torch.equal(one.wpe.weight, two.wpe.weight)
    assert not torch.equal(one.wpe.weight, other.wpe.weight)


@torch.no_grad()
def test_equals_the_gpt2_of_transformers_on_the_same_random_weights(decoder):
    transformers = pytest.importorskip("transformers", reason="needs the hf extra")
    config = transformers.GPT2Config(vocab_size=1, n_positions=9, n_embd=24, n_layer=2, n_head=3, n_inner=40)
    theirs = transformers.GPT2Model(config).eval()
    state = {}
    for name, tensor in decoder.state_dict().items():
        # Their linear layers are transposed "Conv1D", and the feed-forward ones live in a submodule.
        part = name.replace(".c_fc.", ".mlp.c_fc.")
        part = part if ".attn." in part else part.replace(".c_proj.", ".mlp.c_proj.")
        state[part] = tensor.T if part.endswith("weight") and ".c_" in part else tensor
    missing = theirs.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys
    assert [k for k in missing.missing_keys if "bias" not in k] == ["wte.weight"]
    x = embeddings()
    torch.testing.assert_close(decoder(x), theirs(inputs_embeds=x).last_hidden_state, rtol=1e-4, atol=1e-5)
