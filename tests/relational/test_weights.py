import numpy as np
import pandas as pd
import pytest

from tabtreeformer.relational.weights import Weight, exchanged, learn_weights


def parents(n: int, seed: int, *, tied: bool) -> pd.DataFrame:
    """Parents of three labels; where they are tied to their children, label x has nearly all of them."""
    rng = np.random.default_rng(seed)
    label = rng.choice(["x", "y", "z"], n)
    children = np.where(label == "x", 50, 2) if tied else rng.permutation(np.where(label == "x", 50, 2))
    return pd.DataFrame({"label": label, "size": rng.normal(size=n), "children": children, "first": children * 2.0})


def test_values_weigh_as_much_as_their_children_do():
    real, drawn = parents(200, 0, tied=True), parents(200, 1, tied=False)
    weights = learn_weights(real, {"label": False}, ["children"], 5)
    new = exchanged(drawn, weights, ["children", "first"], np.random.default_rng(0))
    assert sorted(new["children"]) == sorted(drawn["children"])
    assert (new["first"] == 2 * new["children"]).all()  # facts of a parent stay together
    pd.testing.assert_frame_equal(new[["label", "size"]], drawn[["label", "size"]])

    def share(frame):
        return frame.loc[frame["label"] == "x", "children"].sum() / frame["children"].sum()

    assert share(drawn) < 0.6
    assert share(new) == pytest.approx(share(real), abs=0.03)


def test_labels_of_few_parents_are_not_kept():
    frame = parents(100, 0, tied=True)
    frame.loc[0, "label"] = "only once"
    (weight,) = learn_weights(frame, {"label": False}, ["children"], 5)
    assert weight.labels == ("x", "y", "z")
    assert Weight.from_json(weight.to_json()) == weight
    assert weight.codes(pd.Series(["x", "only once", None])).tolist() == [0, 3, 4]


def test_numbers_and_times_are_cut_into_parts():
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=40), "children": range(40)})
    (weight,) = learn_weights(frame, {"day": True}, ["children"], 5)
    assert len(weight.edges) == 7
    shares = weight.shares["children"]
    assert list(shares[:-1]) == sorted(shares[:-1])
    assert sum(shares) == pytest.approx(1)
