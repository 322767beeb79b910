"""The Python of docs/asking.md runs as it stands, on a small table and with small settings."""

import re
from pathlib import Path

from tabtreeformer.config import presets as presets_module

PAGE = (Path(__file__).parents[3] / "docs" / "asking.md").read_text()


def test_python_blocks_run(mixed, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mixed.to_csv("people.csv", index=False)
    small = presets_module.configure("auto", {**tiny, "tokens": {"quantiles": 20}})
    monkeypatch.setattr(presets_module, "auto", lambda *facts: small)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "asking.md", "exec"), names)
    assert names["rows"].shape == (20, 6)
    assert len(names["draws"]) == 5
