"""How good the answers of one fitted model are: gaps filled, columns predicted, and whether orders agree.

    python -m benchmarks.asking --data ../shared/data --seeds 3
    python -m benchmarks.asking --tables adult --seeds 1 --budget 240
    python -m benchmarks.asking --page docs/lab/asking.md    writes the tables into the page

One row per table, seed, question and method goes to a CSV, which a second call completes; fitted models are kept in a
folder, because fitting takes most of the time. Tables, splits and targets are those of `python -m benchmarks run`;
held-out rows with a category that no training row has are left out.

gaps      A fifth of the cells of the held-out rows (of a thousand of them, where there are more), target included, is
          erased completely at random, three times where rows are few; errors are averaged over these. Error of numbers:
          the root mean square error over the column's standard deviation in the training rows, averaged over columns.
          Error of categories: the share that is wrong, averaged over columns.
            mean and mode         of the training rows
            iterative imputer     scikit-learn's, with its defaults (BayesianRidge, 10 rounds), fitted on the training
                                  rows, then used to fill; numbers standardised, categories as one column of 0 and 1
                                  per class except the first (all of them add up to one, which would fix them at
                                  their starting values); the largest wins. It learns from at most 8,000 random rows
            the same, on both     fitted on the training rows together with the rows to be filled, which suits it
                                  better: on complete rows alone it stops after one of its rounds
            one draw              `impute(df)`
            mean of draws         `impute(df, n_draws=50)`, the mean of numbers, the most common category
predict   The target of the held-out rows, from all other columns. AUC (one against the rest, unweighted) or R².
            logistic or ridge     scikit-learn's, numbers standardised, one column per class
            LightGBM              with its defaults
            predict               `predict_proba` or `predict`
orders    `log_prob` of the held-out rows in table order, reversed and in two random orders: mean absolute difference
          from the mean of the four, in nats per row (of at most a thousand rows).
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from tabtreeformer.evaluation.compare import Results

from .pages import as_table, put
from .report.numbers import wide
from .tables import split as load

HERE = Path(__file__).parent
KEYS = ["table", "seed", "question", "method"]
ERASED, DRAWS = 0.2, 50
FEW, REPEATS = 1_000, 3
"""With fewer held-out rows than the first, cells are erased this many times: of 30 rows, 6 cells per column."""
MAX_ASKED, MAX_LEARNED = 1_000, 8_000
"""Held-out rows whose gaps are filled, and training rows that the iterative imputer is given."""
ORDERS = {"table": "the table's", "any": "any", "half and half": "half and half (`auto`)"}
"""Variants of the experiment `orders`, and the orders in which their rows were learned."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--tables", default="iris,boston,breast-w,diabetes,wdbc,credit-g,qsar-biodeg")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=None, help="seconds a fit may take")
    parser.add_argument("--models", type=Path, default=Path("out/asking"))
    parser.add_argument("--out", type=Path, default=HERE / "results" / "asking.csv")
    parser.add_argument("--page", type=Path, default=None)
    return parser.parse_args()


def run_all(options: argparse.Namespace) -> None:
    """Run what the CSV does not hold yet."""
    done = pd.read_csv(options.out) if options.out.exists() else pd.DataFrame(columns=KEYS)
    known = {tuple(map(str, row)) for row in done[KEYS].itertuples(index=False)}
    rows = done.to_dict("records")
    for seed, table in itertools.product(range(options.seeds), options.tables.split(",")):
        train, test, target = load(options.data, table, seed)
        model = None
        for question, method, answer in methods(train, test, target, seed):
            key = (table, str(seed), question, method)
            if key in known:
                continue
            model = model or fitted(options, train, target, table, seed)
            started = time.process_time()
            scores = answer(model)
            row = dict(zip(KEYS, (table, seed, question, method), strict=True))
            row |= scores | {"budget": options.budget, "cpu_seconds": time.process_time() - started}
            rows.append(row)
            pd.DataFrame(rows).to_csv(options.out, index=False)
            print(" ".join(key), {k: round(v, 3) for k, v in scores.items()}, flush=True)


def fitted(options: argparse.Namespace, train: pd.DataFrame, target: str, table: str, seed: int):
    """The model of a table and a seed, from the folder or fitted now."""
    from tabtreeformer import TabTreeFormer

    path = options.models / f"{table}-{seed}.tabtree"
    if not path.exists():
        options.models.mkdir(parents=True, exist_ok=True)
        settings = {"random_state": seed, "budget_seconds": options.budget, "verbose": False}
        TabTreeFormer("auto", target, **settings).fit(train).save(path)
    return TabTreeFormer.load(path, verbose=False)


def methods(
    train: pd.DataFrame, test: pd.DataFrame, target: str, seed: int
) -> Iterator[tuple[str, str, Callable[..., dict[str, float]]]]:
    """Questions, methods, and what answers and scores them, given the fitted model."""
    rng = np.random.default_rng(seed)
    labels = [c for c in train if is_label(train[c])]
    test = test[test[labels].isin({c: train[c].unique() for c in labels}).all(axis=1)]
    asked = some(test, MAX_ASKED, seed)
    times = [rng.random(asked.shape) < ERASED for _ in range(REPEATS if len(asked) < FEW else 1)]

    def filled_by(fill: Callable[[pd.DataFrame], pd.DataFrame]) -> dict[str, float]:
        errors = [imputation_errors(train, asked, fill(with_gaps(train, asked, erased)), erased) for erased in times]
        return pd.DataFrame(errors).mean().to_dict()

    yield "gaps", "mean and mode", lambda model: filled_by(lambda gaps: fill_simply(train, gaps))
    yield "gaps", "iterative imputer", lambda model: filled_by(lambda gaps: fill_iteratively(train, gaps, seed))
    with_both = {"seed": seed, "on_both": True}
    yield "gaps", "the same, on both", lambda model: filled_by(lambda gaps: fill_iteratively(train, gaps, **with_both))
    yield "gaps", "one draw", lambda model: filled_by(lambda gaps: model.impute(gaps, random_state=seed))
    draws = {"n_draws": DRAWS, "random_state": seed}
    yield "gaps", "mean of draws", lambda model: filled_by(lambda gaps: middle(model.impute(gaps, **draws)))
    truth = test[target]
    yield "predict", "logistic or ridge", lambda model: {"score": score(truth, *linear(train, test, target))}
    yield "predict", "LightGBM", lambda model: {"score": score(truth, *lightgbm(train, test, target, seed))}
    yield "predict", "predict", lambda model: {"score": score(truth, *ours(model, test, target, seed))}
    yield "orders", "blank prompts", lambda model: {"nats": order_spread(model, asked, seed)}


def some(table: pd.DataFrame, most: int, seed: int) -> pd.DataFrame:
    """All rows, or as many as may be, drawn at random."""
    return table if len(table) <= most else table.sample(most, random_state=seed)


def with_gaps(train: pd.DataFrame, test: pd.DataFrame, erased: np.ndarray) -> pd.DataFrame:
    """The held-out rows without the erased cells."""
    gaps = test.astype(object).mask(erased)
    return pd.DataFrame({c: gaps[c].astype(object if is_label(train[c]) else float) for c in gaps})


def is_label(column: pd.Series) -> bool:
    return not pd.api.types.is_numeric_dtype(column.dtype)


def imputation_errors(train: pd.DataFrame, test: pd.DataFrame, filled: pd.DataFrame, erased: np.ndarray) -> dict:
    """Mean over columns, of numbers and of categories."""
    numbers, categories = [], []
    for place, name in enumerate(test.columns):
        cells = erased[:, place]
        if not cells.any() or train[name].nunique() < 2:
            continue
        real, new = test[name][cells], filled[name][cells]
        if is_label(train[name]):
            categories.append((real.astype(str).to_numpy() != new.astype(str).to_numpy()).mean())
        else:
            error = real.to_numpy(dtype=float) - new.to_numpy(dtype=float)
            numbers.append(np.sqrt((error**2).mean()) / train[name].std())
    return {
        "number_error": float(np.mean(numbers)) if numbers else np.nan,
        "category_error": float(np.mean(categories)) if categories else np.nan,
    }


def fill_simply(train: pd.DataFrame, gaps: pd.DataFrame) -> pd.DataFrame:
    values = {c: train[c].mode()[0] if is_label(train[c]) else train[c].mean() for c in train}
    return pd.DataFrame({c: gaps[c].where(gaps[c].notna(), values[c]) for c in gaps})


def fill_iteratively(train: pd.DataFrame, gaps: pd.DataFrame, seed: int, on_both: bool = False) -> pd.DataFrame:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    learned = some(train, MAX_LEARNED, seed)
    classes = {c: sorted(train[c].unique()) for c in train if is_label(train[c])}

    def matrix(df: pd.DataFrame) -> np.ndarray:
        columns = []
        for name in df:
            if name in classes:
                columns += [np.where(df[name].isna(), np.nan, df[name] == value) for value in classes[name][1:]]
            else:
                columns.append((df[name] - train[name].mean()) / (train[name].std() or 1.0))
        return np.column_stack(columns).astype(float)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says when ten rounds do not suffice
        imputer = IterativeImputer(random_state=seed, keep_empty_features=True)
        known, wanted = matrix(learned), matrix(gaps)
        if on_both:
            whole = imputer.fit_transform(np.vstack([known, wanted]))[len(known) :]
        else:
            whole = imputer.fit(known).transform(wanted)
    filled, start = {}, 0
    for name in gaps:
        width = len(classes[name]) - 1 if name in classes else 1
        own = whole[:, start : start + width]
        start += width
        if name in classes:
            shares = np.column_stack([1 - own.sum(1), own])
            filled[name] = np.array(classes[name], dtype=object)[shares.argmax(1)]
        else:
            filled[name] = own[:, 0] * (train[name].std() or 1.0) + train[name].mean()
    return pd.DataFrame(filled, index=gaps.index)


def middle(draws: list[pd.DataFrame]) -> pd.DataFrame:
    """One table for many: means of numbers, most common categories."""
    columns = {}
    for name in draws[0]:
        cells = pd.concat([draw[name] for draw in draws], axis=1)
        label = is_label(draws[0][name])
        columns[name] = cells.astype(object).mode(axis=1)[0] if label else cells.astype(float).mean(axis=1)
    return pd.DataFrame(columns)


def linear(train: pd.DataFrame, test: pd.DataFrame, target: str) -> tuple[np.ndarray, list | None]:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    features = train.drop(columns=target)
    labels = [c for c in features if is_label(features[c])]
    prepare = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), labels), remainder=StandardScaler())
    if is_label(train[target]):
        model = make_pipeline(prepare, LogisticRegression(max_iter=1000)).fit(features, train[target])
        return model.predict_proba(test.drop(columns=target)), list(model.classes_)
    return make_pipeline(prepare, Ridge()).fit(features, train[target]).predict(test.drop(columns=target)), None


def lightgbm(train: pd.DataFrame, test: pd.DataFrame, target: str, seed: int) -> tuple[np.ndarray, list | None]:
    import lightgbm as lgb

    both = pd.concat([train, test]).drop(columns=target)
    both = both.astype({c: "category" for c in both if is_label(both[c])})
    settings = {"random_state": seed, "n_jobs": 1, "verbosity": -1}
    if is_label(train[target]):
        model = lgb.LGBMClassifier(**settings).fit(both.iloc[: len(train)], train[target])
        return model.predict_proba(both.iloc[len(train) :]), list(model.classes_)
    model = lgb.LGBMRegressor(**settings).fit(both.iloc[: len(train)], train[target])
    return model.predict(both.iloc[len(train) :]), None


def ours(model, test: pd.DataFrame, target: str, seed: int) -> tuple[np.ndarray, list | None]:
    if is_label(test[target]):
        chances = model.predict_proba(test.drop(columns=target), target=target, random_state=seed)
        return chances.to_numpy(), list(chances.columns)
    return model.predict(test.drop(columns=target), target=target, random_state=seed).to_numpy(), None


def score(truth: pd.Series, predicted: np.ndarray, classes: list | None) -> float:
    """AUC, one class against the rest, or R²."""
    from sklearn.metrics import r2_score, roc_auc_score

    if classes is None:
        return float(r2_score(truth, predicted))
    pairs = enumerate(classes[-1:] if len(classes) == 2 else classes)
    shift = len(classes) - 1 if len(classes) == 2 else 0
    return float(np.mean([roc_auc_score(truth == value, predicted[:, k + shift]) for k, value in pairs]))


def order_spread(model, test: pd.DataFrame, seed: int) -> float:
    """Mean absolute difference of a row's log-probability from its mean over four orders."""
    names, rng = list(test.columns), np.random.default_rng(seed)
    orders = [names, names[::-1], *([names[i] for i in rng.permutation(len(names))] for _ in range(2))]
    logs = np.array([model.log_prob(test, order=order) for order in orders])  # (4, N)
    return float(np.abs(logs - logs.mean(0)).mean())


def write_page(page: Path, runs: Path, answers: Path) -> None:
    """Put the tables between their marks."""
    frame = pd.read_csv(answers)
    tables = {
        "gaps": markdown(
            frame[frame["question"] == "gaps"], {"number_error": "numbers", "category_error": "categories"}
        ),
        "predict": markdown(frame[frame["question"] == "predict"], {"score": ""}),
        "orders": markdown(frame[frame["question"] == "orders"], {"nats": "nats per row"}),
    }
    learned = wide(Results(runs, "orders").read())
    if not learned.empty:
        tables["order quality"] = by_order(learned)
    for question, table in tables.items():
        put(page, question, table)


def by_order(runs: pd.DataFrame) -> str:
    """Return the quality of rows by the order that they were learned in: a line per table and order, the same seeds."""
    runs = runs.assign(label=runs["generator"].str.rsplit(" | ", n=1).str[1])
    runs = runs[runs.groupby(["table", "seed"])["label"].transform("nunique") == len(ORDERS)]
    values = {"utility": "relative error", "shape": "Shape", "trend": "Trend", "detection": "two-sample AUC"}
    values |= {"dcr": "DCR p", "membership": "membership AUC"}
    head = ["table", "seeds", "order", *values.values(), "steps"]
    rows = []
    for table in [*runs["table"].drop_duplicates(), "mean"]:
        for label, order in ORDERS.items():
            part = runs[(runs["label"] == label) & ((runs["table"] == table) | (table == "mean"))]
            means = part.groupby("table")[[*values, "steps"]].mean().mean()
            cells = [*(f"{means[v]:.3f}" for v in values), f"{means['steps']:,.0f}"]
            rows.append([table, part["seed"].nunique(), order, *cells])
    return as_table(head, rows)


def markdown(part: pd.DataFrame, values: dict[str, str]) -> str:
    """One line a table, mean over its seeds; one column a method and value."""
    seeds = part.groupby("table")["seed"].nunique()
    columns = {}
    for method in part["method"].drop_duplicates():
        for value, title in values.items():
            means = part[part["method"] == method].groupby("table")[value].mean()
            columns[", ".join(filter(None, (method, title)))] = means
    table = pd.DataFrame(columns).reindex(part["table"].drop_duplicates())
    table.loc["mean"] = table.mean()
    rows = (
        [name, seeds.get(name, ""), *("" if np.isnan(cell) else f"{cell:.3f}" for cell in row)]
        for name, row in table.iterrows()
    )
    return as_table(["table", "seeds", *table.columns], rows)


def main() -> None:
    import torch

    torch.set_num_threads(1)
    options = arguments()
    if options.page is None:
        run_all(options)
    else:
        write_page(options.page, HERE / "results" / "runs.csv", options.out)


if __name__ == "__main__":
    main()
