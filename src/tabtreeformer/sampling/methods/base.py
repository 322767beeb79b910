"""What the methods of a fitted model rely on."""

from __future__ import annotations

import abc

from ...artifact.fitted import Fitted


class Asked(abc.ABC):
    """Something that can be asked once it is fitted."""

    @abc.abstractmethod
    def _check_fitted(self) -> Fitted:
        """What was fitted, or an error."""
