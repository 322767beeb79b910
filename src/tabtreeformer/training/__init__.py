"""Masks, halves, stopping, and the loop over steps."""

from .masking import draw_masks
from .trainer import History, Trained, torch_generator, train_networks

__all__ = ["History", "Trained", "draw_masks", "torch_generator", "train_networks"]
