import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from tabtreeformer.errors import MissingExtraError, OutputError
from tabtreeformer.evaluation import evaluate
from tabtreeformer.evaluation.report import write_report

MODEL = {
    "name": "m.tabtree",
    "verdict": "fail",
    "reasons": ["too near"],
    "accepted_risk": [],
    "about": {"preset": "auto"},
}


class Tags(HTMLParser):
    """Every tag and attribute of a page, and whether they nest."""

    VOID = ("meta", "br", "img", "input")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(tables, evaluation, nasty, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, evaluation, *tables, title=f"Report on {nasty}")
    return path.read_text(encoding="utf-8")


def test_tags_nest_and_nothing_can_run_or_be_fetched(page):
    tags = Tags(page)
    assert tags.open == []
    assert not {"img", "link", "iframe", "object", "embed"} & set(tags.names)
    assert tags.names.count("script") == 1
    assert not [a for a in tags.attributes if a[0].startswith("on") or a[0] == "src"]
    links, places = ({value for name, value in tags.attributes if name == kind} for kind in ("href", "id"))
    assert links
    assert {link.removeprefix("#") for link in links} <= places  # all of them lead to a place on the page
    assert "http" not in re.sub(r'http-equiv="[^"]*"', "", page)


def test_names_and_values_from_data_are_shown_as_text(page, nasty):
    assert nasty not in page
    assert "&lt;script&gt;document.title=" in page
    assert "yes &amp; no" in page
    assert "onerror=alert(1)&gt;" in page


def test_everything_that_belongs_on_the_page_is_there(page):
    assert "Attribute inference: two humps" in page
    for text in ("Useful?", "Faithful?", "Safe?", "random forest", "XGBoost", "two humps", "absolute difference"):
        assert text in page, text
    assert page.count("<polyline") == 4  # one column of densities and the distances
    for place in ("scores", "columns", "rows", "map", "useful", "grain", "pairs", "distances", "attacks", "method"):
        assert f'<h2 id="{place}"' in page, place
        assert f'href="#{place}"' in page, place
    assert page.count('data-kind="difference"') == 1
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_only_the_script_of_the_page_may_run(page):
    script = re.search(r"<script>(.*)</script>", page, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"fetch|XMLHttpRequest|WebSocket|import\(|eval|innerHTML", script)


def test_metadata_says_when_what_and_with_which_versions(tables, evaluation, tmp_path):
    about = {"tables": {"training rows": "people.csv"}, "model": MODEL}
    write_report(tmp_path / "r.html", replace(evaluation, facts={**evaluation.facts, **about}), *tables)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for text in ("people.csv", "m.tabtree", "preset auto", evaluation.facts["time"][:10], f"pandas {pd.__version__}"):
        assert text in page, text
    assert "<b>fail</b> when it was fitted: too near" in page


def test_rows_can_be_hidden(tables, evaluation, tmp_path, page):
    write_report(tmp_path / "r.html", evaluation, *tables, show_rows=False)
    assert "the closest pairs" in page
    assert "the closest pairs" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_page_without_holdout_or_target_says_what_is_missing(tables, tmp_path):
    evaluation = evaluate(tables[0], None, tables[2])
    write_report(tmp_path / "r.html", evaluation, tables[0], None, tables[2])
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "no real rows were held out" in page
    assert page.count(">not measured<") == 2
    assert page.count("it needs real rows that the model never saw") == 3  # in two verdicts, and once for all measures
    assert Tags(page).open == []


def test_fifty_columns_stay_small(tmp_path):
    rng = np.random.default_rng(0)
    frames = [
        pd.DataFrame(
            {f"number {i}": rng.normal(size=400) for i in range(30)}
            | {f"category {i}": rng.choice([f"value {k}" for k in range(30)], 400) for i in range(20)}
        )
        for _ in range(3)
    ]
    evaluation = evaluate(*frames, metrics=["shape", "dcr"])
    write_report(tmp_path / "r.html", evaluation, *frames)
    assert (tmp_path / "r.html").stat().st_size < 3_000_000 / 4


def test_a_report_that_cannot_be_written_leaves_nothing(tables, evaluation, tmp_path):
    with pytest.raises(OutputError, match="does not exist"):
        write_report(tmp_path / "no" / "r.html", evaluation, *tables)
    assert list(tmp_path.iterdir()) == []


def test_without_jinja_the_error_names_the_extra(tables, evaluation, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"tabtreeformer\[report\]"):
        write_report(tmp_path / "r.html", evaluation, *tables)
