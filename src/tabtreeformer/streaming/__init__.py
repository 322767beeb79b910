"""More rows than memory holds: written in parts, by one process or many, and taken up again where a run ended."""

from .request import Request
from .run import StreamTarget, can_stream, check_stream_target, stream
from .work import PartWork

__all__ = ["PartWork", "Request", "StreamTarget", "can_stream", "check_stream_target", "stream"]
