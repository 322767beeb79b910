"""Values to ids and back, and the layout of a row's ids."""

from .codec import TableCodec
from .layout import BOS, EOS, MASK, Kind, Slot, TokenLayout
from .numeric import NumericCodec

__all__ = ["BOS", "EOS", "MASK", "Kind", "NumericCodec", "Slot", "TableCodec", "TokenLayout"]
