"""Commands whose options are dataclasses: options that several commands share are declared once."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Turn a function into a typer command: a parameter that is a dataclass becomes one option per field.

    typer reads the function's signature, so the returned wrapper has every dataclass expanded into its fields; it
    rebuilds the dataclasses and calls `function`.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type[Any]] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if dataclasses.is_dataclass(hints[name]):
            groups[name] = typing.cast("type[Any]", hints[name])
            parameters += _fields(groups[name])
        else:
            parameters.append(_keyword(name, hints[name], parameter.default))

    @functools.wraps(function)
    def run(**values: Any) -> None:
        gathered = {
            name: group(**{field.name: values.pop(field.name) for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        function(**values, **gathered)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _fields(group: type[Any]) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    return [
        _keyword(field.name, hints[field.name], _default(field)) for field in dataclasses.fields(group) if field.init
    ]


def _default(field: dataclasses.Field[Any]) -> Any:
    return inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default


def _keyword(name: str, hint: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=default)
