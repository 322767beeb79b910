"""One harness: tables × generators × seeds, in one file of results, from which the pages are written.

    python -m benchmarks list
    python -m benchmarks envs create arf
    python -m benchmarks run --tables iris,diabetes --generators auto,arf,tvae --seeds 3 --budget 10m
    python -m benchmarks run --generators auto --tables all --again
    python -m benchmarks run ablations --only "auto | part" --tables diabetes
    python -m benchmarks run equal-time --budget 1m,5m,20m
    python -m benchmarks run --jobs 64 --engine ray
    python -m benchmarks run --generators S,L,NM --tables all --utility tuned --split one --threads 16 --budget none
    python -m benchmarks keep
    python -m benchmarks report

An interrupted run continues where it stopped. Each generator runs in its own process, on one thread unless `--threads`
says otherwise, in its own virtual environment where it needs one; a budget is in processor seconds of all its threads,
for fit and sample together. The command with `--split one` is the paper's experiment, for a machine with a GPU: one
split, three seeds, tuned evaluators. Its runs are a separate experiment in the results file;
`report --utility tuned --split one` makes its tables. A page says how its runs were made.

Other measurements have modules of their own; `--help` says how to run them, e.g. `python -m benchmarks.privacy --help`:
`alarms`, `asking`, `auto`, `ceiling`, `contradictions`, `database_scale`, `databases`, `dp`, `dp_rivals`, `law_cost`,
`law_search`, `laws`, `privacy`, `random_databases`, `released`, `scale`, `scale_trees`, `speed`, `tradeoff`, `unseen`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable
from pathlib import Path

from tabtreeformer._runtime.progress import parse_duration
from tabtreeformer.errors import ConfigError, TabTreeFormerError
from tabtreeformer.evaluation.compare import COMPARISON, GeneratorSpec, Limits, Results, Run, compare, located
from tabtreeformer.sampling.streaming.workers import ENGINES

from . import envs, machine
from .experiments import EXPERIMENTS, Experiment, protocol
from .generators import GENERATORS, chosen
from .grid import compare_in_parallel
from .tables import LARGE, SMALL, load

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "runs.csv"


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    main = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = main.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the tables, experiments and generators, and which of them are installed")
    _add_run(commands.add_parser("run", help="make the runs of an experiment that are missing"))
    report = commands.add_parser("report", help="tables, figures and pages from the results")
    report.add_argument("--results", type=Path, default=RESULTS)
    _add_protocol(report)
    report.add_argument("--out", type=Path, default=Path("out/benchmark"))
    report.add_argument("--pages", type=Path, metavar="ROOT", help="also write the pages in docs/ of this checkout")
    keep = commands.add_parser("keep", help="keep rows for the figures, none of them real, and count copies")
    keep.add_argument("--samples", type=Path, default=Path("out/samples"))
    keep.add_argument("--data", type=Path, default=Path("../shared/data"))
    environments = commands.add_parser("envs", help="create a virtual environment from its pinned versions")
    environments.add_argument("action", choices=("list", "create"))
    environments.add_argument("names", nargs="*")
    environments.add_argument("--envs", type=Path, default=envs.FOLDER)
    return main


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("experiment", nargs="?", choices=tuple(EXPERIMENTS), default=COMPARISON)
    run.add_argument("--generators", help="names, or files ending in .py; by default all of the experiment")
    run.add_argument("--only", default="", help="only generators whose name contains this")
    run.add_argument("--tables", help="names, small or all; by default those of the experiment")
    run.add_argument("--seeds", type=int, default=3)
    run.add_argument("--budget", metavar="10m", help="one budget, or several for equal-time; none: no limit")
    run.add_argument("--threads", type=int, default=1, help="threads of a run")
    run.add_argument("--device", choices=("auto", "cpu"), default="auto", help="cpu hides the GPUs of the machine")
    _add_protocol(run)
    run.add_argument("--again", action="store_true", help="also repeat runs that are there; the new ones count")
    run.add_argument("--jobs", type=int, default=1, help="runs at a time")
    run.add_argument("--engine", choices=ENGINES, default="processes", help="what executes several jobs")
    run.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with datasets.json")
    run.add_argument("--openml", action="store_true", help="download the tables from openml.org instead")
    run.add_argument("--results", type=Path, default=RESULTS)
    run.add_argument("--samples", type=Path, default=Path("out/samples"), help="where the rows are kept")
    run.add_argument("--envs", type=Path, default=envs.FOLDER, help="folder of the virtual environments")


def _add_protocol(command: argparse.ArgumentParser) -> None:
    """What distinguishes runs that must not be mixed in a table."""
    command.add_argument("--utility", choices=("quick", "tuned"), default="quick", help="tuned: 30 trials, the paper's")
    command.add_argument("--split", choices=("seed", "one"), default="seed", help="one: that of seed 0, the paper's")


def main(arguments: list[str] | None = None) -> None:
    """Run a command."""
    options = parser().parse_args(arguments)
    try:
        _COMMANDS[options.command](options)
    except TabTreeFormerError as error:
        sys.exit(f"benchmarks: {error}")


def _list(options: argparse.Namespace) -> None:
    print("tables:", ", ".join(SMALL + LARGE))
    for experiment in EXPERIMENTS.values():
        print(f"experiment {experiment.name}: {experiment.about}, {len(experiment.generators)} generators")
    for spec in GENERATORS:
        state = "ready" if located(spec, envs.FOLDER) else f"needs: python -m benchmarks envs create {spec.environment}"
        print(f"{spec.name:16} {spec.family:13} {state}{'; ' + spec.note if spec.note else ''}")


def _run(options: argparse.Namespace) -> None:
    experiment = EXPERIMENTS[options.experiment]
    specs = chosen(options.generators) if options.generators else experiment.generators
    ready = _ready([spec for spec in specs if options.only in spec.name], options.envs)
    budgets = (options.budget or experiment.budgets).split(",")
    if len(budgets) > 1 and not experiment.told:
        raise ConfigError(f"{experiment.name} takes one budget, got {options.budget}; equal-time takes several")
    machine.write(options.results.with_name("machine.json"), threads=options.threads, device=options.device)
    tables = [load(name, None if options.openml else options.data) for name in _names(options, experiment)]
    for budget in budgets:
        limits = _limits(options, budget, experiment)
        samples = options.samples / budget if experiment.told else options.samples
        samples = samples / "one split" if options.split == "one" else samples
        for run in _runs(options, tables, ready, limits, samples):
            values = run.values
            shown = " ".join(f"{m} {values[m]:.3f}" for m in ("utility", "shape", "trend", "dcr") if m in values)
            took = f" {values['fit_cpu_seconds']:.0f} s" if "fit_cpu_seconds" in values else ""
            print(f"{run.table} {run.generator} {run.seed}: {run.status}{took} {shown} {run.message}", flush=True)


def _limits(options: argparse.Namespace, budget: str, experiment: Experiment) -> Limits:
    return Limits(
        budget_seconds=math.inf if budget == "none" else parse_duration(budget),
        told=experiment.told,
        threads=options.threads,
        device=options.device,
        split=options.split,
        utility=options.utility,
    )


def _runs(
    options: argparse.Namespace, tables: list, ready: list[GeneratorSpec], limits: Limits, samples: Path
) -> Iterable[Run]:
    """Return the runs as they end; rows of generators that know their budget are kept apart (`samples`)."""
    results, seeds = _Again if options.again else Results, range(options.seeds)
    store = results(options.results, protocol(options.experiment, options.utility, options.split))
    if options.jobs == 1:
        return compare(tables, ready, seeds, store, limits, samples=samples)
    data = None if options.openml else options.data
    return compare_in_parallel(
        tables, ready, seeds, store, limits, data=data, samples=samples, jobs=options.jobs, engine=options.engine
    )


class _Again(Results):
    """Results in which no run counts as done."""

    def done(self, *_: object, **__: object) -> bool:
        return False


def _ready(specs: Iterable[GeneratorSpec], environments: Path) -> list[GeneratorSpec]:
    """Return the generators that are installed, and name the others."""
    ready = []
    for spec in specs:
        found = located(spec, environments)
        if found is None:
            print(f"{spec.name} is not installed: python -m benchmarks envs create {spec.environment}", flush=True)
        else:
            ready.append(found)
    return ready


def _names(options: argparse.Namespace, experiment: Experiment) -> list[str]:
    text = options.tables or experiment.tables
    return list({"small": SMALL, "all": SMALL + LARGE}.get(text, text.split(",")))


def _report(options: argparse.Namespace) -> None:
    from .report import write

    write(
        options.results,
        options.out,
        root=options.pages,
        utility=options.utility,
        split=options.split,
    )


def _envs(options: argparse.Namespace) -> None:
    for name in options.names or envs.names():
        if options.action == "create":
            envs.create(name, options.envs)
        else:
            print(f"{name:16} {'ready' if (options.envs / name).exists() else 'not created'}")


def _keep(options: argparse.Namespace) -> None:
    from .report.kept import keep

    keep(options.samples, options.data)


_COMMANDS = {"list": _list, "run": _run, "report": _report, "keep": _keep, "envs": _envs}

if __name__ == "__main__":
    main()
