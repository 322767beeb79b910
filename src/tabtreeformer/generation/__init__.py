"""From prompts to value ids."""

from .agreeing import mixed_chances
from .partial import Partial, judge
from .prompts import PromptBank, blank, masked
from .sampler import Plan, Sampler
from .writer import BLOCK, RowWriter

__all__ = [
    "BLOCK",
    "Partial",
    "Plan",
    "PromptBank",
    "RowWriter",
    "Sampler",
    "blank",
    "judge",
    "masked",
    "mixed_chances",
]
