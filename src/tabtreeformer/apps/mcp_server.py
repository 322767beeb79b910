"""A server for assistants (Model Context Protocol) that describes, learns and writes tables in named folders.

No tool returns a value of a real row, unless the server was started with `real_rows=True`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..config.presets import Privacy
from ..data.io import read_table, write_table
from ..data.schema import Schema
from ..errors import ConfigError, TabTreeFormerError, import_extra
from ..evaluation import evaluate
from ..privacy.card import model_card, to_markdown
from ..privacy.gate.release import check_release
from ..synthesizer import TabTreeFormer
from .folders import Folders

MAX_SHOWN = 50
"""Maximum number of new rows in one answer; more go to a file."""

INSTRUCTIONS = (
    "Learn a table and write new rows like it. Start with describe_table, then fit_model, then sample_rows. Paths are "
    "relative to the first folder that the user named. Read the verdict of fit_model and model_card to the user before "
    "rows are passed on."
)


class Tools:
    """What the server can do, as plain functions of paths and values."""

    def __init__(self, folders: Folders, *, real_rows: bool = False) -> None:
        self.folders, self.real_rows = folders, real_rows

    def all(self) -> list[Callable[..., Any]]:
        """The tools, by the names of their methods."""
        tools: list[Callable[..., Any]] = [
            self.describe_table, self.fit_model, self.sample_rows, self.impute_table, self.evaluate_rows,
            self.model_card,
        ]  # fmt: skip
        return [*tools, self.show_rows] if self.real_rows else tools

    def describe_table(self, path: str, target: str | None = None) -> dict[str, Any]:
        """Describe a table file (CSV, Parquet, Excel …): rows, and per column kind, dtype and share missing."""
        df = read_table(self.folders.existing(path))
        schema = Schema.infer(df, target)
        columns = [
            {
                "name": column.name,
                "kind": column.kind,
                "dtype": str(column.dtype),
                "missing": round(float(df[column.name].isna().mean()), 4),
                "distinct": int(df[column.name].astype(str).nunique()),
            }
            for column in schema.columns
        ]
        return {"rows": len(df), "columns": columns}

    def fit_model(
        self,
        path: str,
        model: str,
        target: str | None = None,
        preset: str = "auto",
        privacy: Privacy = "balanced",
        budget_seconds: float | None = None,
        seed: int | None = None,
    ) -> dict[str, Any]:
        """Learn a table file and write the model to `model`; returns the privacy verdict with its reasons."""
        source, place = self.folders.existing(path), self.folders.new(model)
        estimator = TabTreeFormer(
            preset, target, privacy=privacy, budget_seconds=budget_seconds, random_state=seed, verbose=False
        )
        fitted = estimator.fit(read_table(source))
        fitted.save(place)
        summary, verdict = fitted.summary(), fitted.fitted_.record.get("privacy") or {}
        return {
            "model": model,
            "rows": summary["rows"],
            "seconds": summary["fit_seconds"],
            "laws": list(summary["constraints"]),
            "verdict": verdict.get("verdict", "not judged"),
            "reasons": list(verdict.get("reasons") or ()),
        }

    def sample_rows(
        self,
        model: str,
        rows: int = 10,
        given: dict[str, Any] | None = None,
        output: str | None = None,
        seed: int | None = None,
    ) -> dict[str, Any]:
        """Write new rows of a model, all of which meet `given` ({"city": "Ulm", "age": [30, 40]}: a list is one of).

        With `output` they are written to a new file; without, up to 50 are returned. A model that failed its privacy
        verdict writes nothing.
        """
        place = self.folders.existing(model)
        target = None if output is None else self.folders.new(output)
        if target is None and rows > MAX_SHOWN:
            raise ConfigError(f"{rows} rows are too many for an answer; name an output file, or ask for {MAX_SHOWN}")
        loaded = TabTreeFormer.load(place, verbose=False)
        check_release(place, loaded.fitted_.record, None, rows)
        new = loaded.sample(rows, given=given, random_state=seed)
        if target is None:
            return {"rows": json.loads(new.to_json(orient="records", date_format="iso"))}
        write_table(new, target)
        return {"written": output, "rows": len(new)}

    def impute_table(self, model: str, path: str, output: str, seed: int | None = None) -> dict[str, Any]:
        """Fill the gaps of a table file with what the model expects, into a new file; returns counts, not values."""
        place, source, target = self.folders.existing(model), self.folders.existing(path), self.folders.new(output)
        df = read_table(source)
        filled = TabTreeFormer.load(place, verbose=False).impute(df, random_state=seed)
        write_table(filled, target)
        return {"written": output, "cells_filled": int(df.isna().sum().sum() - filled.isna().sum().sum())}

    def evaluate_rows(
        self, train: str, rows: str, holdout: str | None = None, target: str | None = None
    ) -> dict[str, Any]:
        """Score new rows next to real held-out ones: utility, fidelity and privacy, each with its reference."""
        tables = [None if path is None else read_table(self.folders.existing(path)) for path in (train, holdout, rows)]
        scores = evaluate(*tables, target=target).scores
        return {
            name: {"value": score.value, "goal": score.goal, "held_out_rows": score.ceiling}
            for name, score in scores.items()
        }

    def model_card(self, model: str) -> str:
        """The model card in Markdown: data in numbers, figures, verdict, protection, limits."""
        return to_markdown(model_card(self.folders.existing(model)))

    def show_rows(self, path: str, rows: int = 5) -> list[dict[str, Any]]:
        """The first rows of a table file, as they are."""
        head = read_table(self.folders.existing(path)).head(min(rows, MAX_SHOWN))
        shown: list[dict[str, Any]] = json.loads(head.to_json(orient="records", date_format="iso"))
        return shown


def build_server(folders: Sequence[str | Path], *, real_rows: bool = False) -> Any:
    """The official SDK's server with all tools."""
    server_module = import_extra("mcp.server", "mcp")
    tool_error = import_extra("mcp.server.mcpserver.exceptions", "mcp").ToolError
    from .._version import __version__

    server = server_module.MCPServer("tabtreeformer", instructions=INSTRUCTIONS, version=__version__)
    for tool in Tools(Folders(folders), real_rows=real_rows).all():
        server.tool()(_foreseen(tool, tool_error))
    return server


def _foreseen(tool: Callable[..., Any], error_type: type[Exception]) -> Callable[..., Any]:
    """A tool that answers an expected failure by saying what to do."""

    @functools.wraps(tool)
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            return tool(*arguments, **named)
        except TabTreeFormerError as error:
            raise error_type(str(error)) from error

    return called
