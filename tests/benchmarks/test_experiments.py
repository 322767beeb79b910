"""Ablations are settings that exist and change something; rivals written here learn."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pandas as pd
import pytest
from benchmarks.__main__ import main
from benchmarks.experiments import BASES, ablations, curves
from benchmarks.generators import GENERATORS, HERE
from benchmarks.report.printed import FOLDER
from benchmarks.tables import LARGE, OPENML, SMALL

from benchmarks import __main__ as entry
from tabtreeformer.config.override import parse_settings
from tabtreeformer.config.presets import PRESETS, configure
from tabtreeformer.evaluation.compare import Limits, Results, Run, compare, runner
from tabtreeformer.evaluation.compare.worker import _load

from .conftest import GOOD

VARIANTS = [*ablations(), *curves()]


def test_every_variant_is_a_setting_and_most_differ_from_the_whole():
    whole = {base: configure(preset, parse_settings(shape)) for base, (preset, shape) in BASES.items()}
    same = []
    for spec in VARIANTS:
        config = configure(spec.options["preset"], parse_settings(spec.options["settings"]))
        if config == whole[spec.name.split(" | ")[0]]:
            same.append(spec.name)
    assert len({spec.name for spec in VARIANTS}) == len(VARIANTS)
    # What is varied passes through the value that the preset has.
    assert {name.split(" | ")[2] for name in same} <= {"whole", "lightgbm", "20", "50", "1.0", "0.0", "0.1"}
    assert "small S | part | whole" in same


@pytest.mark.parametrize(
    ("name", "steps"), [("tabmt", 150), ("tabsyn", 150), ("ttvae", 150), ("tabula", 150), ("ctabgan_plus", 300)]
)
def test_a_rival_written_here_draws_rows_that_depend_on_each_other(name, steps, table, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    module = _load(str(HERE / f"{name}.py"))
    small = {"STEPS": steps, "VAE_STEPS": steps, "DIFFUSION_STEPS": 400, "WIDTH": 64, "RATE": 1e-3}
    for setting, value in small.items():
        if hasattr(module, setting):
            monkeypatch.setattr(module, setting, value)
    train, _ = table.split(0)
    generator = module.Generator(seed=0)
    generator.fit(train, table.plan())
    rows = generator.sample(200)
    assert list(rows.columns) == list(train.columns)
    assert set(rows["c"]) <= set(train["c"])
    by_class = rows["x"].astype(float).groupby(rows["y"]).median()
    assert by_class["yes"] - by_class["no"] > 0.5  # independent columns give 0


def test_given_time_a_rival_ends_in_it(table, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "PATIENCE", 10_000)
    train, _ = table.split(0)
    spec = next(g for g in GENERATORS if g.name == "tabmt")
    rows, record = runner.work(table, train, spec, 0, Limits(budget_seconds=3, told=True), tmp_path)
    assert record["status"] == "ok", record["message"]
    assert len(rows) == len(train)


class _Clock:
    """Time that passes only while something sleeps, so that what fits into it is exact on any machine."""

    now = 0.0

    def perf_counter(self):
        return self.now

    process_time = perf_counter

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(_Slow, "made", [])
    monkeypatch.setattr(_Slow, "clock", _Clock())
    return _Slow.clock


class _Slow:
    """A package's model: each epoch or step takes a hundredth of a second."""

    made: ClassVar[list[int]] = []
    clock: ClassVar[_Clock] = _Clock()

    def __init__(self, *, epochs, max_steps=None, **rest):
        self.rounds = epochs if max_steps is None else max_steps
        self.made.append(self.rounds)

    def fit(self, df, **rest):
        self.clock.sleep(0.01 * max(self.rounds, 0))

    def tokenizer(self, sentences):
        return {"input_ids": [sentence.split() for sentence in sentences]}


@pytest.mark.parametrize(("name", "rounds"), [("realtabformer", 119), ("great", 138)])
def test_packages_that_know_no_time_are_given_as_many_rounds_as_fit(name, rounds, table, clock, monkeypatch):
    spec = next(g for g in GENERATORS if g.name == name)
    module, train = _load(str(spec.file)), table.split(0)[0]
    package = SimpleNamespace(REaLTabFormer=_Slow, GReaT=_Slow, set_seed=lambda seed: None)
    monkeypatch.setattr(module, "import_module", lambda package_name: package)
    monkeypatch.setattr(module, "_untrained", lambda folder: None, raising=False)
    monkeypatch.setattr(module, "time", clock)
    module.Generator(seed=0, budget_seconds=2.0).fit(train, table.plan())
    # a trial, then what is left of 60 or 70 % of two seconds at a hundredth a round
    assert _Slow.made == [{"realtabformer": 1, "great": 2}[name], pytest.approx(rounds, abs=1)]
    assert clock.now < 2
    module.EPOCHS = 7
    _Slow.made.clear()
    module.Generator(seed=0).fit(train, table.plan())
    assert _Slow.made == ([7] if name == "realtabformer" else [-1])


class _Unmasking:
    """The package's model: the time is that of its orders, and it returns the rows that it learned."""

    made: ClassVar[list[int]] = []
    clock: ClassVar[_Clock] = _Clock()

    def __init__(self, *, duplicate_K, random_state, xgboost_kwargs):
        self.orders = duplicate_K
        self.made.append(duplicate_K)

    def fit(self, matrix, quantize_cols):
        self.matrix, self.kinds = matrix, quantize_cols
        self.clock.sleep(0.1 * self.orders)
        return self

    def generate(self, n_generate):
        return self.matrix[:n_generate]


def test_unmasking_trees_take_codes_and_as_many_orders_as_fit(table, clock, monkeypatch):
    module, train = _load(str(HERE / "utrees_.py")), table.split(0)[0]
    monkeypatch.setattr(module, "import_module", lambda name: SimpleNamespace(UnmaskingTrees=_Unmasking))
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(_Unmasking, "clock", clock)
    generator = module.Generator(seed=0, budget_seconds=3.0)
    generator.fit(train, table.plan())
    assert _Unmasking.made == [1, 19]
    assert generator.model.kinds == ["continuous", "continuous", "categorical", "categorical"]
    pd.testing.assert_frame_equal(generator.sample(len(train)), train, check_dtype=False)
    _Unmasking.made.clear()
    module.Generator(seed=0).fit(train, table.plan())
    assert _Unmasking.made == [50]


def test_ctgan_fills_a_given_time_however_long_it_reads_the_columns(table, clock, monkeypatch):
    class Reads(_Slow):
        def fit(self, df, labels):
            clock.sleep(0.3 if len(_Slow.made) > 1 else 0.8)  # the first one loads its libraries
            super().fit(df)

        def set_random_state(self, seed):
            pass

    spec = next(g for g in GENERATORS if g.name == "ctgan")
    module = _load(str(spec.file))
    package = SimpleNamespace(CTGAN=Reads, manual_seed=lambda seed: None)
    monkeypatch.setattr(module, "import_module", lambda package_name: package)
    monkeypatch.setattr(module, "time", clock)
    module.Generator(seed=0, budget_seconds=5.0).fit(table.split(0)[0], table.plan())
    assert clock.now == pytest.approx(4.5, abs=0.02)
    assert _Slow.made == [1, 1, 31, pytest.approx(246, abs=1)]  # 4.5 - 0.81 - 0.31 - 0.61 - 0.31, in hundredths


def test_forest_diffusion_makes_as_many_copies_as_fit(table, clock, monkeypatch):
    made = []

    def slow(rows, *, n_t, duplicate_K, **rest):
        made.append((n_t, duplicate_K))
        clock.sleep(n_t * (0.01 + 0.002 * duplicate_K))  # 0.5 + 0.1 for each copy, at all levels

    spec = next(g for g in GENERATORS if g.name == "forestdiffusion")
    module = _load(str(spec.file))
    monkeypatch.setattr(module, "import_module", lambda name: SimpleNamespace(ForestDiffusionModel=slow))
    monkeypatch.setattr(module, "time", clock)
    train = table.split(0)[0]
    module.Generator(seed=0, budget_seconds=3.0).fit(train, table.plan())
    assert made[:2] == [(2, 1), (2, 11)]
    assert made[2][0] == 50
    assert made[2][1] == pytest.approx(21, abs=1)  # (0.9 * 3 - 0.024 - 0.064 - 0.5) / 0.1
    module.Generator(seed=0).fit(train, table.plan())
    assert made[3] == (50, 100)


def test_a_generator_that_misjudges_its_time_is_out_of_it(table, generator, tmp_path, monkeypatch):
    busy = GOOD.replace(
        "self.df, self.schema = df, schema",
        "self.df = df\n        import time\n        while time.process_time() < 2.5: pass",
    )
    train, _ = table.split(0)
    monkeypatch.setattr(runner, "PATIENCE", 10_000)  # processor time decides, however long a busy machine takes for it
    rows, record = runner.work(table, train, generator(busy), 0, Limits(budget_seconds=1, told=True), tmp_path)
    assert rows is None
    assert record["status"] == "timeout"
    assert "1 s given" in record["message"]
    monkeypatch.setattr(runner, "START_SECONDS", 1.0)
    endless = GOOD.replace("self.df, self.schema = df, schema", "while True: pass")
    rows, record = runner.work(table, train, generator(endless), 0, Limits(budget_seconds=2, told=True), tmp_path)
    assert (rows, record["message"]) == (None, "not done after 3.5 s of processor time (2 s given)")
    rows, record = runner.work(table, train, generator(busy), 0, Limits(budget_seconds=60, told=True), tmp_path)
    assert len(rows) == len(train)


def test_names_that_do_not_exist_are_said(tmp_path):
    with pytest.raises(SystemExit, match="no generator 'nobody'"):
        main(["run", "--generators", "nobody", "--data", str(tmp_path)])
    with pytest.raises(SystemExit, match="no runs of comparison"):
        main(["report", "--results", str(tmp_path / "none.csv")])


def test_experiments_share_a_file_of_results_and_count_only_their_own_runs(table, generator, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "scores_of", lambda *_, **__: {})
    one, other = (Results(tmp_path / "runs.csv", name) for name in ("comparison", "orders"))
    limits, spec = Limits(budget_seconds=60), generator(GOOD)
    assert len(list(compare([table], [spec], [0], one, limits))) == 1
    assert other.read().empty
    assert len(list(compare([table], [spec], [0, 1], other, limits))) == 2
    assert (len(one.runs()), len(other.runs())) == (1, 2)


def test_several_budgets_are_for_equal_time_only(tmp_path):
    with pytest.raises(SystemExit, match="comparison takes one budget"):
        main(["run", "--budget", "1m,5m", "--results", str(tmp_path / "runs.csv"), "--generators", "identity"])


def test_rows_made_in_a_given_time_are_kept_apart(tmp_path, monkeypatch):
    places = []
    monkeypatch.setattr(entry, "compare", lambda *_, samples: places.append(samples) or [])
    monkeypatch.setattr(entry, "load", lambda *_: None)
    where = ["--results", str(tmp_path / "runs.csv"), "--samples", str(tmp_path), "--generators", "identity"]
    main(["run", *where])
    main(["run", "equal-time", "--budget", "1m,5m", *where])
    assert places == [tmp_path, tmp_path / "1m", tmp_path / "5m"]


def arguments(tmp_path, *more):
    files = ["--results", str(tmp_path / "runs.csv"), "--samples", str(tmp_path / "samples")]
    return ["run", "--tables", "made", "--data", str(tmp_path), "--generators", "marginals", *files, *more]


@pytest.fixture
def made(table, tmp_path, monkeypatch):
    """The options reach the runs; what they compute is tested elsewhere."""
    seen = []

    def run_one(table, spec, seed, limits, **_):
        seen.append((limits, table.split(limits.split_of(seed))[0].index.size, table.split(limits.split_of(seed))[0]))
        return Run(table.name, spec.name, seed, limits.budget_seconds, "ok", "", {"shape": 1.0})

    monkeypatch.setattr(entry, "load", lambda name, folder: table)
    monkeypatch.setattr(runner, "run_one", run_one)
    return seen


def test_tuned_evaluators_and_threads_reach_the_run(made, tmp_path):
    main(arguments(tmp_path, "--seeds", "1", "--utility", "tuned", "--threads", "8", "--budget", "none"))
    ((limits, *_),) = made
    assert (limits.utility, limits.threads, limits.budget_seconds) == ("tuned", 8, float("inf"))
    assert (limits.device, limits.split) == ("auto", "seed")
    assert Results(tmp_path / "runs.csv").read().empty
    assert not Results(tmp_path / "runs.csv", "comparison, tuned evaluators").read().empty


@pytest.mark.parametrize(("split", "same"), [("one", True), ("seed", False)])
def test_one_split_gives_every_seed_the_rows_of_the_first(made, tmp_path, split, same):
    main(arguments(tmp_path, "--seeds", "2", "--split", split))
    (*_, first), (*_, second) = made
    assert first.equals(second) is same


def test_the_evaluators_are_tuned_where_the_run_says_so(table, generator, monkeypatch):
    modes = []

    def noted(*_, **options):
        modes.append(options["utility"])
        raise ValueError("enough")

    monkeypatch.setattr(runner, "evaluate", noted)
    runner.run_one(table, generator(GOOD), 0, Limits(budget_seconds=60, utility="tuned"))
    assert modes == ["tuned"]


def config_of(spec):
    return configure(spec.options["preset"], parse_settings(spec.options["settings"]))


def test_the_ordinal_weights_of_the_small_s_reach_as_far_as_the_papers():
    for base in ("small S", "small NM"):
        preset, shape = BASES[base]
        small, paper = configure(preset, parse_settings(shape)), PRESETS[preset]
        assert small.train.ordinal_loss * small.tokens.quantiles == pytest.approx(5)
        assert paper.train.ordinal_loss * paper.tokens.quantiles == pytest.approx(5)


@pytest.mark.parametrize(
    ("name", "field", "values"),
    [
        ("small S | number of trees | ", "n_estimators", [5, 10, 20, 50, 100]),
        ("small NM | leaf mask | ", "leaf_mask", [(m, m) for m in (0.0, 0.2, 0.4, 0.6, 0.8)]),
        ("small NM | value mask | ", "value_mask", [(m, m) for m in (0.0, 0.2, 0.4, 0.6, 0.8)]),
        ("auto | value mask | ", "value_mask", [(m, m) for m in (0.0, 0.2, 0.4, 0.6, 0.8)]),
        (
            "small S | tree model | ",
            "model",
            ["lightgbm", "xgboost", "catboost", "decision_tree", "adversarial", "none"],
        ),
        ("small NM | temperature | ", "temperature_numeric", [0.1, 0.2, 0.5, 1.0, 2.0]),
    ],
)
def test_curves_vary_what_they_name_and_nothing_else(name, field, values):
    found = [config_of(spec).to_json() for spec in VARIANTS if spec.name.startswith(name)]
    seen = []
    for config in found:
        for section in ("tree", "train", "sampling"):
            if field in config[section]:
                value = config[section].pop(field)
        if field in config["tree"]["params"]:
            value = config["tree"]["params"].pop(field)
        seen.append(tuple(value) if isinstance(value, list) else value)
        if field == "temperature_numeric":
            assert config["sampling"].pop("temperature_category") == pytest.approx(2 * value)
        if field == "model":
            config["tree"].pop("params")  # each library has its own
        else:
            assert config["tree"]["params"]["num_leaves"] == 15
    assert seen == values
    assert all(config == found[0] for config in found)


def test_the_tables_are_the_papers():
    listed = pd.read_csv(FOLDER / "datasets.csv").set_index("name")
    assert set(OPENML) == set(listed.index) == {*SMALL, *LARGE}
    assert len(OPENML) == 9
    folder = Path("../shared/data")
    if not (folder / "datasets.json").exists():
        pytest.skip("the tables themselves are not part of the repository")
    for name in SMALL:
        frame = pd.read_csv(folder / f"{name}.csv")
        labels = next(d for d in json.loads((folder / "datasets.json").read_text()) if d["name"] == name)["categorical"]
        expected = listed.loc[name, ["rows", "features", "categorical"]].tolist()
        assert [len(frame), frame.shape[1], len(labels)] == expected, name
