"""Questions to a fitted model, beyond "give me n rows": rows under conditions, gaps, likelihoods, predictions.

All need a model that was trained in any order, as `auto` is: what is given comes first, the rest is drawn or scored
after it.
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
