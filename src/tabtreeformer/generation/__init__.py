"""From prompts to value ids."""

from .prompts import PromptBank, blank, masked
from .sampler import Plan, Sampler
from .writer import RowWriter

__all__ = ["Plan", "PromptBank", "RowWriter", "Sampler", "blank", "masked"]
