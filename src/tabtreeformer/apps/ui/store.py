"""What the page keeps on disk, one folder per table: the file, the schema, the model, the rows, the report.

Names are numbers assigned by the store: nothing that a browser sends becomes part of a path.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..._runtime.files import replacing

STATES = WAITING, RUNNING, STOPPING, DONE, FAILED = "waiting", "running", "stopping", "done", "failed"
MODEL, REPORT, CARD, SCHEMA, STATE = "model.tabtree", "report.html", "card.md", "schema.json", "state.json"
FIT = "fit.json"


@dataclass
class Entry:
    """One table, and the state of its fit."""

    number: int
    folder: Path
    name: str
    """Name of the uploaded file."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the fit: target, privacy, budget, preset, kinds."""
    state: str = ""
    """One of `STATES`; empty until a fit is requested."""
    message: str = ""
    """Why it failed, or the verdict."""

    @property
    def table(self) -> Path:
        """The uploaded file."""
        return next(self.folder.glob("table.*"))

    @property
    def model(self) -> Path:
        """The model file, if there is one."""
        return self.folder / MODEL

    def ask_for(self, settings: dict[str, Any]) -> None:
        """Write the settings of a fit for its process, and delete what an earlier fit left behind."""
        for name in (MODEL, REPORT, CARD):
            (self.folder / name).unlink(missing_ok=True)
        self.settings = settings
        (self.folder / FIT).write_text(json.dumps(settings), encoding="utf-8")

    def keep(self) -> None:
        """Write the state, so that it is found when the page is started again."""
        facts = {name: value for name, value in asdict(self).items() if name not in ("folder", "number")}
        with replacing(self.folder / STATE) as temporary:
            temporary.write_text(json.dumps(facts), encoding="utf-8")


class Store:
    """All entries, newest first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: dict[int, Entry] = {}
        for path in sorted(folder.glob("[0-9]*")):
            if (path / STATE).is_file():
                facts = json.loads((path / STATE).read_text(encoding="utf-8"))
                entry = Entry(int(path.name), path, **facts)
                if entry.state in (WAITING, RUNNING, STOPPING):
                    entry.state, entry.message = FAILED, "the page was closed while this was fitted; fit it again"
                self.entries[entry.number] = entry

    def new(self, name: str) -> Entry:
        """Create a folder for a file of that name."""
        number = max(self.entries, default=0) + 1
        folder = self.folder / str(number)
        folder.mkdir(mode=0o700)
        # Only the file extension matters to the reader.
        ending = "".join(Path(name).suffixes[-2:] if name.endswith(".gz") else Path(name).suffixes[-1:])
        safe = ending if re.fullmatch(r"(\.[A-Za-z0-9]{1,8}){1,2}", ending) else ".csv"
        entry = Entry(number, folder, Path(name).name[:200])
        (folder / f"table{safe.lower()}").touch()
        self.entries[number] = entry
        return entry

    def remove(self, entry: Entry) -> None:
        """Delete a table and everything made from it."""
        self.entries.pop(entry.number, None)
        shutil.rmtree(entry.folder, ignore_errors=True)

    def newest_first(self) -> list[Entry]:
        """All entries, for the list on the first page."""
        return [self.entries[number] for number in sorted(self.entries, reverse=True)]
