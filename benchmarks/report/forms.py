"""A DataFrame as Markdown, CSV and LaTeX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd


def cell(value: Any, digits: int = 3) -> str:
    """A number with few digits, large ones with none; a gap is a dash."""
    if isinstance(value, str):
        return value or "–"
    if value is None or pd.isna(value):
        return "–"
    if float(value).is_integer() and abs(value) < 1e6 and not isinstance(value, float):
        return f"{int(value)}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.{digits}f}"


def texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Every cell as text; columns that count things without a decimal point."""
    shown = {}
    for name in frame.columns:
        values = frame[name]
        counts = pd.api.types.is_numeric_dtype(values) and (values.dropna() % 1 == 0).all() and _counts(str(name))
        shown[name] = [f"{int(v)}" if counts and pd.notna(v) else cell(v) for v in values]
    return pd.DataFrame(shown, index=frame.index)


def markdown(frame: pd.DataFrame) -> str:
    """A table of Markdown; the index comes first."""
    flat = texts(frame).reset_index()
    names = ["" if str(name).startswith(("index", "level_")) else str(name) for name in flat.columns]
    aligned = ["---" if i < frame.index.nlevels else "---:" for i in range(len(names))]
    lines = [names, aligned, *([str(v).replace("|", "\\|") for v in row] for row in flat.to_numpy())]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def latex(frame: pd.DataFrame, caption: str, label: str) -> str:
    """A table of LaTeX with booktabs' rules."""
    flat = texts(frame).reset_index()
    columns = "l" * frame.index.nlevels + "r" * frame.shape[1]
    names = ["" if str(name).startswith(("index", "level_")) else _escaped(name) for name in flat.columns]
    rows = [" & ".join(_escaped(v) for v in row) + r" \\" for row in flat.to_numpy()]
    body = [r"\begin{table}", r"\centering", rf"\caption{{{_escaped(caption)}}}", rf"\label{{tab:{label}}}"]
    body += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(names) + r" \\", r"\midrule", *rows]
    return "\n".join([*body, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def write_all(folder: Path, name: str, frame: pd.DataFrame, caption: str) -> None:
    """The three files of one table."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"{caption}\n\n{markdown(frame)}\n", encoding="utf-8")
    (folder / f"{name}.tex").write_text(latex(frame, caption, name), encoding="utf-8")
    frame.to_csv(folder / f"{name}.csv", float_format="%.6g")


def _counts(name: str) -> bool:
    return (
        name in ("runs", "timed runs", "tables", "runs of both", "seed")
        or "<" in name
        or name.startswith("ours better")
    )


def _escaped(value: Any) -> str:
    text = str(value).replace("\\", r"\textbackslash ")
    for mark in "&%$#_{}":
        text = text.replace(mark, "\\" + mark)
    return text.replace("±", r"$\pm$").replace("−", "$-$").replace("–", "--").replace("<", "$<$")
