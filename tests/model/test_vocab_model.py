import pytest
import torch

from tabtreeformer.config.presets import PRESETS
from tabtreeformer.config.settings import ModelConfig
from tabtreeformer.errors import ConfigError, MissingExtraError
from tabtreeformer.model import VocabModel
from tabtreeformer.model.embedding import quantile_embedding
from tabtreeformer.tokens import Slot, SlotKind, TokenLayout

LAYOUT = TokenLayout.build(
    [3, 2], [Slot(SlotKind.BIN, 0, 4), Slot(SlotKind.QUANTILE, 0, 9), Slot(SlotKind.CATEGORY, 1, 5)]
)
SMALL = {"width": 16, "feed_forward": 32, "heads": 2, "layers": 2}


def model(**config) -> VocabModel:
    return VocabModel(LAYOUT, ModelConfig(**{**SMALL, **config}), torch.Generator().manual_seed(0)).eval()


@pytest.mark.parametrize(("preset", "millions"), [("S", 5.1), ("L", 43.6)])
def test_presets_have_the_papers_number_of_parameters(preset, millions):
    # The diabetes table: 8 numbers and a class; 100 to 150 trees of some 30 leaves.
    slots = [s for c in range(8) for s in (Slot(SlotKind.BIN, c, 10), Slot(SlotKind.QUANTILE, c, 1000))] + [
        Slot(SlotKind.CATEGORY, 8, 2)
    ]
    with torch.device("meta"):
        network = VocabModel(TokenLayout.build([31] * 150, slots), PRESETS[preset].model)
    assert network.n_parameters / 1e6 == pytest.approx(millions, rel=0.02)


def test_quantile_tokens_start_ordered_and_can_be_trained():
    network = model()
    quantiles = LAYOUT.quantile_tokens
    torch.testing.assert_close(network.embedding.weight[quantiles.start :], quantile_embedding(9, 16))
    assert network.embedding.weight.requires_grad
    assert model(quantile_embedding="none").embedding.weight[quantiles.start :].std().item() == pytest.approx(
        0.02, rel=0.3
    )
    assert network.embedding.weight[: quantiles.start].std().item() == pytest.approx(0.02, rel=0.3)


def test_the_head_is_the_embedding_itself():
    network, hidden = model(), torch.randn(2, 16)
    torch.testing.assert_close(network.logits(hidden), hidden @ network.embedding.weight.T)


def test_logits_of_a_range_are_a_slice_of_all():
    network, hidden = model(), torch.randn(2, 16)
    torch.testing.assert_close(network.logits(hidden, LAYOUT.allowed(3)), network.logits(hidden)[:, 15:24])


@pytest.mark.parametrize(
    ("backbone", "options"),
    [
        ("gpt2", {}),
        ("hf:gpt2", {}),
        ("hf:llama", {}),
        ("hf:llama", {"num_key_value_heads": 1}),
        ("hf:mistral", {"num_key_value_heads": 2}),
    ],
)
@torch.no_grad()
def test_every_backbone_is_causal_and_its_cache_changes_nothing(backbone, options):
    if backbone.startswith("hf:"):
        pytest.importorskip("transformers", reason="needs the hf extra")
    network = model(backbone=backbone, backbone_options=options)
    tokens = torch.randint(LAYOUT.n_vocab, (3, LAYOUT.length), generator=torch.Generator().manual_seed(2))
    whole = network.hidden(tokens)
    assert whole.shape == (3, LAYOUT.length, 16)
    changed = tokens.clone()
    changed[:, 4:] = 1
    torch.testing.assert_close(network.hidden(changed)[:, :4], whole[:, :4])
    cache = network.new_cache(3)
    parts = [network.hidden(tokens[:, :3], cache)]
    parts += [network.hidden(tokens[:, k : k + 1], cache) for k in range(3, LAYOUT.length)]
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-4, atol=1e-5)


def test_a_hugging_face_backbone_takes_sizes_and_seed_and_leaves_the_global_state_alone():
    pytest.importorskip("transformers", reason="needs the hf extra")
    state = torch.random.get_rng_state()
    one, two = model(backbone="hf:llama"), model(backbone="hf:llama")
    assert torch.equal(torch.random.get_rng_state(), state)
    assert one.backbone.model.config.intermediate_size == 32
    assert one.backbone.model.config.num_hidden_layers == 2
    for (name, a), b in zip(one.named_parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b), name


def test_an_unknown_hugging_face_backbone_is_refused():
    pytest.importorskip("transformers", reason="needs the hf extra")
    with pytest.raises(ConfigError, match="'gpt77' is not one of the model types"):
        model(backbone="hf:gpt77")


def test_without_transformers_the_error_names_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tabtreeformer\[hf\]'"):
        model(backbone="hf:gpt2")
