"""Values to ids and back, and the layout of the ids in a row."""

from .codecs.numeric import NumericCodec
from .layout import BOS, EOS, MASK, Slot, SlotKind, TokenLayout
from .table_codec import TableCodec
from .writer import BLOCK, FREE, Given

__all__ = [
    "BLOCK",
    "BOS",
    "EOS",
    "FREE",
    "MASK",
    "Given",
    "NumericCodec",
    "Slot",
    "SlotKind",
    "TableCodec",
    "TokenLayout",
]
