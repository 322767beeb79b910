"""Ablations are settings that exist and change something; rivals written here learn."""

import pytest
from benchmarks.__main__ import main, parser
from benchmarks.experiments import BASES, ablations, curves
from benchmarks.generators import GENERATORS, HERE

from tabtreeformer.compare import Limits, runner
from tabtreeformer.compare.worker import _load
from tabtreeformer.config import parse_settings
from tabtreeformer.presets import configure

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
    assert {name.split(" | ")[2] for name in same} <= {"whole", "lightgbm", "20", "50"}
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


def test_given_time_a_rival_ends_in_it(table, tmp_path):
    train, _ = table.split(0)
    spec = next(g for g in GENERATORS if g.name == "tabmt")
    rows, record = runner.work(table, train, spec, 0, Limits(budget_seconds=3, told=True), tmp_path)
    assert record["status"] == "ok", record["message"]
    assert len(rows) == len(train)


def test_names_that_do_not_exist_are_said(tmp_path):
    with pytest.raises(SystemExit, match="no generator 'nobody'"):
        main(["run", "--generators", "nobody", "--data", str(tmp_path)])
    with pytest.raises(SystemExit, match="no results"):
        main(["report", "--results", str(tmp_path)])


def test_every_command_has_its_own_file_of_results():
    options = [parser().parse_args([name]) for name in ("run", "ablate", "equal-time")]
    assert len({str(o.results) for o in options}) == 3
