"""Methods that score: likelihoods, outliers, predictions and rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ..._runtime.seeds import Seed, seed_sequence
from ..._runtime.threads import threads_for
from ...data.io.frames import take_in
from ...errors import ConfigError
from .. import queries as answers
from ..queries.rules import Rule, rules
from .base import Asked


class Scoring(Asked):
    """Likelihoods, predictions and rules."""

    def log_prob(
        self, df: Any, by_column: bool = False, order: Sequence[str | int] | None = None, *, strict: bool = False
    ) -> pd.Series | pd.DataFrame:
        """Log-probability of each row in nats.

        Prompts are blank, so for categorical tables the probabilities of all possible rows add up to one. Numbers
        between atoms have a density per unit of the column; times and durations have the probability of one step of the
        column. A value beyond the learned range, an unseen category or a broken law lowers the result by the
        probability that a row contains something new, and for numbers further with the distance from the range.

        Parameters
        ----------
        df
            Rows with the columns of the fitted table.
        by_column
            Return the contribution of each column, given the columns before it.
        order
            All columns, in the order to use; by default that of the table.
        strict
            Raise a `SchemaError` for values that the model has not learned.

        Examples
        --------
        >>> likely = model.log_prob(df)
        >>> bool((model.log_prob(df, by_column=True).sum(axis=1) - likely).abs().max() < 1e-4)
        True
        """
        fitted = self._check_fitted()
        with threads_for(fitted.config.model.width):
            return answers.log_prob(fitted, take_in(df)[0], by_column=by_column, order=order, strict=strict)

    def outliers(self, df: Any, n: int = 10, *, strict: bool = False) -> pd.DataFrame:
        """Return the least likely rows, each with its most surprising columns and a reason.

        Parameters
        ----------
        df
            Rows with the columns of the fitted table.
        n
            Number of rows to return.
        strict
            As for `log_prob`.

        Examples
        --------
        >>> len(model.outliers(df, n=3))
        3
        """
        fitted = self._check_fitted()
        with threads_for(fitted.config.model.width):
            return answers.outliers(fitted, take_in(df)[0], answers.count(n), strict=strict)

    def predict_proba(
        self, df: Any, target: str | int | None = None, random_state: Seed = 0, *, strict: bool = False
    ) -> pd.DataFrame:
        """Probability of each class of a column, given the other values of each row.

        Parameters
        ----------
        df
            Rows with some or all of the other columns; missing values are allowed.
        target
            Column to predict; by default the target of the trees.
        random_state
            Seed for drawing missing values.
        strict
            Raise a `SchemaError` for an unseen category; by default it counts as unknown.

        Examples
        --------
        >>> chances = model.predict_proba(df.drop(columns="job").head(2), target="job")
        >>> list(chances.columns)
        ['clerk', 'cook', 'nurse']
        """
        name, fitted = self._predicted(target), self._check_fitted()
        with threads_for(fitted.config.model.width):
            return answers.predict_proba(fitted, take_in(df)[0], name, seed_sequence(random_state), strict=strict)

    def predict(
        self, df: Any, target: str | int | None = None, random_state: Seed = 0, *, strict: bool = False
    ) -> pd.Series:
        """The most likely class of a column, or the mean of a number, given the other values of each row.

        Integers with at most 20 values count as classes.

        Parameters
        ----------
        df, target, random_state, strict
            As for `predict_proba`.

        Examples
        --------
        >>> model.predict(df.drop(columns="age").head(2), target="age").name
        'age'
        """
        name, fitted = self._predicted(target), self._check_fitted()
        with threads_for(fitted.config.model.width):
            return answers.predict(fitted, take_in(df)[0], name, seed_sequence(random_state), strict=strict)

    def rules(self) -> list[Rule]:
        """The leaves of the trees as readable rules, each with its share of rows; `sample(n, leaf=…)` draws from one.

        Examples
        --------
        >>> best = max(model.rules(), key=lambda rule: rule.share)
        >>> len(model.sample(4, leaf=(best.tree, best.leaf)))
        4
        """
        return rules(self._check_fitted())

    def _predicted(self, target: str | int | None) -> str | int:
        name = target if target is not None else self._check_fitted().tree_target
        if name is None:
            raise ConfigError("name the column to predict: target=…")
        return name
