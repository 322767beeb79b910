"""Models go to the Hub with their card and come back the same, unless their verdict forbids it."""

import dataclasses

import pandas as pd
import pytest

from tabtreeformer import ArchiveError, ConfigError, OutputError, PrivacyError, TabTreeFormer

from .hub_stand_in import COMMIT, Hub

pytest.importorskip("huggingface_hub")
TABLE = pd.DataFrame({"age": [23, 31, 45, 52] * 20, "job": ["nurse", "cook", "clerk", "baker"] * 20})


@pytest.fixture(scope="module")
def hub():
    with Hub() as running:
        yield running


@pytest.fixture
def model():
    return TabTreeFormer("trees", "job", privacy="off", random_state=0, verbose=False).fit(TABLE)


def with_verdict(model, **privacy):
    record = {**model.fitted_.record, "privacy": {"verdict": "pass", "reasons": [], **privacy}}
    model.fitted_ = dataclasses.replace(model.fitted_, record=record)
    return model


def test_a_model_comes_back_with_the_same_rows(hub, model, tmp_path):
    address = model.push_to_hub("me/people", endpoint=hub.address, token="secret")
    assert address == f"{hub.address}/me/people/commit/{COMMIT}"
    assert hub.private["me/people"]
    assert "Bearer secret" in hub.tokens
    back = TabTreeFormer.from_pretrained("me/people", endpoint=hub.address, cache_dir=tmp_path, verbose=False)
    pd.testing.assert_frame_equal(back.sample(20, random_state=3), model.sample(20, random_state=3))
    again = TabTreeFormer.from_pretrained(
        "me/people", endpoint=hub.address, cache_dir=tmp_path, local_files_only=True, verbose=False
    )
    assert again.summary()["preset"] == "trees"


def test_the_card_is_the_readme_with_metadata_and_a_way_to_use_it(hub, model):
    model.push_to_hub("me/card", endpoint=hub.address, token="secret", private=False)
    assert not hub.private["me/card"]
    readme = hub.repositories["me/card"]["README.md"].decode()
    assert readme.startswith("---\nlibrary_name: tabtreeformer\n")
    assert 'from_pretrained("me/card")' in readme
    assert "## Privacy" in readme
    assert "nurse" not in readme


@pytest.mark.parametrize(
    ("privacy", "words"),
    [
        ({"verdict": "fail", "reasons": ["rows of members are found"]}, "rows of members are found"),
        ({"file": {"leaks": True, "reasons": ["likelihood reveals members"]}}, "likelihood reveals members"),
    ],
)
def test_a_model_that_failed_is_refused_without_a_reason(hub, model, privacy, words):
    with_verdict(model, **privacy)
    with pytest.raises(PrivacyError, match=words):
        model.push_to_hub("me/failed", endpoint=hub.address, token="secret")
    assert "me/failed" not in hub.repositories
    with pytest.raises(ConfigError, match="reason"):
        model.push_to_hub("me/failed", endpoint=hub.address, token="secret", accept_risk=" ")


def test_a_reason_is_kept_in_the_file_and_on_its_card(hub, model, tmp_path):
    with_verdict(model, verdict="fail", reasons=["found"])
    model.push_to_hub("me/accepted", endpoint=hub.address, token="secret", accept_risk="public data")
    back = TabTreeFormer.from_pretrained("me/accepted", endpoint=hub.address, cache_dir=tmp_path, verbose=False)
    assert "public data" in back.fitted_.record["privacy"]["accepted_risk"][0]["reason"]
    assert "public data" in hub.repositories["me/accepted"]["README.md"].decode()


def test_errors_name_the_repository(hub, model, tmp_path):
    with pytest.raises(ArchiveError, match="me/none"):
        TabTreeFormer.from_pretrained("me/none", endpoint=hub.address, cache_dir=tmp_path)
    with pytest.raises(OutputError, match="not a name"):
        model.push_to_hub("not a name", endpoint=hub.address, token="secret")


def test_the_command_uploads_a_file(hub, model, tmp_path, monkeypatch, capsys):
    from huggingface_hub import constants

    from tabtreeformer.cli import main

    monkeypatch.setattr(constants, "ENDPOINT", hub.address)
    monkeypatch.setenv("HF_TOKEN", "secret")
    model.save(tmp_path / "people.tabtree")
    with pytest.raises(SystemExit) as ended:
        main(["push", str(tmp_path / "people.tabtree"), "me/from-command", "--public"])
    assert ended.value.code == 0
    assert "me/from-command/commit" in capsys.readouterr().out
    assert not hub.private["me/from-command"]
