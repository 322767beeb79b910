"""All codecs, in the order in which they are tried for a column."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ...config.settings import TokenConfig
from ...data.schema import Column
from .atoms import AtomCodec
from .base import Codec
from .constant import ConstantCodec
from .labels import LabelCodec
from .numeric import NumericCodec
from .ticks import TickCodec
from .times import TimeCodec
from .unlearned import KeyCodec, TextCodec

CODECS: tuple[type[Codec], ...] = (
    AtomCodec,
    NumericCodec,
    TimeCodec,
    TickCodec,
    LabelCodec,
    TextCodec,
    KeyCodec,
    ConstantCodec,
)
BY_NAME: Mapping[str, type[Codec]] = {codec.name: codec for codec in CODECS}


def learn_codec(values: pd.Series, column: Column, config: TokenConfig) -> Codec:
    """Fit the first codec that accepts the column."""
    for codec in CODECS:
        if column.kind in codec.kinds and codec.scheme in (None, config.scheme):
            fitted = codec.learn(values, column, config)
            if fitted is not None:
                return fitted
    raise AssertionError(f"no codec takes a column of kind {column.kind!r}")


def codec_class(name: str, column: Column) -> type[Codec]:
    """The codec with this name, if it may encode the column; a column with too few values is constant."""
    codec = BY_NAME.get(name)
    if codec is None or (column.kind not in codec.kinds and codec is not ConstantCodec):
        raise ValueError(f"column {column.name!r} is {column.kind} but coded as {name}")
    return codec
