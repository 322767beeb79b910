"""The Python of the README runs as it stands, on a small table and with small settings."""

import re
from pathlib import Path

import pandas as pd

import tabtreeformer

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_python_blocks_run(mixed, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mixed.to_csv("people.csv", index=False)
    presets = {name: tabtreeformer.config.configure(name, tiny) for name in tabtreeformer.PRESETS}
    monkeypatch.setattr(tabtreeformer.config, "PRESETS", presets)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    new = names["new"]
    assert isinstance(new, pd.DataFrame)
    assert (new.dtypes == pd.read_csv("people.csv").dtypes).all()
