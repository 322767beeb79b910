"""The Python of the README runs as it is written, with small settings."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd

from tabtreeformer.config import presets as presets_module

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_python_blocks_run_and_print_what_is_shown_below_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    auto = presets_module.auto

    def short(*facts):
        config = auto(*facts)
        return replace(config, train=replace(config.train, steps=4, validate_every=2))

    monkeypatch.setattr(presets_module, "auto", short)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    new, df = names["new"], names["df"]
    assert isinstance(new, pd.DataFrame)
    assert isinstance(df, pd.DataFrame)
    assert (new.dtypes == df.dtypes).all()
    assert (tmp_path / "iris.tabtree").exists()
    # The values are those of the whole preset, which takes longer; their form is the same.
    shown = re.search(r"<!-- output: begin -->\n\n```\n(.*?)```", README, re.DOTALL)
    assert shown
    printed = capsys.readouterr().out
    assert [len(line.split()) for line in printed.splitlines()] == [len(s.split()) for s in shown[1].splitlines()]
    assert shown[1].split("\n")[0].split() == printed.split("\n")[0].split()


def test_the_readme_is_short_and_has_one_table_of_results():
    assert len(README.splitlines()) <= 130
    assert re.findall(r"<!-- ([\w ]+): begin -->", README) == ["output", "published rows"]
