"""The method that attacks a fitted model with shadow models."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from .._runtime.progress import Progress, Silent
from .._runtime.seeds import Seed, seed_sequence
from ..data.io.frames import take_in
from ..errors import ConfigError
from ..evaluation.safety import TRACES
from ..sampling.methods.base import Asked

if TYPE_CHECKING:
    import pandas as pd

    from .shadows import Model, ShadowAttack


class Attacked(Asked):
    """The attack method of a model."""

    def attack(
        self, members: Any, others: Any, n_shadows: int = 8, level: str = "balanced", random_state: Seed = 0
    ) -> ShadowAttack:
        """Attack the model with shadow models: the same model, fitted again on random halves of the rows.

        Much stronger than the attacks at the end of a fit, and as slow as fitting that many models.

        Parameters
        ----------
        members
            Training rows of the model.
        others
            Rows of the same kind that the model has not seen: at least 50.
        n_shadows
            Number of shadow models. More make the attack slightly stronger.
        level
            Level of privacy whose limits apply: `balanced` or `strict`.
        random_state
            An integer makes the attack reproducible.

        Examples
        --------
        >>> found = model.attack(df.head(60), df.tail(60), n_shadows=2)
        >>> sorted(found.attacks)
        ['density', 'density ratio', 'distance', 'likelihood']
        """
        from .shadows import attack_with_shadows

        if level not in TRACES:
            raise ConfigError(f"level must be one of {', '.join(TRACES)}, got {level!r}")
        fitted = self._check_fitted()
        tables = [fitted.schema.validate(take_in(rows)[0]) for rows in (members, others)]
        if fitted.record.get("privacy", {}).get("dp"):
            raise ConfigError("a model with differential privacy is bounded by its epsilon and is not attacked")

        def fit_shadow(rows: pd.DataFrame, seed: int) -> Model:
            shadow: Any = copy.copy(self)
            shadow.random_state, shadow.verbose = seed, False
            model: Model = shadow.fit(rows, schema=fitted.schema)
            return model

        progress: Progress = getattr(self, "_progress", Silent)()
        seed: np.random.SeedSequence = seed_sequence(random_state)
        return attack_with_shadows(
            self,  # type: ignore[arg-type]
            fit_shadow,
            (tables[0], tables[1]),
            schema=fitted.schema,
            n_shadows=n_shadows,
            level=level,
            seed=seed,
            progress=progress,
        )
