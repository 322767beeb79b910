"""The base of the query methods."""

from __future__ import annotations

import abc

from ...artifact.fitted import Fitted


class Asked(abc.ABC):
    """A model that can be queried after fitting."""

    @abc.abstractmethod
    def _check_fitted(self) -> Fitted:
        """Return the fitted model, or raise an error."""
