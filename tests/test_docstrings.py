"""Everything public says what its parameters mean, and shows an example that is run, on one small table."""

import ast
import dataclasses
import doctest
import inspect
import itertools
import textwrap

import numpy as np
import pandas as pd
import pytest

import tabtreeformer
from tabtreeformer import RelationalTabTreeFormer, TabTreeFormer, evaluate
from tabtreeformer.data.links import parse_link
from tabtreeformer.evaluation.options import OptionNames, Options

ON_THE_HUB = ["TabTreeFormer.from_pretrained", "TabTreeFormer.push_to_hub"]
"""They need a server, and have tests of their own instead of examples that run."""
INHERITED = ("get_", "set_")
"""Methods of scikit-learn's BaseEstimator."""


def public():
    """Everything callable in the public namespace by name: functions, classes and their methods."""
    things = {}
    for name in tabtreeformer.__all__:
        thing = getattr(tabtreeformer, name)
        if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, Exception)):
            continue
        things[name] = thing if inspect.isclass(thing) else inspect.unwrap(thing)
        if inspect.isclass(thing):
            methods = inspect.getmembers(thing, callable)
            things |= {f"{name}.{m}": f for m, f in methods if not m.startswith(("_", *INHERITED))}
    return things


PUBLIC = public()
SETTINGS = [name for name in PUBLIC if name.endswith("Config")]
"""Their fields are the page docs/settings.md, and presets are their examples."""


@pytest.fixture(scope="module")
def people():
    return pd.DataFrame(
        {"age": [23, 31, 45] * 40, "job": ["nurse", "cook", "clerk"] * 40, "smokes": [True, False] * 60}
    )


@pytest.fixture(scope="module")
def shop():
    customers = pd.DataFrame({"id": range(1, 41), "age": [20 + i % 40 for i in range(40)]})
    orders = pd.DataFrame(
        {"customer_id": [1 + i % 40 for i in range(120)], "amount": [5 * (i % 9) for i in range(120)]}
    )
    return {"customers": customers, "orders": orders}


@pytest.fixture(scope="module")
def names(people, shop):
    """What examples can refer to."""
    settings = {"privacy": "off", "random_state": 0, "verbose": False}
    return {name: getattr(tabtreeformer, name) for name in tabtreeformer.__all__} | {
        "df": people,
        "shop": shop,
        "np": np,
        "parse_link": parse_link,
        "model": TabTreeFormer(target="job", train={"steps": 20}, **settings).fit(people),
        "database": RelationalTabTreeFormer("trees", **settings).fit(shop),
        "evaluation": evaluate(people[:80], people[80:], people[:80], metrics=["shape", "trend"]),
    }


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in (*ON_THE_HUB, *SETTINGS)])
def test_the_example_holds(name, names, tmp_path):
    (test,) = doctest.DocTestFinder(recurse=False).find(PUBLIC[name], name, globs=names | {"folder": tmp_path})
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test, out=said.append).failed == 0, "".join(said)
    assert test.examples, f"{name} has no example"


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_is_documented(name):
    thing = PUBLIC[name]
    lines = [line.replace("*", "") for line in inspect.getdoc(thing).split("\n")]
    listed = {word.strip() for line in lines for word in line.split(", ")}
    if dataclasses.is_dataclass(thing):
        listed |= documented_fields(thing)
    parameters = inspect.signature(thing).parameters
    assert not set(parameters) - {"self"} - listed - ({"options"} if name == "evaluate" else set())


def documented_fields(thing):
    """Fields of a dataclass that a docstring follows."""
    body = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0].body
    pairs = itertools.pairwise(body)
    return {
        field.target.id
        for field, text in pairs
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


def test_every_option_of_evaluate_is_documented():
    lines = inspect.getdoc(inspect.unwrap(evaluate)).split("\n")
    options = {field.name for field in dataclasses.fields(Options)}
    assert options == set(OptionNames.__annotations__)
    assert options <= {word.strip() for line in lines for word in line.split(", ")}
