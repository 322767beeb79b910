"""The examples of docs/design.md work as a newcomer would add them: one file, and one line in a registry."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import TabTreeFormer, evaluate, write_report
from tabtreeformer.cli import app, main
from tabtreeformer.config.settings import TREE_MODELS
from tabtreeformer.evaluation.catalogue import METRICS, Metric
from tabtreeformer.tokens.codecs import registry

PAGE = (Path(__file__).parents[1] / "docs" / "design.md").read_text()
SHORT = {"train": {"steps": 4, "validate_every": 2}, "random_state": 0, "verbose": False}


def example(title, name, monkeypatch):
    """The module that the section with this title shows, under its name in the package."""
    source = re.search(rf"### {title}\n.*?```python\n(.*?)```", PAGE, re.DOTALL)
    assert source
    module = types.ModuleType(f"tabtreeformer.{name}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(source[1], name, "exec"), module.__dict__)
    return module


def test_a_tree_model_is_a_file_and_a_line(mixed, tmp_path, monkeypatch):
    example("A tree model", "trees.medians", monkeypatch)
    monkeypatch.setitem(TREE_MODELS, "medians", "Medians")
    model = TabTreeFormer(target="income", tree="medians", **SHORT).fit(mixed)
    assert model.fitted_.leaf_model.n_leaves == (2,) * 5
    model.save(tmp_path / "m.tabtree")
    again = TabTreeFormer.load(tmp_path / "m.tabtree", verbose=False)
    pd.testing.assert_frame_equal(again.sample(9, random_state=1), model.sample(9, random_state=1))


def test_a_metric_is_a_file_and_a_line(mixed, tmp_path, monkeypatch):
    module = example("A metric", "evaluation.metrics.missing", monkeypatch)
    monkeypatch.setitem(METRICS, "missing", Metric(measure=module.missing, goal="higher"))
    holes = mixed.assign(stadt=mixed["stadt"].where(np.arange(len(mixed)) % 2 == 0))
    evaluation = evaluate(mixed, mixed, holes, metrics=["missing"], target="income")
    assert evaluation.scores["missing"].value == pytest.approx(1 - 0.5 / 6)
    assert evaluation.scores["missing"].ceiling == 1.0
    write_report(tmp_path / "r.html", evaluation, mixed, mixed, holes)
    assert "Agreement of the share of missing values" in (tmp_path / "r.html").read_text()


def test_a_codec_is_a_file_and_a_line(mixed, tmp_path, monkeypatch):
    codec = example("A codec", "tokens.codecs.yes_no", monkeypatch).YesNoCodec
    monkeypatch.setattr(registry, "CODECS", (codec, *registry.CODECS))
    monkeypatch.setattr(registry, "BY_NAME", {**registry.BY_NAME, codec.name: codec})
    model = TabTreeFormer(target="income", **SHORT).fit(mixed)
    place = mixed.columns.get_loc("smoker")
    assert isinstance(model.fitted_.codec.columns[place].inner, codec)
    model.save(tmp_path / "m.tabtree")
    rows = TabTreeFormer.load(tmp_path / "m.tabtree", verbose=False).sample(50, random_state=0)
    assert rows["smoker"].dtype == bool
    assert rows["smoker"].nunique() == 2


def test_a_command_is_a_file_and_a_line(mixed, tmp_path, monkeypatch, capsys):
    command = example("A command", "cli.columns_of", monkeypatch).columns
    monkeypatch.setattr(app, "registered_commands", [*app.registered_commands])
    app.command(help=command.__doc__)(command)
    TabTreeFormer(target="income", **SHORT).fit(mixed).save(tmp_path / "m.tabtree")
    with pytest.raises(SystemExit, match="0"):
        main(["columns", str(tmp_path / "m.tabtree")])
    assert "smoker: boolean" in capsys.readouterr().out


def test_the_walk_has_at_most_fifteen_steps_and_names_rooms_that_exist():
    walk = PAGE.split("## A table's walk")[1].split("## Rooms")[0]
    assert 10 <= len(re.findall(r"^\d+\. ", walk, re.MULTILINE)) <= 15
    package = Path(__file__).parents[1] / "src" / "tabtreeformer"
    for room in re.findall(r"`([a-z_]+/[a-z_./]*)`", PAGE.split("## Adding to it")[0]):
        assert (package / room).exists() or (package.parents[1] / room).exists() or list(package.rglob(room)), room
