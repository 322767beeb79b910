"""Streams rows to disk in parts, by one process or many, resumable after an interruption."""

from .request import SampleRequest
from .run import StreamTarget, Workers, can_stream, check_stream_target, stream
from .work import PartWork

__all__ = ["PartWork", "SampleRequest", "StreamTarget", "Workers", "can_stream", "check_stream_target", "stream"]
