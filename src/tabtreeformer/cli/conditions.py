"""Parse conditions as typed after `--given`.

COLUMN=VALUE       equal                    COLUMN=A..B      between, both included
COLUMN=A,B,C       one of                   COLUMN=>=VALUE   and >, <=, <, !=
COLUMN=missing     no value                 COLUMN=present   any value
COLUMN="VALUE"     equal to the quoted text, e.g. `missing` or `a,b`

The condition starts after the first =. If column names contain =, the longest matching name is used.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..tokens import TableCodec
    from ..tokens.codecs.column import ColumnCodec
    from ..tokens.conditions import Condition

CONDITION = (
    "Condition that every row meets: sex=Female, age=30..40 (between), state=CA,NY (one of), "
    "'hours=>=40' (also >, <, <=, !=), note=missing, note=present. Double quotes take a value literally: "
    "'town=\"Paris, Texas\"'."
)


def read_conditions(texts: list[str], table: TableCodec) -> dict[str | int, Condition]:
    """Read `--given` options, one per column."""
    from ..errors import ConfigError

    conditions: dict[str | int, Condition] = {}
    for text in texts:
        codec, condition = _split(text, table, "--given")
        column = codec.column
        if column.name in conditions:
            raise ConfigError(
                f"--given names column {column.name!r} more than once; write a range as {column.name}=A..B"
            )
        conditions[column.name] = read_condition(condition, codec)
    return conditions


def read_condition(text: str, codec: ColumnCodec) -> Condition:
    """Read what follows `COLUMN=`."""
    from ..data.schema import MEASURED
    from ..tokens import conditions as c

    text, column = text.strip(), codec.column
    if _quoted(text):
        return c.eq(_value(text, codec))
    if text in ("missing", "present"):
        return c.missing() if text == "missing" else c.present()
    for sign, operator in ((">=", c.ge), ("<=", c.le), ("!=", c.ne), (">", c.gt), ("<", c.lt)):
        # In `income=>50K` the class itself starts with a comparison sign.
        if text.startswith(sign) and not _is_class(text, codec):
            return operator(_value(text[len(sign) :], codec))
    if _is_class(text, codec):
        return c.eq(_value(text, codec))
    low, dots, high = text.partition("..")
    if dots and (column.kind in MEASURED or column.ordered):
        return c.between(_value(low, codec), _value(high, codec))
    if column.form is None or "," not in column.form:  # $1,200.50 is one value
        values = next(csv.reader([text], skipinitialspace=True), [text])
        if len(values) > 1:
            return c.isin([_value(value, codec) for value in values])
    return c.eq(_value(text, codec))


def read_mix(text: str, table: TableCodec) -> dict[str | int, dict[Any, float]]:
    """Read `--mix`: the shares of one column's classes."""
    from ..errors import ConfigError

    codec, listed = _split(text, table, "--mix")
    shares: dict[Any, float] = {}
    for part in next(csv.reader([listed], skipinitialspace=True)):
        label, colon, share = part.rpartition(":")
        try:
            shares[_value(label, codec)] = float(share)
        except ValueError:
            colon = ""
        if not colon:
            raise ConfigError(f"--mix {text!r}: {part!r} is not of the form CLASS:SHARE, as in class=a:0.3,b:0.7")
    return {codec.column.name: shares}


def named(text: str, table: TableCodec) -> str | int:
    """The column of that name; names that are numbers can be typed too."""
    name = next((name for name in table.schema.names if str(name) == text), text)
    return table.schema.column(name).name


def _split(text: str, table: TableCodec, option: str) -> tuple[ColumnCodec, str]:
    """Split `COLUMN=…` into the column and its condition."""
    from ..errors import ConfigError

    if "=" not in text:
        raise ConfigError(f"{option} {text!r} is not of the form COLUMN=…, as in {option} age=30..40")
    fitting = [name for name in table.schema.names if text.startswith(f"{name}=")]
    if not fitting:
        table.schema.column(text.partition("=")[0])  # raises an error that lists the columns
    name = max(fitting, key=lambda name: len(str(name)))
    place = table.place_of(name)
    if place is not None:
        return table.columns[place], text[len(str(name)) + 1 :]
    from ..tokens.codecs.column import ColumnCodec
    from ..tokens.codecs.constant import ConstantCodec

    # A law computes this column, so there are no learned values to match.
    return ColumnCodec(table.schema.column(name), ConstantCodec(None), missing=True), text[len(str(name)) + 1 :]


def _value(text: str, codec: ColumnCodec) -> Any:
    """Convert typed text to the column's type: number, boolean or time."""
    text, column = text.strip(), codec.column
    if _quoted(text):
        text = text[1:-1]
    for label in _labels(codec):
        if str(label) == text or (isinstance(label, bool) and str(label).lower() == text.lower()):
            return label
    return _number(text) if column.sort == "number" and column.form is None else text


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text  # the condition raises an error that names column and value


def _is_class(text: str, codec: ColumnCodec) -> bool:
    return text in {str(label) for label in _labels(codec)}


def _labels(codec: ColumnCodec) -> tuple[Any, ...]:
    """The values of a column that takes them from a list."""
    labels = codec.inner.known_values()
    known = () if labels is None else labels.values
    return (*known, *(label for label in codec.column.categories or () if label not in known))


def _quoted(text: str) -> bool:
    return len(text) > 1 and text[0] == text[-1] == '"'
