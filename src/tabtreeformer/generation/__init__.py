"""From prompts to value ids."""

from .prompts import PromptBank, blank, masked
from .sampler import Plan, Sampler
from .writer import BLOCK, RowWriter

__all__ = ["BLOCK", "Plan", "PromptBank", "RowWriter", "Sampler", "blank", "masked"]
