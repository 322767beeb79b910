"""A request for rows as plain data, for other processes and later runs."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...artifact.fitted import Fitted
from ...data.io.frames import take_in
from ...errors import ConfigError
from ...tokens.conditions import Condition
from ..queries import Question, question
from ..queries.chosen_keys import Keys, with_keys


@dataclass(frozen=True, kw_only=True)
class SampleRequest:
    """The arguments of `sample`, with a fixed seed."""

    n: int
    seed: np.random.SeedSequence
    given: Any = None
    balance: str | int | None = None
    mix: Mapping[str | int, Mapping[Any, float]] | None = None
    leaf: tuple[int, int] | None = None
    start_keys: int | None = None
    """Number of rows whose keys are already taken; None if keys start anew."""

    keys: Keys | None = None
    """Keys given by the user, by column."""

    def __post_init__(self) -> None:
        if self.start_keys is not None and (type(self.start_keys) is not int or not 0 <= self.start_keys < 2**50):
            raise ConfigError(f"start_keys must be a whole number of at least 0, got {self.start_keys!r}")

    def question(self, fitted: Fitted) -> Question:
        """The question for each block."""
        asked = question(fitted, self.n, self.given, self.balance, self.mix, self.leaf)
        return asked if not self.keys else with_keys(fitted, asked, self.keys, self.n)

    def to_json(self) -> dict[str, Any]:
        """Plain data; a table of partial rows is reduced to a fingerprint and cannot be read back."""
        mix = self.mix and [[_plain(c), [[_plain(k), v] for k, v in s.items()]] for c, s in self.mix.items()]
        return {
            "n": self.n,
            "seed": [str(self.seed.entropy), list(self.seed.spawn_key)],
            "given": _plain_given(self.given),
            "balance": _plain(self.balance),
            "mix": mix,
            "leaf": None if self.leaf is None else [int(number) for number in self.leaf],
            "start_keys": self.start_keys,
            "keys": self.keys and [[_plain(c), [_plain(key) for key in own]] for c, own in self.keys.items()],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SampleRequest:
        """Inverse of `to_json`."""
        entropy, key = data["seed"]
        given, mix, leaf = data["given"], data["mix"], data["leaf"]
        if isinstance(given, str):
            raise ConfigError("a table of partial rows is completed in one process; leave out workers and engine")
        return cls(
            n=data["n"],
            seed=np.random.SeedSequence(int(entropy), spawn_key=tuple(key)),
            given=None if given is None else {_read(name): _read(value) for name, value in given},
            balance=_read(data["balance"]),
            mix=mix and {_read(column): {_read(k): v for k, v in shares} for column, shares in mix},
            leaf=None if leaf is None else (leaf[0], leaf[1]),
            start_keys=data.get("start_keys"),
            keys={_read(c): _read(own) for c, own in data["keys"]} if data.get("keys") else None,
        )


def _plain_given(given: Any) -> Any:
    if given is None:
        return None
    if isinstance(given, Mapping):
        return [[_plain(name), _plain(value)] for name, value in given.items()]
    table = take_in(given)[0]
    if not isinstance(table, pd.DataFrame):
        raise ConfigError(f"given must be a dict of conditions or a table of partial rows, got {given!r}")
    hashes = pd.util.hash_pandas_object(table, index=True).to_numpy()
    return f"table {hashlib.sha256(hashes.tobytes()).hexdigest()[:16]}"


def _plain(value: Any) -> Any:
    """A value of a condition as JSON; other types are stored under their name."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Condition):
        return {"condition": [value.operator, [_plain(operand) for operand in value.operands]]}
    if isinstance(value, tuple):
        return {"pair": [_plain(part) for part in value]}
    if isinstance(value, list | set | frozenset):
        return [_plain(part) for part in value]
    if isinstance(value, datetime.datetime | datetime.date):
        return {"time": value.isoformat()}
    if isinstance(value, datetime.timedelta):
        return {"duration": pd.Timedelta(value).isoformat()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ConfigError(f"a condition on {value!r} cannot be streamed; give it as text, a number or a time")


def _read(data: Any) -> Any:
    if isinstance(data, list):
        return [_read(part) for part in data]
    if not isinstance(data, dict):
        return data
    ((kind, content),) = data.items()
    if kind == "condition":
        return Condition(content[0], tuple(_read(operand) for operand in content[1]))
    if kind == "pair":
        return tuple(_read(part) for part in content)
    return pd.Timestamp(content) if kind == "time" else pd.Timedelta(content)
