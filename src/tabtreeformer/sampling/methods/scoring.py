"""What a fitted model knows of rows: how likely they are, and what their columns should be."""

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

        Prompts are blank, so that the probabilities of all possible rows of a table of categories add up to one. For a
        number between atoms it is a density per unit of the number; for a time or a duration, the probability of one
        step of the column's clock. A value beyond the learned range, an unseen category or a broken law lowers it: by
        the chance that one more row holds something new, and for a number by how far it is beyond the range.

        Parameters
        ----------
        df
            Rows with the columns of the fitted table.
        by_column
            Return the part of each column, given the columns before it.
        order
            All columns in another order than that of the table.
        strict
            Raise a `SchemaError` for rows that hold something the model has never learned.

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
        """The rows that are least likely under the model, each with the most surprising columns and a reason.

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
        """Probability of each class of a column, given the values that the rows have in the others.

        Parameters
        ----------
        df
            Rows with some or all of the other columns; missing values are allowed.
        target
            Column to predict; by default the target of the trees.
        random_state
            Seed of what is drawn for missing values.
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
        """The most likely class of a column, or the mean of a number, given the values of the rows in the others.

        Whole numbers with at most 20 values are classes.

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
            raise ConfigError("say which column to predict: target=…")
        return name
