"""The Python of the README runs as it stands, on a small table and with small settings."""

import re
from pathlib import Path

import pandas as pd

import tabtreeformer
from tabtreeformer import presets as presets_module

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_python_blocks_run(mixed, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mixed.to_csv("people.csv", index=False)
    presets = {name: presets_module.configure(name, tiny) for name in tabtreeformer.PRESETS}
    monkeypatch.setattr(presets_module, "PRESETS", presets)
    monkeypatch.setattr(presets_module, "auto", lambda *facts: presets["S"])
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    new = names["new"]
    assert isinstance(new, pd.DataFrame)
    assert (new.dtypes == pd.read_csv("people.csv").dtypes).all()
