"""The examples of the public docstrings are run, on one small table."""

import dataclasses
import doctest
import inspect

import pandas as pd
import pytest

import tabtreeformer
from tabtreeformer import Schema, TabTreeFormer, read_table
from tabtreeformer.data.links import parse_link
from tabtreeformer.evaluation.options import OptionNames, Options

METHODS = [
    "attack", "fit", "impute", "iter_sample", "load", "log_prob", "outliers", "predict", "predict_proba", "report",
    "rules", "sample", "sample_to", "save", "summary",
]  # fmt: skip
ON_THE_HUB = ["from_pretrained", "push_to_hub"]
"""They need a server, and have tests of their own instead of examples that run."""


@pytest.fixture(scope="module")
def people():
    return pd.DataFrame(
        {"age": [23, 31, 45] * 40, "job": ["nurse", "cook", "clerk"] * 40, "smokes": [True, False] * 60}
    )


@pytest.fixture(scope="module")
def model(people):
    settings = {"train": {"steps": 20}, "privacy": "off", "random_state": 0, "verbose": False}
    return TabTreeFormer(target="job", **settings).fit(people)


def examples(thing, name, names):
    """Run the examples of one docstring; returns how many there are."""
    (test,) = doctest.DocTestFinder(recurse=False).find(thing, name, globs=names)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test, out=said.append).failed == 0, "".join(said)
    return len(test.examples)


@pytest.mark.parametrize("name", METHODS)
def test_examples_of_the_methods_hold(name, model, people, tmp_path):
    names = vars(tabtreeformer) | {"model": model, "df": people, "folder": tmp_path}
    names |= {"TabTreeFormer": TabTreeFormer, "Schema": Schema, "read_table": read_table}
    assert examples(getattr(TabTreeFormer, name), name, names)


def test_the_example_of_evaluate_holds_and_every_parameter_is_documented(people):
    evaluate = inspect.unwrap(tabtreeformer.evaluate)
    assert examples(evaluate, "evaluate", {"df": people, "evaluate": evaluate})
    lines = inspect.getdoc(evaluate).split("\n")
    listed = {word.strip() for line in lines for word in line.split(", ")}
    options = {field.name for field in dataclasses.fields(Options)}
    assert options == set(OptionNames.__annotations__)
    assert (set(inspect.signature(evaluate).parameters) - {"options"}) | options <= listed


def test_the_example_of_the_class_holds(tmp_path):
    assert examples(TabTreeFormer, "TabTreeFormer", {"folder": tmp_path})


def test_every_public_method_is_among_them_and_documents_its_parameters():
    own = [name for name, method in inspect.getmembers(TabTreeFormer) if not name.startswith("_") and callable(method)]
    inherited = [name for name in own if name.startswith(("get_", "set_"))]  # of scikit-learn's BaseEstimator
    assert sorted(set(own) - set(inherited)) == sorted(METHODS + ON_THE_HUB)
    for name in METHODS + ON_THE_HUB:
        method = getattr(TabTreeFormer, name)
        for parameter in inspect.signature(method).parameters:
            if parameter != "self":
                lines = [line.strip() for line in inspect.getdoc(method).split("\n")]
                listed = {word for line in lines for word in line.replace("*", "").split(", ")}
                assert parameter in listed, (name, parameter)


@pytest.mark.parametrize("name", ["open_chunks", "read_table", "write_table"])
def test_examples_of_the_functions_hold(name, people, tmp_path):
    names = {public: getattr(tabtreeformer, public) for public in ("open_chunks", "read_table", "write_table")}
    assert examples(names[name], name, names | {"df": people, "folder": tmp_path})


@pytest.fixture(scope="module")
def shop():
    customers = pd.DataFrame({"id": range(1, 41), "age": [20 + i % 40 for i in range(40)]})
    orders = pd.DataFrame(
        {"customer_id": [1 + i % 40 for i in range(120)], "amount": [5 * (i % 9) for i in range(120)]}
    )
    return {"customers": customers, "orders": orders}


@pytest.mark.parametrize("name", ["RelationalTabTreeFormer", "evaluate_database", "write_report"])
def test_examples_of_databases_and_of_the_report_hold(name, people, shop, tmp_path):
    names = {public: getattr(tabtreeformer, public) for public in (name, "evaluate")}
    assert examples(
        names[name], name, names | {"df": people, "shop": shop, "folder": tmp_path, "parse_link": parse_link}
    )
    listed = {word.strip() for line in inspect.getdoc(names[name]).split("\n") for word in line.split(", ")}
    assert set(inspect.signature(names[name]).parameters) <= listed


@pytest.mark.parametrize("name", ["infer", "with_kind", "with_placeholder", "with_public"])
def test_examples_of_the_schema_hold(name, people):
    assert examples(getattr(Schema, name), name, {"Schema": Schema, "df": people})


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge", "between", "isin", "missing", "present"])
def test_every_condition_shows_how_it_is_given(name, model):
    condition = getattr(tabtreeformer, name)
    assert examples(condition, name, {"model": model, name: condition})
