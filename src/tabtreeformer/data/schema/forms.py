"""Numbers and dates stored as text: detected, read, and written back in exactly the same form.

The form of a number shows how a thousand is written, e.g. `$1,000.00`, `1000 %` or `1.000,0 €`; `#` in place of the
decimals means as many as needed. The form of a date is a `strftime` format.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import SchemaError

_NOON = ("%-I:%M %p", "%-I:%M:%S %p", "%I:%M %p", "%I:%M:%S %p")
"""Times with AM and PM."""
DATE_FORMS = (
    "%Y-%m-%d",
    *(f"%Y-%m-%d{t}%H:%M{s}" for t in " T" for s in ("", ":%S", ":%S.%f", ":%SZ", ":%S.%fZ", ":%S+00:00", "Z")),
    *("%Y/%m/%d", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S"),
    *("%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y"),
    *("%Y-%m", "%m/%Y", "%H:%M", "%H:%M:%S", "%Y%m%dT%H%M%S", "%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M"),
    *("%-d.%-m.%Y", "%-d.%-m.%Y %H:%M", "%-d.%-m.%y", "%Y-%-m-%-d", "%Y/%-m/%-d"),
    *(f"{day}/%Y{time}" for time in ("", " %H:%M", " %-H:%M", " %H:%M:%S") for day in ("%-d/%-m", "%-m/%-d")),
    *("%-d/%-m/%y", "%-m/%-d/%y", "%-d-%-m-%Y", "%-m-%-d-%Y"),
    *("%-d %b %Y", "%-d-%b-%Y", "%b %-d, %Y", "%-d %B %Y", "%B %-d, %Y"),
    *("%b %-d %Y", "%b %d %Y", "%B %-d %Y", "%d-%b-%y", "%-d-%b-%y", "%b %Y", "%B %Y", "%b-%Y", "%b-%y", "%Y.%m.%d"),
    *("%Y/%m/%d %H:%M", "%d-%m-%Y %H:%M", "%d-%m-%Y %H:%M:%S", "%-m/%-d/%y %-H:%M", "%-d/%-m/%y %-H:%M"),
    *("%d.%m.%y", "%d.%m.%y %H:%M", "%-d.%-m.%Y %-H:%M", "%-d.%-m.%y %-H:%M", "%-d.%-m.%y %H:%M"),
    *(f"{day}{time}" for time in _NOON for day in ("%-m/%-d/%Y ", "%m/%d/%Y ", "%-d/%-m/%Y ", "%d/%m/%Y ")),
    *(f"{day}{time}" for time in _NOON for day in ("%Y-%m-%d ", "%b %-d, %Y ", "")),
)
"""Tried in this order; the first that reads all values is used. `%-d` has no leading zero."""

DAY_NUMBER = "%Y%m%d"
"""Days as whole numbers, e.g. 20240131."""

_SAMPLE = 200
_MONEY = {"usd", "eur", "gbp", "chf", "jpy", "cny", "inr", "rs", "us", "ca", "a", "kr", "r"}
"""Letters that may precede a number; any others make it a code, e.g. C042."""
_CODE_SIGNS = ("-", "_", "/", "#", ":")
"""Characters that join letters and digits of a code, e.g. A-1000 and #1000."""
_NUMBER = re.compile(r"(-?)(\D*?)(\d{1,3}(?:([,.'  ])\d{3}(?:\4\d{3})*)?|\d+)(?:([.,])(\d+))?(\D*)")


@dataclass(frozen=True)
class NumberForm:
    """How a number is written."""

    prefix: str = ""
    suffix: str = ""
    group: str = ""
    point: str = "."
    decimals: int | None = 0
    """None: as many as needed."""

    @classmethod
    def parse(cls, form: str) -> NumberForm:
        """Parse the output of `__str__`."""
        found = re.fullmatch(r"(\D*?)1([^\d]?)000(?:([.,])(0+|#))?(\D*)", form)
        if found is None:
            raise ValueError(f"{form!r} does not show how a thousand is written, as '$1,000.00' does")
        prefix, group, point, decimals, suffix = found.groups()
        return cls(prefix, suffix, group, point or ".", None if decimals == "#" else len(decimals or ""))

    def __str__(self) -> str:
        decimals = "#" if self.decimals is None else "0" * self.decimals
        return f"{self.prefix}1{self.group}000{self.point + decimals if decimals else ''}{self.suffix}"

    def read(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Texts → numbers; NaN if a text does not have this form."""
        return np.array([self._number(text) for text in texts], dtype=np.float64)

    def _number(self, text: str) -> float:
        sign, rest = ("-", text[1:]) if text.startswith("-") else ("", text)
        if not (rest.startswith(self.prefix) and rest.endswith(self.suffix)):
            return float("nan")
        digits = rest[len(self.prefix) : len(rest) - len(self.suffix)]
        if self.group:
            digits = digits.replace(self.group, "")
        try:
            return float(sign + digits.replace(self.point, "."))
        except ValueError:
            return float("nan")

    def write(self, numbers: NDArray[Any]) -> list[str]:
        """Numbers → texts."""
        return [self._text(number) for number in numbers.tolist()]

    def _text(self, number: float) -> str:
        places = self.decimals
        if places is None:
            shown = f"{abs(number):.15f}".rstrip("0") if abs(number) < 1e15 else f"{abs(number):.0f}."
            shown = np.format_float_positional(abs(number), trim="-") if "." in shown else shown
        else:
            shown = f"{abs(number):.{places}f}"
        whole, _, part = shown.partition(".")
        if self.group:
            whole = f"{int(whole):,}".replace(",", self.group)
        sign = "-" if number < 0 and (set(whole + part) - {"0", self.group}) else ""
        return f"{sign}{self.prefix}{whole}{self.point + part if part else ''}{self.suffix}"


def find_number_form(texts: Sequence[str]) -> NumberForm | None:
    """The form in which every text is a number that can be restored exactly, or None."""
    parts = [_NUMBER.fullmatch(text) for text in texts[:_SAMPLE]]
    if not parts or any(found is None for found in parts):
        return None
    groups = {found[4] for found in parts if found and found[4]}
    decimals = {len(found[6] or "") for found in parts if found}
    points = {found[5] for found in parts if found and found[5]}
    if len(groups) > 1 or len(points) > 1 or groups & points:
        return None
    letters = "".join(c for c in parts[0][2].lower() if c.isalpha())  # type: ignore[index]
    if (letters and letters not in _MONEY) or parts[0][2].endswith(_CODE_SIGNS):  # type: ignore[index]
        return None
    # A mark that is always followed by three digits separates thousands; it is rarely a decimal point.
    form = NumberForm(
        prefix=parts[0][2],  # type: ignore[index]
        suffix=parts[0][7],  # type: ignore[index]
        group=next(iter(groups), ""),
        point=next(iter(points), "," if groups == {"."} else "."),
        decimals=decimals.pop() if len(decimals) == 1 else None,
    )
    numbers = form.read(texts)
    return form if not np.isnan(numbers).any() and form.write(numbers) == list(texts) else None


def is_date_form(form: str) -> bool:
    """Distinguish the form of a date from that of a number, which may contain a percent sign too."""
    return re.search("%-?[YymdHIMSfbBp]", form) is not None


def find_date_form(texts: Sequence[str]) -> str | None:
    """The form in which every text is a date that can be restored exactly, or None."""
    if not texts or len(texts[0]) > 40 or sum(c.isdigit() for c in texts[0]) < 3:
        return None
    for form in DATE_FORMS:
        if all(_are_dates(part, form) for part in (texts[:1], texts[:_SAMPLE], texts)):
            return form
    return None


def day_or_month_first(texts: Sequence[str], form: str) -> str:
    """A note on a form that starts with day and month: which comes first, and whether that is certain."""
    found = re.match("(%-?d)([/.-])(%-?m)|(%-?m)([/.-])(%-?d)", form)
    if found is None:
        return ""
    said = "day first" if "d" in found[0][:3] else "month first"
    other = found[0].replace("d", "_").replace("m", "d").replace("_", "m") + form[len(found[0]) :]
    sure = "" if found[2] == "." or not _are_dates(texts, other) else "; month and day may be the other way round"
    return f", {said}{sure}"


def _are_dates(texts: Sequence[str], form: str) -> bool:
    dates = read_dates(texts, form)
    return dates is not None and write_dates(dates, form) == list(texts)


def read_dates(texts: Sequence[str], form: str) -> NDArray[np.int64] | None:
    """Texts → microseconds since 1970; None if any text does not have this form."""
    if not all(_shape(form).fullmatch(text) for text in texts[:1] if isinstance(text, str)):
        return None  # pandas takes 200 times as long to find out
    try:
        parsed = pd.to_datetime(pd.Series(texts, dtype=object), format=form.replace("%-", "%"), errors="raise")
    except (ValueError, TypeError, OverflowError):
        return None
    if getattr(parsed.dt, "tz", None) is not None:
        parsed = parsed.dt.tz_localize(None)
    micros: NDArray[np.int64] = parsed.to_numpy().astype("datetime64[us]").astype(np.int64)
    return micros


def numbers_in(texts: list[str], form: str, name: str | int) -> NDArray[np.float64]:
    """The numbers in a column's texts; a text that does not have the form is an error."""
    numbers = NumberForm.parse(form).read(texts)
    if np.isnan(numbers).any():
        bad = texts[int(np.argmax(np.isnan(numbers)))]
        raise SchemaError(f"column {name!r} holds {bad!r}, which is not written as {form!r}")
    return numbers


def dates_in(texts: list[str], form: str, name: str | int) -> NDArray[np.int64]:
    """The dates in a column's texts, in microseconds since 1970; a text that does not have the form is an error."""
    codes, distinct = pd.factorize(np.array(texts, dtype=object))
    micros = read_dates(list(distinct), form)
    if micros is None:
        bad = next(text for text in distinct if read_dates([text], form) is None)
        raise SchemaError(f"column {name!r} holds {bad!r}, which is not a date written as {form!r}")
    counts: NDArray[np.int64] = micros[codes]
    return counts


@cache
def _shape(form: str) -> re.Pattern[str]:
    """A regular expression for all texts of a form: digits, words and separators in their places."""
    shapes = (r"\D+" if piece in ("%b", "%B", "%p") else r"\d+" if piece[0] == "%" else _separator(piece)
              for piece in re.findall("%-?.|[^%]+", form))  # fmt: skip
    return re.compile("".join(shapes))


def _separator(text: str) -> str:
    return r"\s*".join(map(re.escape, text.split(" ")))


def write_dates(micros: NDArray[np.int64], form: str) -> list[str]:
    """Inverse of `read_dates`."""
    times = pd.Series(micros.astype("datetime64[us]")).dt
    texts = [""] * len(micros)
    for piece in re.split("(%-[dmHI])", form):  # without leading zeros there is no portable strftime
        if piece == "%-I":
            added = ((times.hour + 11) % 12 + 1).astype(str).tolist()
        elif piece in _UNPADDED:
            added = getattr(times, _UNPADDED[piece]).astype(str).tolist()
        else:
            added = times.strftime(piece).tolist() if piece else [""] * len(texts)
        texts = [text + more for text, more in zip(texts, added, strict=True)]
    return texts


_UNPADDED = {"%-d": "day", "%-m": "month", "%-H": "hour"}
