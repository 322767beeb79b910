"""The documented origin of every number and text in a model file.

In a path, [*] stands for any index of a list, * for any name, and ** for everything below. Anything that matches no
line is a finding, so every addition to the file has to be documented here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

Kind = Literal["setting", "structure", "value", "learned", "record"]


@dataclass(frozen=True)
class Origin:
    """The content of a path; `value` means values of a column, which are compared with the training table."""

    kind: Kind
    text: str


def _setting(text: str) -> Origin:
    return Origin("setting", text)


def _structure(text: str) -> Origin:
    return Origin("structure", text)


def _value(text: str) -> Origin:
    return Origin("value", text)


def _learned(text: str) -> Origin:
    return Origin("learned", text)


def _record(text: str) -> Origin:
    return Origin("record", text)


_COLUMN: Mapping[str, Origin] = {
    "name": _structure("name of a column"),
    "kind": _structure("kind of a column"),
    "dtype": _structure("dtype of a column"),
    "categories[*]": _value("list of a pandas category dtype"),
    "categories_dtype": _structure("dtype of such a list"),
    "ordered": _structure("whether such a list is ordered"),
    "form": _structure("how numbers or dates are written"),
    "missing": _structure("marker of missing values"),
    "placeholder": _setting("what to write for rare texts"),
    "meaning": _structure("what texts mean"),
    "locale": _setting("country of made-up words"),
    "stand_in": _structure("how made-up words are chosen"),
    "values[*]": _setting("values that the user has called public"),
    "low": _setting("end of a range that the user has called public"),
    "high": _setting("end of a range that the user has called public"),
    "why": _structure("why the column is of its kind"),
}
_NUMBERS: Mapping[str, Origin] = {
    "atoms.lows[*]": _value("lower ends of a number's intervals"),
    "atoms.highs[*]": _value("upper ends of a number's intervals"),
    "atoms.low": _value("smallest value"),
    "atoms.high": _value("largest value"),
    "atoms.decimals": _structure("decimals of a column"),
    "atoms.whole": _structure("whether a column holds whole numbers"),
    "atoms.grain.steps[*]": _structure("steps to which people round a column"),
    "atoms.grain.offsets[*]": _structure("digits that numbers of a step end in, such as 99"),
    "atoms.grain.starts[*]": _structure("first interval of a range with shares of its own"),
    "atoms.grain.shares[*][*]": _learned("how often each step is used, over hundreds of rows"),
    "quantile.bin_edges[*]": _value("edges of the k-means bins"),
    "quantile.quantile_edges[*]": _value("edges of the quantiles"),
    "quantile.low": _value("smallest value"),
    "quantile.high": _value("largest value"),
    "quantile.decimals": _structure("decimals of a column"),
}
_STEPS = _learned("days, times or steps of a column, checked by how many rows each represents")

ORIGINS: Mapping[str, Mapping[str, Origin]] = {
    "manifest.json": {
        "format": _structure("the name of the format"),
        "version": _structure("the version of the format"),
        "written_by": _record("the version of the package"),
        "members.**.sha256": _structure("checksum of a member"),
        "members.**.bytes": _structure("size of a member"),
    },
    "config.json": {
        "tree.**": _setting("a setting of the user or the preset"),
        "tokens.**": _setting("a setting of the user or the preset"),
        "model.**": _setting("a setting of the user or the preset"),
        "train.**": _setting("a setting of the user or the preset"),
        "sampling.**": _setting("a setting of the user or the preset"),
        "forest": _setting("that no trees write"),
        "forest.**": _setting("a setting of the user or the preset"),
    },
    "schema.json": {f"[*].{path}": found for path, found in _COLUMN.items()},
    "codec.json": {
        "columns[*].labels[*]": _value("categories of a column"),
        "columns[*].labels.values[*]": _value("categories of a column that are not rare"),
        "columns[*].labels.other": _structure("id of all rare categories"),
        "columns[*].labels.shares[*]": _learned("how often each category is written for a rare one"),
        "columns[*].constant": _value("the value of every row"),
        "columns[*].missing": _structure("whether values are missing"),
        "columns[*].common[*]": _structure("ids that replace a missing value where these are rare"),
        **{f"columns[*].{path}": found for path, found in _NUMBERS.items()},
        "columns[*].ticks.step": _structure("step of a column of durations"),
        **{f"columns[*].ticks.{path}": _STEPS for path in _NUMBERS},
        "columns[*].times.day": _structure("counts per day"),
        "columns[*].times.step": _structure("step of the times of day"),
        "columns[*].times.calendar": _structure("the calendar of days"),
        "columns[*].times.low": _value("earliest time"),
        "columns[*].times.high": _value("latest time"),
        "columns[*].times.weeks[*]": _STEPS,
        "columns[*].times.parts[*].**": _STEPS,
        "columns[*].key.numbers.*": _value("smallest and largest key, and the range of new ones"),
        "columns[*].key.pattern.last": _value("largest number in a key"),
        "columns[*].key.pattern.**": _learned("how keys are written: signs, alphabets, lengths, frequent parts"),
        "columns[*].key.placeholder.text": _setting("placeholder"),
        "columns[*].key.templates.**": _learned("how keys of a meaning are written: countries, lengths, signs"),
        "columns[*].key.stand_in.**": _structure("how made-up words are chosen"),
        "columns[*].key.dates.*": _learned("the form of dates, and the years that they are in"),
        "columns[*].key.repeats[*]": _learned("how many rows share a key, as shares"),
        "columns[*].text.labels[*]": _value("frequent texts"),
        "columns[*].text.n_rare": _record("how many texts are rare"),
        "columns[*].text.writer.pattern.**": _learned(
            "how texts are written: signs, alphabets, lengths, frequent parts"
        ),
        "columns[*].text.writer.patterns.**": _learned(
            "how codes of several patterns are written: signs, alphabets, lengths, frequent parts"
        ),
        "columns[*].text.writer.numbers.*": _value("smallest and largest key, and the range of new ones"),
        "columns[*].text.writer.placeholder.text": _setting("placeholder"),
        "columns[*].text.writer.templates.**": _learned(
            "how texts of a meaning are written: countries, lengths, signs"
        ),
        "columns[*].text.writer.stand_in.**": _structure("how made-up words are chosen"),
        "columns[*].text.writer.dates.*": _learned("the form of dates, and the years that they are in"),
        "laws[*].**": _learned("what a law between columns stores, each from at least as many rows as the floor"),
        "shared[*]": _structure("columns that rows of the same key have in common"),
        "rules[*].rule": _structure("a relation between columns"),
        "rules[*].moves_greater": _structure("which column is changed"),
        "rules[*].gaps[*]": _learned("quantiles of the difference of two columns"),
        "rules[*].pairs[*][*]": _learned("pairs of values that go together"),
    },
    "record.json": {
        "rows": _record("rows learned from"),
        "preset": _setting("the preset"),
        "networks": _structure("how many networks there are"),
        "target": _setting("the column to predict"),
        "seed": _setting("the seed"),
        "tree_seconds": _record("time"),
        "fit_seconds": _record("time"),
        "dialect.*": _structure("separator and decimal point of the file that was read"),
        "interrupted": _record("whether somebody ended the fit early"),
        "training[*].*": _record("course of training: steps, rows, seconds"),
        "training[*].validations[*][*]": _record("course of training: losses, averages over many rows"),
        "training[*].readings[*].*": _record("course of training: the memorisation meter, over many rows"),
        "versions.*": _record("versions of the libraries"),
        "protected.rare_floor": _setting("rows that a value needs to be kept"),
        "protected.columns[*].*": _record("how many values of a column were merged or clipped"),
        "privacy.**": _record("privacy figures, aggregates over many rows"),
        "quality.**": _record("quality figures, aggregates over many rows"),
    },
    "tree.json": {
        "target": _structure("name of the column that the trees predict"),
        **{f"encoder.sources[*].column.{path}": found for path, found in _COLUMN.items()},
        "encoder.sources[*].labels[*]": _value("categories of a column"),
        **{f"encoder.goal.column.{path}": found for path, found in _COLUMN.items()},
        "encoder.goal.labels[*]": _value("categories of a column"),
        "encoder.sources[*].other": _structure("code of all rare categories"),
        "encoder.goal.other": _structure("code of all rare categories"),
        "encoder.sources[*].ends[*][*]": _value("ends of the intervals that the trees distinguish"),
        "encoder.goal.ends[*][*]": _value("ends of the intervals that the trees distinguish"),
        "n_leaves[*]": _structure("leaves of each tree"),
    },
    "forest.json": {
        "context[*]": _structure("ids of a column that is only read"),
        "sizes[*]": _structure("ids of a column"),
        "leaf_rows": _setting("minimum rows per leaf"),
        "smoothing[*]": _setting("a setting of the user or the preset"),
        "unseen[*]": _setting("a setting of the user or the preset"),
        "nodes[*][*]": _structure("how large each tree is"),
        "entries[*][*]": _structure("how many counts each tree has"),
        "scores[*]": _structure("how many intervals the score of a column has"),
        "boosted[*][*]": _structure("how large each boosted tree of a score is"),
    },
    "forest.safetensors": {
        "slots": _learned("which column each node of a tree asks"),
        "right": _structure("how the nodes of a tree follow each other"),
        "sets": _learned("which ids go left at each node"),
        "boost_slots": _learned("which column each node of a boosted tree asks"),
        "boost_right": _structure("how the nodes of a boosted tree follow each other"),
        "boost_sets": _learned("which ids go left at each node of a boosted tree"),
        "score_leaves": _learned("what each leaf of a boosted tree adds to a score: learned from at least 5 rows"),
        "score_values": _learned("what each id adds to the score of a later column: a regression on all rows"),
        "score_edges": _learned("intervals of that score"),
        "margins": _learned("how many training rows have each id"),
        "leaf_entries": _structure("how many counts each leaf has"),
        "ids": _learned("ids that come in each leaf"),
        "counts": _learned("how many training rows of a leaf have each id"),
    },
    "prompts.safetensors": {
        "network_*": _learned("masked leaves of rows that the model wrote, or without a floor of training rows")
    },
    "weights_1.safetensors": {"**": _learned("weights of a network; what they remember is for attacks to find out")},
    "weights_2.safetensors": {"**": _learned("weights of a network; what they remember is for attacks to find out")},
}

_SHAPE = _structure("shape of a tree")
_COUNTS = _learned("rows or weights that reach a node")
_SCORES = _learned("score of a node, from the rows that reach it")
TREES: Mapping[str, Mapping[str, Origin]] = {
    "none": {},
    "lightgbm": {
        "threshold": _value("value at which a tree splits"),
        "feature_infos": _value("smallest and largest value of each column"),
        "cat_threshold": _structure("sets of category codes"),
        "cat_boundaries": _SHAPE,
        **dict.fromkeys(("num_leaves", "num_cat", "left_child", "right_child", "decision_type"), _SHAPE),
        **dict.fromkeys(("split_feature", "is_linear", "shrinkage", "tree_sizes", "Tree"), _SHAPE),
        **dict.fromkeys(("leaf_count", "internal_count", "leaf_weight", "internal_weight"), _COUNTS),
        **dict.fromkeys(("leaf_value", "internal_value", "split_gain"), _SCORES),
        **dict.fromkeys(("version", "num_class", "num_tree_per_iteration", "label_index"), _setting("objective")),
        **dict.fromkeys(("max_feature_idx", "objective", "feature_names", "average_output"), _setting("model")),
        "feature_importances": _learned("how often a column is split"),
        "parameters": _setting("parameters of LightGBM"),
        "pandas_categorical": _structure("always null here"),
    },
    "decision_tree": {
        "feature[*]": _SHAPE,
        "left[*]": _SHAPE,
        "right[*]": _SHAPE,
        "threshold[*]": _value("value at which the tree splits"),
        "prediction[*]": _SCORES,
    },
    "xgboost": {
        "learner.gradient_booster.model.trees[*].split_conditions[*]": _value("where a tree splits, or a score"),
        "learner.gradient_booster.model.trees[*].base_weights[*]": _SCORES,
        "learner.gradient_booster.model.trees[*].loss_changes[*]": _SCORES,
        "learner.gradient_booster.model.trees[*].sum_hessian[*]": _COUNTS,
        "learner.gradient_booster.model.trees[*].**": _SHAPE,
        "learner.gradient_booster.**": _structure("size of the model"),
        "learner.learner_model_param.**": _structure("size of the model, and the mean of the target"),
        "learner.objective.**": _setting("objective"),
        "learner.feature_types[*]": _structure("kinds of columns"),
        "learner.attributes.n_classes": _structure("classes of the target"),
        "version[*]": _record("version of XGBoost"),
    },
    "catboost": {
        "classes[*]": _structure("codes of the classes"),
        "constant": _learned("mean or most common code of the target"),
        "trees.features_info.float_features[*].borders[*]": _value("values at which trees may split"),
        "trees.features_info.**": _structure("kinds of columns"),
        "trees.oblivious_trees[*].splits[*].border": _value("value at which a tree splits"),
        "trees.oblivious_trees[*].splits[*].**": _SHAPE,
        "trees.oblivious_trees[*].leaf_values[*]": _SCORES,
        "trees.oblivious_trees[*].leaf_weights[*]": _COUNTS,
        "trees.trees[*].**": _learned("a tree that is not symmetric: splits, scores, counts"),
        "trees.scale_and_bias**": _structure("scale of the scores, and the mean of the target"),
    },
}
"""The same for the text of the trees, by tree model."""


def pattern_of(path: str, known: Mapping[str, Origin]) -> str | None:
    """Return the pattern that matches a general path; None if it is not documented."""
    if path in known:
        return path
    return next((pattern for pattern in known if "*" in pattern and _regex(pattern).fullmatch(path)), None)


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\[\*\]|\*\*|\*)", pattern)
    meaning = {"[*]": r"\[\*\]", "**": ".*", "*": r"[^.\[]*"}
    return re.compile("".join(meaning.get(part, re.escape(part)) for part in parts))
