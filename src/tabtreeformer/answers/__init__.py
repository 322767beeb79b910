"""Questions to a fitted model, beyond "give me n rows": rows under conditions, gaps, likelihoods, predictions.

All need a model that was trained in any order, as `auto` is: what is given comes first, the rest is drawn or judged
after it.
"""

from .asking import Question, answer, blocks, count, in_batches, question, together
from .predicting import predict, predict_proba
from .scoring import log_prob, outliers
from .writing import impute

__all__ = [
    "Question",
    "answer",
    "blocks",
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
