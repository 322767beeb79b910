"""How a model is displayed: methods that `TabTreeFormer` inherits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from ..artifact.fitted import Fitted
from ..artifact.summary import summary_of
from ..sampling.methods.base import Asked
from .model_html import after_fitting, before_fitting, one_line, verdict_word

if TYPE_CHECKING:
    from ..evaluation.report.document import Report


class Shown(Asked):
    """How a model is displayed, as text and in a notebook."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """The settings that differ from the defaults and, once fitted, what was learned."""
        settings: str = super().__repr__(N_CHAR_MAX)  # type: ignore[call-arg]
        fitted: Fitted | None = getattr(self, "fitted_", None)
        if fitted is None:
            return settings
        return f"{settings}\nfitted: {one_line(fitted)}; privacy verdict: {verdict_word(fitted.record)}"

    def _repr_html_(self) -> str:
        fitted: Fitted | None = getattr(self, "fitted_", None)
        return before_fitting(self._changed_settings()) if fitted is None else after_fitting(fitted)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        # scikit-learn's own would take precedence over `_repr_html_`.
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _changed_settings(self) -> dict[str, Any]:
        """Settings that differ from the defaults."""
        own, usual = (cast(Any, model).get_params(deep=False) for model in (self, type(self)()))
        return {name: value for name, value in own.items() if repr(value) != repr(usual[name])}

    def summary(self) -> dict[str, Any]:
        """Return a description of the model as plain data: columns, sizes, settings and the course of training.

        Examples
        --------
        >>> [column["name"] for column in model.summary()["columns"]]
        ['age', 'job', 'smokes']
        """
        return summary_of(self._check_fitted())

    def report(
        self,
        df: Any,
        path: str | os.PathLike[str] | None = None,
        *,
        holdout: Any = None,
        n_rows: int | None = None,
        metrics: Sequence[str] | None = None,
        show_rows: bool = False,
        random_state: int = 0,
    ) -> Report:
        """Sample rows, score them against the table that was learned, and return the report.

        A notebook displays it. It needs the extra `report`, and also `eval` if a target and a hold-out are given.

        Parameters
        ----------
        df
            The rows that were learned from.
        path
            A file to write the page to as well.
        holdout
            Real rows that were not learned from; without them privacy and utility cannot be measured.
        n_rows
            Rows to sample; by default as many as `df` has, up to 20,000.
        metrics
            Names of metrics, see `evaluate`; all by default.
        show_rows
            Show real rows too, for a report that you do not share.
        random_state
            The same number gives the same report.

        Examples
        --------
        >>> model.report(df, metrics=["shape", "copies"])
        Report on 120 synthetic rows and 120 training rows: Useful? not measured. Faithful? not measured. Safe? not
        measured.
        """
        from ..data.io.frames import take_in
        from ..evaluation import evaluate
        from ..evaluation.report.document import Report
        from ..evaluation.report.html import report_page

        fitted = self._check_fitted()
        train, test = take_in(df)[0], None if holdout is None else take_in(holdout)[0]
        # The rows are only shown here, so a failed verdict need not be accepted.
        asked, n_rows = cast("Any", self), n_rows or min(len(train), MAX_ROWS)
        synthetic = asked.sample(n_rows, random_state=random_state, output="pandas", accept_risk=True)
        scores = evaluate(
            train, test, synthetic, target=fitted.record["target"], schema=fitted.schema, metrics=metrics,
            random_state=random_state, progress=asked._progress(),
        )  # fmt: skip
        scores = type(scores)(scores.scores, scores.left_out, {**scores.facts, "model": _about(fitted)})
        page = report_page(scores, train, test, synthetic, schema=fitted.schema, title=TITLE, show_rows=show_rows)
        report = Report(page, scores)
        if path is not None:
            report.save(path)
        return report


MAX_ROWS = 20_000
"""Maximum rows of a report by default."""
TITLE = "Rows of this model against the table that it learned"


def _about(fitted: Fitted) -> dict[str, Any]:
    """What the page says about the model."""
    privacy = fitted.record.get("privacy") or {}
    facts = {"name": one_line(fitted), "verdict": verdict_word(fitted.record), "about": {}}
    facts["about"] = {"by tabtreeformer": fitted.record["versions"]["tabtreeformer"]}
    return facts | {name: privacy.get(name) or [] for name in ("reasons", "accepted_risk")}
