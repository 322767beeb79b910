import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "databases.md"


def test_python_blocks_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(block, names)  # the page is ours
    assert (tmp_path / "shop.tabtree").exists()
    assert names["new"]["patient"].nunique() <= 20
