"""The network: embeddings, backbone, head, loss."""

from .loss import RowLoss
from .row_model import RowModel

__all__ = ["RowLoss", "RowModel"]
