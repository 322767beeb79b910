"""Grain: are numbers rounded as people round them? Whole thousands, half dollars, .99."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...data.schema.numbers import count_decimals
from ..context import Context
from ..references import Tables
from ..score import Measurement

Floats = NDArray[np.float64]

MAX_DECIMALS = 9
"""Numbers with more decimals have no last digit that a person chose."""
SPARE = 100
"""One training value in this many may have more decimals than the others."""
ENDINGS = (25, 5, 1)
"""A number belongs to the coarsest of these, in steps of its last nonzero digit."""


def grain(tables: Tables, context: Context) -> Measurement:
    """One minus the distance between the shares of roundings, averaged over numeric columns; 1 is best."""
    records = []
    for place in tables.train.numeric:
        feature = tables.train.features[place]
        real, new = (table.columns[place] for table in (tables.train, tables.synthetic))
        score = similarity(real[~np.isnan(real)], new[~np.isnan(new)])
        if score is not None:
            records.append({"column": feature.name, "score": score[0], "chance": score[1]})
    if not records:
        return Measurement(np.nan, {"columns": []}, "no number has a last digit")
    worst = min(records, key=lambda record: float(record["score"]))
    value = float(np.mean([record["score"] for record in records]))
    chance = float(np.mean([record["chance"] for record in records]))
    return Measurement(value, {"columns": records, "worst": worst["column"], "chance": chance})


def similarity(real: Floats, new: Floats) -> tuple[float, float] | None:
    """How similarly two columns are rounded, and how similarly two samples of the real one would be.

    None where the real numbers have no last digit.
    """
    if not len(real) or not len(new):
        return None
    decimals = count_decimals(real, spare=len(real) // SPARE)
    if decimals is None or decimals > MAX_DECIMALS or np.abs(real).max() * 10.0**decimals > 2**53:
        return None
    shares = [np.bincount(roundings(values, decimals), minlength=128) / len(values) for values in (real, new)]
    noise = np.sqrt(2 / np.pi * shares[0] * (1 - shares[0]) * (1 / len(real) + 1 / len(new)))
    return float(1 - np.abs(shares[0] - shares[1]).sum() / 2), float(1 - noise.sum() / 2)


def roundings(values: Floats, decimals: int) -> NDArray[np.int64]:
    """The class of each number: 0 if it has more decimals, else by its zeros and the digit before them."""
    largest = 2.0**53 / 10.0**decimals
    scaled = np.clip(values, -largest, largest) * 10.0**decimals
    counts = np.rint(scaled)
    finer = np.abs(scaled - counts) > np.maximum(1e-5, 1e-12 * np.abs(scaled))
    left = np.abs(counts).astype(np.int64)
    classes = np.ones(len(values), dtype=np.int64)
    zeros = np.zeros(len(values), dtype=np.int64)
    whole = left > 0
    while whole.any():
        whole = whole & (left % 10 == 0)
        left = np.where(whole, left // 10, left)
        zeros += whole
    for place, ending in enumerate(ENDINGS):
        classes = np.where((classes == 1) & (left % ending == 0), 2 + place, classes)
    classes = classes + 4 * zeros
    classes = np.where(counts == 0, 127, classes)
    return np.asarray(np.where(finer, 0, np.minimum(classes, 127)))
