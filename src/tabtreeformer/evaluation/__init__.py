"""Scores of synthetic rows: useful, faithful, safe? DataFrames in, scores out; the model is not needed.

scikit-learn, LightGBM and XGBoost are imported only when a metric needs them.
"""

from __future__ import annotations

from .attacks.membership import MembershipAttack, membership_attack
from .catalogue import METRICS
from .evaluate import Evaluation, evaluate
from .metrics.utility import Summary, relative_error, summarise
from .record import to_record
from .safety import Finding, findings, repeats, tells_members
from .score import Score

__all__ = [
    "METRICS",
    "Evaluation",
    "Finding",
    "MembershipAttack",
    "Score",
    "Summary",
    "evaluate",
    "findings",
    "membership_attack",
    "relative_error",
    "repeats",
    "summarise",
    "tells_members",
    "to_record",
]
