"""Queries to a fitted model: rows under conditions, missing values, likelihoods, predictions.

All need a model trained in any column order, such as `auto`: given values come first, the rest is drawn or scored after
them.
"""

from .answer import impute
from .predict import predict, predict_proba
from .questions import Question, answer, blocks, complete_all, count, in_batches, question, together
from .score import log_prob, outliers

__all__ = [
    "Question",
    "answer",
    "blocks",
    "complete_all",
    "count",
    "impute",
    "in_batches",
    "log_prob",
    "outliers",
    "predict",
    "predict_proba",
    "question",
    "together",
]
