"""What people see of an object that they print, or that ends a cell of a notebook."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import tabtreeformer
from tabtreeformer import DP, Evaluation, RelationalTabTreeFormer, Schema, TabTreeFormer, evaluate
from tabtreeformer.errors import ConfigError

NASTY = "<script>alert(1)</script>"


def people(n=150, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    return pd.DataFrame({"age": age, NASTY: rng.choice(["a", "b"], n), "old": np.where(age > 50, "yes", "no")})


class Nests(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.open = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in ("br", "meta", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def html(thing):
    page = thing._repr_html_()
    Nests(page)
    assert NASTY not in page
    assert "://" not in re.sub(r'xmlns="[^"]*"', "", page)
    return page


@pytest.fixture(scope="module")
def fitted():
    settings = {"train": {"steps": 20, "validate_every": 5}, "random_state": 0, "verbose": False}
    return TabTreeFormer(target="old", **settings).fit(people())


@pytest.fixture(scope="module")
def scores():
    return evaluate(people(), people(80, 1), people(150, 2), metrics=["shape", "grain", "copies", "trend"])


def test_a_model_that_is_not_fitted_shows_what_differs_from_the_defaults():
    page = html(TabTreeFormer("S", train={"steps": 7}, privacy="strict"))
    assert "not fitted" in page
    for text in ("preset", "&#x27;S&#x27;", "&#x27;steps&#x27;: 7", "strict"):
        assert text in page, text
    assert "random_state" not in page
    assert "All settings have their defaults" in html(TabTreeFormer())
    assert repr(TabTreeFormer("S")) == "TabTreeFormer(preset='S')"


def test_a_fitted_model_shows_columns_curve_verdict_and_size(fitted):
    page = html(fitted)
    for text in ("150 rows", "3 columns", "numeric", "privacy verdict", "parameters", "validation loss", "<polyline"):
        assert text in page, text
    assert "&lt;script&gt;" in page
    said = repr(fitted).splitlines()[-1]
    assert said.startswith("fitted: 150 rows, 3 columns, preset auto, 2 networks of")
    assert "privacy verdict: " in said
    assert fitted._repr_mimebundle_()["text/html"] == page


def test_a_model_of_trees_has_no_curve():
    page = html(TabTreeFormer("trees", random_state=0, verbose=False, privacy="off").fit(people()))
    assert "trees that write" in page
    assert "<polyline" not in page
    assert "privacy was off" in page


def test_a_schema_shows_kinds_and_reasons():
    schema = Schema.infer(people())
    assert "numeric" in html(schema)
    text = repr(schema).splitlines()
    assert text[0] == "Schema of 3 columns"
    assert re.match(r"  'age' +numeric +int64", text[1])
    assert len(text) == 4


def test_an_evaluation_shows_verdicts_and_scores(scores):
    page = html(scores)
    for text in ("Useful?", "Faithful?", "Safe?", "shape", "real held-out"):
        assert text in page, text
    said = repr(scores)
    assert said.startswith("Evaluation: Useful? not measured.")
    assert len(said.splitlines()) == 2 + 4
    assert re.fullmatch(
        r"Score\(shape 0\.\d+, real held-out rows 0\.\d+, independent columns 0\.\d+; higher is better\)",
        repr(scores.scores["shape"]),
    )
    assert "not measured" in repr(Evaluation({}))


def test_pictures_need_no_plotting_library(scores, tmp_path):
    for what, text in (("scores", "trend"), ("columns", "&lt;script&gt;")):
        picture = scores.plot(what)
        assert text in html(picture)
        picture.save(tmp_path / "p.svg")
        assert (tmp_path / "p.svg").read_text(encoding="utf-8").startswith("<svg xmlns=")
        assert "Picture" in repr(picture)
    with pytest.raises(ConfigError, match="scores"):
        scores.plot("pairs")


def test_a_report_of_a_model_shows_itself_and_hides_real_rows_unless_told(fitted, tmp_path):
    report = fitted.report(people(), tmp_path / "r.html", metrics=["shape", "grain"])
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page == report.page
    assert "This section shows real rows" not in page
    assert "preset auto" in page
    assert html(report).startswith("<iframe srcdoc=")
    assert repr(report).startswith("Report on 150 synthetic rows and 150 training rows")
    shown = fitted.report(people(), metrics=["shape"], show_rows=True)
    assert "This section shows real rows" in shown.page
    assert set(shown.evaluation.scores) == {"shape"}


def test_every_public_object_prints_something_useful(scores):
    things = [DP(epsilon=4), RelationalTabTreeFormer(), tabtreeformer.ModelConfig(), tabtreeformer.ge(3), scores]
    things += [tabtreeformer.missing(), Schema.infer(people()), tabtreeformer.Config(), tabtreeformer.PRESETS]
    for thing in things:
        assert " object at 0x" not in repr(thing), thing
    assert repr(tabtreeformer.ge(3)) == "ge(3)"
    assert repr(tabtreeformer.isin(["a", "b"])) == "isin(['a', 'b'])"


CELLS = (
    "from tabtreeformer import TabTreeFormer, Schema, evaluate\n"
    "import pandas as pd\n"
    "df = pd.DataFrame({'age': range(90), 'job': ['nurse', 'cook', 'clerk'] * 30})\n"
    "Schema.infer(df)",
    "import time\n"
    "from tabtreeformer._runtime.progress import Console, stage\n"
    "console = Console()\n"
    "with stage(console, 'train', 5) as advance:\n"
    "    for _ in range(5):\n"
    "        time.sleep(0.3)\n"
    "        advance(1, loss='0.5')\n"
    "console.note('a note')",
    "model = TabTreeFormer('trees', privacy='off', random_state=0).fit(df)\nmodel",
    "evaluate(df, None, df, metrics=['shape'])",
    "model.report(df, metrics=['shape'])",
)


def test_a_notebook_shows_cards_one_progress_output_and_no_warning():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
    shown = [[o for o in cell["outputs"] if "data" in o] for cell in notebook["cells"]]
    kinds = [[o["data"].get("text/html", "") for o in outputs] for outputs in shown]
    assert "Schema of 2 columns" in kinds[0][0]
    assert len(kinds[1]) == 1  # one output, updated
    assert "5/5  loss 0.5" in kinds[1][0]
    streams = [o for o in notebook["cells"][1]["outputs"] if o["output_type"] == "stream"]
    assert [o["text"] for o in streams] == ["a note\n"]
    assert "TabTreeFormer, fitted" in kinds[2][-1]
    assert "Evaluation" in kinds[3][-1]
    assert kinds[4][-1].startswith("<iframe")
    text = "".join(o.get("text", "") for cell in notebook["cells"] for o in cell["outputs"])
    assert "Warning" not in text
