"""Masks, halves, stopping, and the loop over steps."""

from .masking import draw_masks
from .trainer import History, Trained, train_networks

__all__ = ["History", "Trained", "draw_masks", "train_networks"]
