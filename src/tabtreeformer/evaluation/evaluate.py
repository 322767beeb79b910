"""`evaluate`: all metrics for one synthetic table, each with floor and ceiling."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from .._runtime.progress import Progress, Silent
from .._version import __version__
from ..data.io.frames import taking_any_table
from ..data.schema import Schema
from ..errors import ConfigError, SchemaError, import_extra
from .catalogue import METRICS, Metric
from .context import Context
from .encoding import encode, left_out
from .intervals import with_jackknife
from .metrics.utility import TRAINING, why_not
from .options import OptionNames, Options, References
from .references import Tables, independent_columns
from .score import Measurement, Score, plain
from .shown import Picture, as_html, as_text, plot_columns, plot_scores

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The scores of a synthetic table, and how they were computed.

    Examples
    --------
    >>> list(evaluate(df[:80], df[80:], df[:80], metrics=["shape", "trend"]).scores)
    ['shape', 'trend']
    """

    scores: Mapping[str, Score]
    """Scores by name of the metric."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Requested metrics that could not be computed, each with the reason and the remedy."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Rows, columns, target, task, settings, versions, date, and seconds per metric."""

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def plot(self, what: Literal["scores", "columns"] = "scores") -> Picture:
        """Plot the scores or the columns, e.g. in a notebook.

        Parameters
        ----------
        what
            `scores`: each score between its references. `columns`: the agreement of each column.

        Examples
        --------
        >>> evaluation.plot("columns").save(folder / "columns.svg")
        """
        if what not in ("scores", "columns"):
            raise ConfigError(f"what must be 'scores' or 'columns', got {what!r}")
        return plot_scores(self.scores) if what == "scores" else plot_columns(self.scores)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per score.

        Examples
        --------
        >>> evaluation.to_frame().columns.tolist()
        ['value', 'ceiling', 'floor', 'goal']
        """
        fields = ("value", "ceiling", "floor")
        numbers = {
            name: np.array([getattr(score, name) for score in self.scores.values()], dtype=np.float64)
            for name in fields
        }
        index = pd.Index(list(self.scores), name="metric", dtype=object)
        return pd.DataFrame({**numbers, "goal": [score.goal for score in self.scores.values()]}, index=index)

    def to_json(self) -> dict[str, Any]:
        """Return plain data without NaN or infinities; `from_json` reads it.

        Examples
        --------
        >>> sorted(evaluation.to_json())
        ['facts', 'left_out', 'scores']
        """
        scores = {name: score.to_json() for name, score in self.scores.items()}
        return {"facts": plain(self.facts), "scores": scores, "left_out": dict(self.left_out)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Evaluation:
        """Read what `to_json` returned.

        Parameters
        ----------
        data
            Facts, scores and what was left out.

        Examples
        --------
        >>> Evaluation.from_json(evaluation.to_json()).scores == evaluation.scores
        True
        """
        scores = {name: Score.from_json(name, score) for name, score in data["scores"].items()}
        return cls(scores, dict(data["left_out"]), dict(data["facts"]))


@taking_any_table
def evaluate(
    train: pd.DataFrame,
    test: pd.DataFrame | None,
    synthetic: pd.DataFrame,
    *,
    target: str | int | None = None,
    schema: Schema | None = None,
    metrics: Sequence[str] | None = None,
    remembered: dict[Any, Any] | None = None,
    progress: Progress | None = None,
    **options: Unpack[OptionNames],
) -> Evaluation:
    """Score a synthetic table, next to real held-out rows and independent columns.

    Parameters
    ----------
    train
        The training rows of the generator.
    test
        Real rows that the generator has not seen. If None, scores have no ceiling, and metrics that need held-out rows
        are skipped.
    synthetic
        The rows to score, in any number and from any tool.
    target
        The column that downstream models predict, for `utility`.
    schema
        Which columns to compare and their kinds; by default inferred from `train`.
    metrics
        Names of metrics; all by default.
    remembered
        A cache: pass the same (initially empty) dict for several synthetic tables of the same real rows, target,
        options and seed, to compute what depends on the real rows only once.
    progress
        Receives progress.
    utility
        `quick` (default) for evaluators with fixed settings, `tuned` for the paper's search.
    sensitive
        Columns to attack by attribute inference; by default all.
    max_queries, max_attacks
        Maximum number of rows for distances (20,000), and of attacks of each kind (2,000).
    references
        False omits ceilings and floors and takes a third of the time; "ceiling" omits only the floors.
    confidence
        Confidence level of the intervals; 0.95 by default.
    random_state
        Random seed; 0 by default.

    Examples
    --------
    >>> scores = evaluate(df[:80], df[80:], df[:80], metrics=["copies", "shape"]).scores
    >>> scores["copies"].value, scores["shape"].value
    (1.0, 1.0)
    """
    names, chosen, progress = _chosen(metrics), Options(**options), progress or Silent()
    schema = schema or _inferred(train, target)
    tables = _encoded(train, test, synthetic, schema)
    return _evaluation(names, chosen, tables, schema, target, {} if remembered is None else remembered, progress)


def _evaluation(
    names: Sequence[str],
    options: Options,
    tables: Tables,
    schema: Schema,
    target: str | int | None,
    remembered: dict[Any, Any],
    progress: Progress,
) -> Evaluation:
    """Compute the metrics and record how."""
    unseen = left_out(schema)
    for column, why in unseen.items():
        progress.note(f"column {column!r} is left out: {why}")
    place, sensitive = _place(tables, schema, target), options.sensitive
    secrets = [schema.column(name).name for name in ([sensitive] if isinstance(sensitive, str) else sensitive or ())]
    context = Context(
        target=place,
        utility=options.utility,
        max_queries=options.max_queries,
        max_attacks=options.max_attacks,
        sensitive=_places(tables, secrets, unseen),
        confidence=options.confidence,
        seed=options.random_state,
        progress=progress,
        memory=dict(remembered),
    )
    obstacles = {name: reason for name in names if (reason := _obstacle(METRICS[name], tables, place)) is not None}
    scores, seconds = _scores(names, obstacles, tables, context, options.references)
    if TRAINING in context.memory:
        remembered[TRAINING] = context.memory[TRAINING]
    settings = options.to_json(secrets, names)
    facts = _facts(tables, target, place) | {"settings": settings, "seconds": seconds, "versions": _versions()}
    facts["columns_left_out"] = {str(column): why for column, why in unseen.items()}
    facts["time"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Evaluation(scores, obstacles, facts)


def _scores(
    names: Sequence[str],
    obstacles: Mapping[str, str],
    tables: Tables,
    context: Context,
    references: References,
) -> tuple[dict[str, Score], dict[str, float]]:
    """Compute the metrics that can be computed; return their scores and seconds."""
    for name, reason in obstacles.items():
        context.progress.note(f"{name} is left out: {reason}")
    if "utility" in names and "utility" not in obstacles:
        import_extra("xgboost", "eval")  # report it now and not after minutes of work
    floor = independent_columns(tables, np.random.default_rng((context.seed, 1))) if references is True else None
    scores, seconds = {}, {}
    for name in names:
        if name not in obstacles:
            start = time.perf_counter()
            scores[name] = _score(name, tables, floor, context, bare=not references)
            seconds[name] = time.perf_counter() - start
    return scores, seconds


def _chosen(metrics: Sequence[str] | None) -> list[str]:
    """The metrics to compute, in the order of the catalogue."""
    names = list(METRICS) if metrics is None else [metrics] if isinstance(metrics, str) else list(metrics)
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise ConfigError(f"there is no metric {unknown[0]!r}; known metrics: {', '.join(METRICS)}")
    if not names:
        raise ConfigError(f"metrics is empty; name some of {', '.join(METRICS)}, or omit it for all")
    return [name for name in METRICS if name in names]


def _inferred(train: pd.DataFrame, target: str | int | None) -> Schema:
    try:
        return Schema.infer(train, target)
    except SchemaError as error:
        raise SchemaError(f"the training table cannot be evaluated: {error}") from error


def _encoded(train: pd.DataFrame, test: pd.DataFrame | None, synthetic: pd.DataFrame, schema: Schema) -> Tables:
    """Encode the tables alike."""
    frames = {"training": train, "held-out": test, "synthetic": synthetic}
    encoded = encode({role: frame for role, frame in frames.items() if frame is not None}, schema)
    return Tables(encoded["training"], encoded.get("held-out"), encoded["synthetic"])


def _place(tables: Tables, schema: Schema, target: str | int | None) -> int | None:
    """The position of the target among the columns that are compared."""
    if target is None:
        return None
    name = schema.column(target).name
    if name in left_out(schema):
        raise SchemaError(f"the target {name!r} is {schema.column(name).kind}; choose another, or give it another kind")
    return [feature.name for feature in tables.train.features].index(name)


def _places(tables: Tables, names: Sequence[str | int], unseen: Mapping[str | int, str]) -> tuple[int, ...]:
    """The positions of the sensitive columns among those that are compared."""
    for name in names:
        if name in unseen:
            raise SchemaError(f"the sensitive column {name!r} is left out: {unseen[name]}; name another")
    known = [feature.name for feature in tables.train.features]
    return tuple(dict.fromkeys(known.index(name) for name in names))


def _obstacle(metric: Metric, tables: Tables, target: int | None) -> str | None:
    """Return why a metric cannot be computed, and what would help."""
    if metric.needs_holdout and tables.test is None:
        return "it needs real rows that the model never saw; give a hold-out as the test table"
    if metric.needs_target and target is None:
        return "it needs a column to predict; name it as target"
    return why_not(tables, target) if metric.needs_target and target is not None else None


def _score(name: str, tables: Tables, floor: Tables | None, context: Context, *, bare: bool) -> Score:
    """Measure the synthetic table and, where there are references, those tables with the same function."""
    metric = METRICS[name]
    if bare:
        alone = metric.measure(tables, context)
        return Score(name=name, value=alone.value, goal=metric.goal, breakdown=plain(alone.breakdown), note=alone.note)
    measured = with_jackknife(metric, tables, metric.measure(tables, context), context)
    measured = _at_holdout_size(metric, tables, measured, context)
    ceiling = None
    if tables.test is not None:
        best = metric.ceiling(tables, np.random.default_rng((context.seed, 2)))
        ceiling = _number(metric.measure(best, replace(context, label="held-out rows")))
    return Score(
        name=name,
        value=measured.value,
        goal=metric.goal,
        ceiling=ceiling,
        floor=None if floor is None else _number(metric.measure(floor, replace(context, label="independent columns"))),
        breakdown=plain(measured.breakdown),
        note=measured.note,
    )


def _at_holdout_size(metric: Metric, tables: Tables, measured: Measurement, context: Context) -> Measurement:
    """Add the score of as many synthetic rows as are held out, where only that is comparable with the ceiling."""
    if not metric.follows_size or tables.test is None or tables.test.n_rows >= tables.synthetic.n_rows:
        return measured
    fewer = replace(tables, synthetic=tables.synthetic.sample(tables.test.n_rows, context.rng()))
    return replace(measured, breakdown={**measured.breakdown, "at_holdout_size": metric.measure(fewer, context).value})


def _number(measured: Measurement) -> float | None:
    return measured.value if np.isfinite(measured.value) else None


def _facts(tables: Tables, target: str | int | None, place: int | None) -> dict[str, Any]:
    """Return what was compared."""
    task = None
    if place is not None:
        task = "classification" if tables.train.features[place].categorical else "regression"
    test = None if tables.test is None else tables.test.n_rows
    rows = {"train": tables.train.n_rows, "test": test, "synthetic": tables.synthetic.n_rows}
    kinds = [
        {"name": feature.name, "kind": "categorical" if feature.categorical else "numeric"}
        for feature in tables.train.features
    ]
    return {"rows": rows, "columns": kinds, "target": target, "task": task}


def _versions() -> dict[str, str]:
    """Return the versions of what was used: of the libraries, those that some metric has imported."""
    libraries = ("numpy", "pandas", "scipy", "sklearn", "lightgbm", "xgboost", "optuna")
    used = {name: sys.modules[name].__version__ for name in libraries if name in sys.modules}
    return {"tabtreeformer": __version__, "python": platform.python_version(), **used}
