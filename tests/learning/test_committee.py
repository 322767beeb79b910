"""Tables of few rows: both networks draw each row together, and rows agree with their class."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from tabtreeformer import ConfigError, SampleConfig, TabTreeFormer
from tabtreeformer.config.presets import auto, private_auto
from tabtreeformer.sampling.committee import Committee


@pytest.fixture(scope="module")
def flowers():
    loaded = load_iris(as_frame=True)
    return loaded.frame.assign(target=pd.Series(loaded.target_names)[loaded.frame["target"]].to_numpy())


def contradictions(rows, real):
    """Share of rows whose class a linear classifier of the real rows does not see in them."""
    names = [name for name in real.columns if name != "target"]
    known = LinearDiscriminantAnalysis().fit(real[names], real["target"])
    return float((known.predict(rows[names]) != rows["target"]).mean())


@pytest.fixture(scope="module")
def model(flowers):
    return TabTreeFormer(
        target="target", privacy="off", random_state=0, verbose=False, sampling={"committee": 1.0}
    ).fit(flowers)


def test_few_rows_of_iris_contradict_their_species(model, flowers):
    rows = model.sample(1000, random_state=0)
    assert contradictions(rows, flowers) < 0.07
    shares = rows["target"].value_counts(normalize=True)
    assert (shares - 1 / 3).abs().max() < 0.05  # margins are corrected for rows of both networks together


def test_conditions_and_gaps_are_met_by_both_networks_together(model, flowers):
    rows = model.sample(60, given={"target": "setosa"}, random_state=0)
    assert (rows["target"] == "setosa").all()
    assert contradictions(rows, flowers) < 0.1
    filled = model.impute(flowers.head(20).assign(target=None), random_state=0)
    assert (filled["target"] == "setosa").mean() > 0.8


def test_logits_of_a_committee_are_the_weighted_sum_of_both(model):
    networks = model.fitted_.models
    width = networks[0]._head_table().shape[1]  # the hidden state, and what the lines between columns add
    hidden = torch.from_numpy(np.random.default_rng(0).normal(size=(5, 2 * width)).astype(np.float32))
    logs = [
        torch.log_softmax(net.slot_logits(hidden[:, k * width : (k + 1) * width], 0), 1)
        for k, net in enumerate(networks)
    ]
    for committee, weight in ((1e-9, 0.5), (1.0, 1.0)):
        together = Committee(networks, SampleConfig(committee=committee)).slot_logits(hidden, 0)
        torch.testing.assert_close(together, weight * (logs[0] + logs[1]), rtol=1e-4, atol=1e-5)


def test_only_tables_of_few_rows_have_a_committee():
    assert [auto(n).sampling.committee for n in (100, 200, 300, 400, 5000)] == [0.6, 0.6, 0.3, 0.0, 0.0]
    assert private_auto(100).sampling.committee == 0
    with pytest.raises(ConfigError, match="sampling.committee must be between 0 and 1, got 2"):
        SampleConfig(committee=2)
