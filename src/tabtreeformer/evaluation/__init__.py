"""Are synthetic rows useful, faithful and safe? DataFrames in, scores out; the model is never seen.

scikit-learn, LightGBM and XGBoost are imported when a metric that needs them runs, not with this package.
"""

from __future__ import annotations

from .evaluate import METRICS, Evaluation, evaluate
from .membership import MembershipAttack, membership_attack
from .record import to_record
from .safety import Finding, findings, tells_members
from .score import Score
from .utility import Summary, relative_error, summarise

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
    "summarise",
    "tells_members",
    "to_record",
]
