"""What every tree model can do, and what the wrappers of the libraries share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ArchiveError, ConfigError, NotFittedError
from .features import Features, Target

if TYPE_CHECKING:
    from typing_extensions import Self

SMALL = 1_000_000
"""Below this many cells, one thread is as fast as all of them, and far faster on a busy machine."""


class LeafModel(Protocol):
    """Trees that predict one column from the others; their leaves locate a row in a region of the table.

    Shapes: N rows, T trees. T is the number of fitted trees, not the number requested: boosting may stop early, and
    builds one tree per class if there are more than two.
    """

    def __init__(self, params: Mapping[str, Any], seed: int) -> None:
        """Take parameters of the library, and a seed from 0 to 2**31 - 1."""

    @property
    def n_leaves(self) -> tuple[int, ...]:
        """Leaves of each tree, (T,); a tree that found nothing to split has one."""

    def fit(self, features: Features, target: Target) -> Self:
        """Grow the trees."""

    def predict(self, features: Features) -> NDArray[Any]:
        """Return class codes (int64) or numbers, (N,)."""

    def leaves(self, features: Features) -> NDArray[np.int64]:
        """Return the leaf of each row in each tree, (N, T); ids of tree k run from 0 to n_leaves[k] - 1."""

    def to_text(self) -> str:
        """Return the fitted trees as text."""

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Inverse of `to_text`; anything else is an `ArchiveError`."""


_State = TypeVar("_State")


def fitted(state: _State | None, model: object) -> _State:
    """Return the state of a fitted model; raise an error if there is none yet."""
    if state is None:
        raise NotFittedError(f"{type(model).__name__} has no trees yet; call fit first")
    return state


def threads(features: Features, everything: int) -> int:
    """Return 1 for small tables, else `everything`, the library's own value for all cores."""
    return 1 if features.matrix.size < SMALL else everything


def codes_or_values(scores: NDArray[Any], n_classes: int | None) -> NDArray[Any]:
    """Turn the scores of a booster into what `predict` returns.

    Shapes: numbers (N,), probabilities of class 1 (N,), or scores of all classes (N, n_classes) → (N,).
    """
    if n_classes is None:
        return np.asarray(scores, dtype=np.float64)
    return np.asarray(scores.argmax(axis=1) if scores.ndim == 2 else scores > 0.5, dtype=np.int64)


@contextmanager
def blaming_params(library: str, params: Mapping[str, Any], *errors: type[Exception]) -> Iterator[None]:
    """Turn a library's refusal to fit into an error that names the setting behind it."""
    try:
        yield
    except errors as error:
        raise ConfigError(f"{library} refused {dict(params)!r}: {_gist(error)}; change tree.params") from error


MISREAD = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)
"""What Python and numpy raise for malformed text."""


@contextmanager
def blaming_text(library: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn a failure to read a model back into a clear error."""
    try:
        yield
    except errors as error:
        raise ArchiveError(f"{not_a_model(library)} ({_gist(error)})") from error


def not_a_model(library: str) -> str:
    """The message for a text that cannot be read as this library's trees."""
    return f"the stored trees are not a whole {library} model; the file is damaged or foreign: save the model again"


def _gist(error: Exception) -> str:
    """First line of a message; libraries in C++ append a stack trace."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
