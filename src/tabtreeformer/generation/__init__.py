"""From prompts to value ids."""

from .prompts import PromptBank
from .sampler import Plan, Sampler

__all__ = ["Plan", "PromptBank", "Sampler"]
