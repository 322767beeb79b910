"""From prompts to value ids."""

from .prompts import PromptBank
from .sampler import Sampler

__all__ = ["PromptBank", "Sampler"]
