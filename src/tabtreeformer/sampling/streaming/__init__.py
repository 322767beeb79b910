"""More rows than memory holds: written in parts, by one process or many, and continued where a run ended."""

from .request import SampleRequest
from .run import StreamTarget, Workers, can_stream, check_stream_target, stream
from .work import PartWork

__all__ = ["PartWork", "SampleRequest", "StreamTarget", "Workers", "can_stream", "check_stream_target", "stream"]
