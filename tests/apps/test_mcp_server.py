"""The server for assistants, asked by the SDK's own client."""

import asyncio
import json
import os
import sys

import pandas as pd
import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp import Client, StdioServerParameters

from tabtreeformer.apps.mcp_server import build_server
from tabtreeformer.errors import ConfigError


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "tables"
    inside.mkdir()
    ages = ([23, 31, 45, 52, 60, 38, None] * 15)[:100]
    table = pd.DataFrame({"age": ages, "job": ["nurse", "cook", "clerk", "baker", "smith"] * 20, "secret": range(100)})
    table.to_csv(inside / "people.csv", index=False)
    (tmp_path / "outside.csv").write_text("a\n1\n")
    (inside / "link.csv").symlink_to(tmp_path / "outside.csv")
    return inside


def ask(server, *calls):
    """Call tools one after the other; return the last answer, and whether it is an error."""

    async def run():
        async with Client(server) as client:
            for name, arguments in calls:
                answer = await client.call_tool(name, arguments)
            return "".join(part.text for part in answer.content if part.type == "text"), bool(answer.is_error)

    return asyncio.run(run())


FIT = ("fit_model", {"path": "people.csv", "model": "people.tabtree", "preset": "trees", "privacy": "off", "seed": 0})


def test_a_table_is_described_without_its_values(folder):
    text, failed = ask(build_server([folder]), ("describe_table", {"path": "people.csv"}))
    assert not failed
    facts = json.loads(text)
    assert facts["rows"] == 100
    assert facts["columns"][0] == {"name": "age", "kind": "numeric", "dtype": "float64", "missing": 0.14, "distinct": 6}
    assert "nurse" not in text


def test_fit_sample_impute_evaluate_and_card(folder):
    server = build_server([folder])
    text, failed = ask(server, FIT)
    assert not failed, text
    assert json.loads(text)["rows"] == 100
    text, _ = ask(server, ("sample_rows", {"model": "people.tabtree", "rows": 5, "given": {"job": "cook"}, "seed": 1}))
    assert [row["job"] for row in json.loads(text)["rows"]] == ["cook"] * 5
    text, _ = ask(server, ("sample_rows", {"model": "people.tabtree", "rows": 90, "output": "new.csv", "seed": 1}))
    assert json.loads(text) == {"written": "new.csv", "rows": 90}
    assert len(pd.read_csv(folder / "new.csv")) == 90
    text, _ = ask(server, ("impute_table", {"model": "people.tabtree", "path": "people.csv", "output": "full.csv"}))
    assert json.loads(text)["cells_filled"] == 14
    text, _ = ask(server, ("model_card", {"model": "people.tabtree"}))
    assert "# Model card" in text


def test_scores_come_with_their_goal(folder):
    rows = pd.read_csv(folder / "people.csv")
    rows.iloc[:50].to_csv(folder / "train.csv", index=False)
    rows.iloc[50:].to_csv(folder / "new.csv", index=False)
    text, failed = ask(build_server([folder]), ("evaluate_rows", {"train": "train.csv", "rows": "new.csv"}))
    assert not failed, text
    assert json.loads(text)["shape"]["goal"] == "higher"


@pytest.mark.parametrize("path", ["../outside.csv", "link.csv", "/etc/hostname", "nothing.csv"])
def test_nothing_outside_of_the_named_folders_is_read(folder, path):
    text, failed = ask(build_server([folder]), ("describe_table", {"path": path}))
    assert failed
    assert "folder" in text


def test_nothing_is_replaced_and_nothing_written_outside(folder):
    server = build_server([folder])
    before = (folder / "people.csv").read_bytes()
    for model in ("people.csv", "../people.tabtree"):
        text, failed = ask(server, ("fit_model", {**FIT[1], "model": model}))
        assert failed, text
    assert (folder / "people.csv").read_bytes() == before
    assert not (folder.parent / "people.tabtree").exists()


def test_real_rows_are_shown_only_where_the_user_said_so(folder):
    text, failed = ask(build_server([folder]), ("show_rows", {"path": "people.csv"}))
    assert failed
    assert "nurse" not in text
    text, failed = ask(build_server([folder], real_rows=True), ("show_rows", {"path": "people.csv", "rows": 1}))
    assert not failed
    assert "nurse" in text


def test_a_folder_that_is_none_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="is not a folder"):
        build_server([tmp_path / "none"])


def test_the_command_serves_on_its_standard_streams(folder):
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "tabtreeformer", "mcp", str(folder)], env=dict(os.environ)
    )
    text, failed = ask(server, ("describe_table", {"path": "people.csv"}))
    assert not failed
    assert json.loads(text)["rows"] == 100
