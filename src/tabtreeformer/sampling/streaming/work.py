"""A worker that reads the model once and then writes its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...artifact.archive import read_archive
from ...artifact.fitted import Fitted
from ...artifact.limits import MEMBERS
from ...data.io.location import TableOptions, locate
from ..queries import answer, blocks, together
from ..writer import BLOCK, writer_of
from .parts import write_part
from .request import SampleRequest

WORK = "tabtreeformer.sampling.streaming.work:PartWork"
"""Its name for engines."""


class PartWriter:
    """Writes parts of a request with a model."""

    def __init__(
        self, fitted: Fitted, request: SampleRequest, settings: Mapping[str, Any], advance: Callable[[int], None]
    ) -> None:
        self.request, self.settings = request, settings
        self.question = request.question(fitted)
        self.rows = writer_of(fitted, fitted.config.sampling, request.seed, _nothing)
        self.rows.first_key = request.start_keys
        self.advance = advance

    def write(self, number: int) -> int:
        """Write one part; returns its rows."""
        settings, n = self.settings, self.request.n
        first = number * settings["part_blocks"]
        last = min((first + settings["part_blocks"]) * BLOCK, n)
        frames = []
        for part in blocks(last, first):
            frames.append(answer(self.question, self.rows, part))
            self.advance(len(part))
        options = TableOptions(**settings["options"])
        path = Path(settings["folder"]) / part_name(number, settings["ending"])
        header = settings["one_file"] is False or number == 0
        frame = together(frames)
        write_part(frame, path, locate(settings["name"], options), options, header=header)
        return len(frame)


class PartWork:
    """The same in a separate process, from a model file and plain settings."""

    def __init__(self, settings: Mapping[str, Any], files: Mapping[str, Path]) -> None:
        path = files["model"]
        fitted = Fitted.from_members(read_archive(path, MEMBERS), str(path), settings["device"])
        self.writer = PartWriter(fitted, SampleRequest.from_json(settings["request"]), settings, _nothing)

    def __call__(self, job: Any) -> int:
        """Write the part with this number."""
        return self.writer.write(int(job))


def part_name(number: int, ending: str) -> str:
    """The name of a part; names sort in the order of the parts."""
    return f"part-{number:05d}{ending}"


def _nothing(rows: int) -> None:
    """No progress: rows are counted per part."""
