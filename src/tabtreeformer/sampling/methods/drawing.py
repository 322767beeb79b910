"""Methods that draw: rows, rows under conditions, and missing values."""

from __future__ import annotations

import abc
import dataclasses
import os
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pandas as pd

from ..._runtime.progress import Progress, stage
from ..._runtime.seeds import Seed, seed_sequence
from ..._runtime.threads import threads_for
from ...artifact.fitted import Fitted
from ...config.settings import SampleConfig
from ...data.io import DIALECT, is_csv
from ...data.io.frames import Kind, kind_named, library_of, take_in
from .. import queries as answers
from .. import writer_of
from ..queries.chosen_keys import Keys
from ..streaming import SampleRequest, Workers, check_stream_target, stream
from .base import Asked

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Further(TypedDict, total=False):
    """Rare options; see `TabTreeFormer.sample`."""

    leaf: tuple[int, int] | None
    start_keys: int | None
    keys: Keys | None


class Wanted(Further, total=False):
    """Which rows to draw."""

    given: Any
    balance: str | int | None
    mix: Mapping[str | int, Mapping[Any, float]] | None


class Drawing(Asked):
    """Methods that draw rows and values."""

    _kind: Kind
    """The type of table to return."""
    _sample_seed: np.random.SeedSequence
    """Seeds for calls without a `random_state`."""

    @abc.abstractmethod
    def _check_released(self, n_rows: int, accept_risk: bool) -> Fitted:
        """Return the fitted model; warn if its rows should not be shared, raise an error if these are too many."""

    @abc.abstractmethod
    def _sampling(self) -> SampleConfig:
        """The current sampling settings."""

    @abc.abstractmethod
    def _progress(self) -> Progress:
        """Where progress is shown."""

    def sample(
        self,
        n: int | None = None,
        random_state: Seed = None,
        output: str | None = None,
        *,
        given: Any = None,
        balance: str | int | None = None,
        mix: Mapping[str | int, Mapping[Any, float]] | None = None,
        accept_risk: bool = False,
        **further: Unpack[Further],
    ) -> Any:
        """Write new rows with the columns, order and dtypes of the fitted table.

        Parameters
        ----------
        n
            Number of rows; by default the number of training rows, or of rows in `given` if it is a table.
        random_state
            An integer gives the same rows each time. By default rows continue from the model's own seed: a script that
            fits with a seed is reproducible, and two calls still differ.
        output
            `pandas`, `polars` or `pyarrow`; by default the library of the fitted table, or pandas for a loaded model.
        given
            Conditions that every row meets, e.g. {"sex": "Female", "age": (30, 40), "state": ["CA", "NY"],
            "hours": ge(40)}; or a table of partial rows, each of which is completed (in turn, if n is more).
        balance
            A column whose classes are drawn equally often.
        mix
            Shares of a column's classes, e.g. {"class": {"a": 0.3, "b": 0.7}}.
        **further
            `leaf`: tree and leaf of one of `rules()`; all rows are in that leaf. `start_keys`: continue keys as if this
            many rows had been written before, so that calls with 0, 1000, 2000, … share no key, whatever their seeds;
            by default the keys of each call start anew. `keys`: your own keys, e.g. {"customer_id": ids}; rows that
            share a key share one of yours, otherwise each row takes the next.
        accept_risk
            Allow more rows than the privacy level covers (`safe_rows` in the verdict), which is otherwise an error. The
            limit applies to each call, but the rows of several calls add up.

        Returns
        -------
        A table. The `sampling` settings are read at each call, so `set_params` can change them after fitting.

        Examples
        --------
        >>> model.sample(3, random_state=0).shape
        (3, 3)
        >>> len(model.sample()) == len(df)
        True
        >>> set(model.sample(5, given={"job": "cook", "age": (30, 40)})["job"])
        {'cook'}
        """
        asked = self._request(n, random_state, accept_risk, given=given, balance=balance, mix=mix, **further)
        rows = answers.together(list(self._blocks(asked)))
        if dialect := self._check_fitted().record.get(DIALECT):
            rows.attrs[DIALECT] = dict(dialect)  # `write_table` uses the dialect of the input file
        return self._kind_of(output).build(rows)

    def iter_sample(
        self,
        n: int | None = None,
        batch_size: int = 65_536,
        random_state: Seed = None,
        output: str | None = None,
        accept_risk: bool = False,
        **wanted: Unpack[Wanted],
    ) -> Iterator[Any]:
        """Iterate over tables of `batch_size` rows, with one at a time in memory.

        Parameters
        ----------
        n, random_state, output, accept_risk
            As for `sample`. With the same `random_state`, the rows equal those of `sample`, for every batch size.
        batch_size
            Rows per table; the last may have fewer.
        **wanted
            `given`, `balance`, `mix`, `leaf`, `start_keys` and `keys`, as for `sample`.

        Examples
        --------
        >>> [len(table) for table in model.iter_sample(10, batch_size=4)]
        [4, 4, 2]
        """
        request = self._request(n, random_state, accept_risk, **wanted)
        size = answers.count(batch_size, "batch_size")
        kind = self._kind_of(output)
        return (kind.build(frame) for frame in answers.in_batches(self._blocks(request), size))

    def sample_to(
        self,
        target: str | os.PathLike[str],
        n: int | None = None,
        random_state: Seed = None,
        *,
        batch_size: int | None = None,
        resume: bool = False,
        workers: int = 1,
        engine: str = "processes",
        **options: Any,
    ) -> None:
        """Write rows to a Parquet, CSV or JSON lines file, or to a folder of parts, in constant memory.

        Parameters
        ----------
        target
            A file, or a folder: a name that ends in a slash.
        n, random_state
            As for `sample`. With the same `random_state`, the rows equal those of `sample`.
        batch_size
            Approximate number of rows per part. Parts are stored next to the target until all are complete.
        resume
            Continue an interrupted run to the same target.
        workers
            Number of local processes or Ray actors.
        engine
            `processes`, or `ray` for a cluster with access to the same folder.
        **options
            `given`, `balance`, `mix`, `leaf`, `start_keys`, `keys` and `accept_risk`, as for `sample`; and the options
            of `write_table`.

        Examples
        --------
        >>> model.sample_to(folder / "new.csv", 100, random_state=0)
        >>> len(read_table(folder / "new.csv"))
        100
        """
        if dialect := self._check_fitted().record.get(DIALECT):
            options = {**(dialect if is_csv(target) else {}), **options}
        question: Any = {name: options.pop(name) for name in Wanted.__annotations__ if name in options}
        request = self._request(n, random_state, bool(options.pop("accept_risk", False)), **question)
        stream(
            self._as_it_is(),
            request,
            check_stream_target(target, **options),
            self._progress(),
            batch_size=None if batch_size is None else answers.count(batch_size, "batch_size"),
            resume=resume,
            seeded=random_state is not None,
            workers=Workers(workers, engine),
        )

    def impute(
        self,
        df: Any,
        n_draws: int = 1,
        random_state: Seed = None,
        *,
        columns: Collection[str | int] | None = None,
        strict: bool = False,
    ) -> Any:
        """Fill the missing values of rows, given their other values, which stay exactly the same.

        Parameters
        ----------
        df
            Rows with the columns of the fitted table.
        n_draws
            Number of draws; more than one gives a list of tables, for multiple imputation. Values are always drawn at
            temperature 1, so that the spread of the draws shows the model's uncertainty.
        random_state
            An integer gives the same values each time.
        columns
            Fill only these columns; by default all.
        strict
            Raise a `SchemaError` for an unseen category; by default it is kept, and ignored when filling other values.

        Returns
        -------
        A table like `df`, or a list of them.

        Examples
        --------
        >>> gaps = df.assign(job=None).head(4)
        >>> int(model.impute(gaps, random_state=0)["job"].isna().sum())
        0
        """
        fitted, n_draws = self._check_fitted(), answers.count(n_draws, "n_draws")
        table, kind = take_in(df)
        seed = self._seed_of_call(random_state)
        sampling = dataclasses.replace(self._sampling(), temperature_category=1.0, temperature_numeric=1.0)
        with (
            stage(self._progress(), "sample", len(table) * n_draws) as advance,
            threads_for(fitted.config.model.width),
        ):
            rows = writer_of(fitted, sampling, seed, advance)
            filled = answers.impute(fitted, rows, table, n_draws, columns=columns, strict=strict)
        built = [kind.build(frame) for frame in filled]
        return built[0] if n_draws == 1 else built

    def _request(self, n: int | None, random_state: Seed, accept_risk: bool, **wanted: Unpack[Wanted]) -> SampleRequest:
        n_rows = self._n_rows(n, wanted.get("given"))
        fitted = self._check_released(n_rows, accept_risk)
        request = SampleRequest(n=n_rows, seed=self._seed_of_call(random_state), **wanted)
        request.question(fitted)  # report invalid arguments immediately
        return request

    def _n_rows(self, n: int | None, given: Any) -> int:
        """The requested number of rows, or the number of training rows."""
        if n is not None:
            return answers.count(n)
        table = take_in(given)[0] if library_of(given) is not None else None
        return int(self._check_fitted().record["rows"]) if table is None else len(table)

    def _blocks(self, asked: SampleRequest) -> Iterator[pd.DataFrame]:
        fitted = self._check_fitted()
        question = asked.question(fitted)
        with stage(self._progress(), "sample", asked.n) as advance:
            rows = writer_of(fitted, self._sampling(), asked.seed, advance)
            rows.first_key = asked.start_keys
            for part in answers.blocks(asked.n):
                yield answers.answer(question, rows, part)

    def _as_it_is(self) -> Fitted:
        """The fitted model with the current sampling settings."""
        fitted = self._check_fitted()
        return dataclasses.replace(fitted, config=dataclasses.replace(fitted.config, sampling=self._sampling()))

    def _kind_of(self, output: str | None) -> Kind:
        return self._kind if output in (None, self._kind.library) else kind_named(str(output))

    def _seed_of_call(self, random_state: Seed) -> np.random.SeedSequence:
        """The given seed, or the model's next one."""
        return self._sample_seed.spawn(1)[0] if random_state is None else seed_sequence(random_state)
