"""Nine tables, every rival, the paper's tables and figures.

    python -m benchmarks list
    python -m benchmarks envs create arf
    python -m benchmarks run --tables iris,diabetes --generators auto,arf,tvae --seeds 3 --budget 10m
    python -m benchmarks ablate --seeds 3
    python -m benchmarks equal-time --budgets 1m,5m,20m
    python -m benchmarks report

A run that was stopped goes on where it stood. Each generator is a process of its own on one thread, in its own virtual
environment where it needs one; a budget counts seconds of the processor for fit and sample together.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tabtreeformer.compare import Limits, Results, compare, located
from tabtreeformer.errors import TabTreeFormerError
from tabtreeformer.progress import parse_duration

from . import envs, machine
from .experiments import ablations, curves
from .generators import GENERATORS, chosen
from .tables import LARGE, SMALL, load

HERE = Path(__file__).parent


def parser() -> argparse.ArgumentParser:
    """The command line."""
    main = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = main.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the tables and generators, and which of them are installed")
    run = commands.add_parser("run", help="tables × generators × seeds")
    run.add_argument("--generators", default=",".join(g.name for g in GENERATORS), help="names, or files ending in .py")
    run.add_argument("--budget", type=parse_duration, default=600.0, metavar="10m")
    run.set_defaults(results=HERE / "results" / "runs.csv")
    ablate = commands.add_parser("ablate", help="parts taken away, and settings varied, for auto and a small S")
    ablate.add_argument("--only", default="", help="names of the experiments that contain this")
    ablate.add_argument("--budget", type=parse_duration, default=600.0, metavar="10m")
    ablate.set_defaults(results=HERE / "results" / "ablations.csv", default_tables="diabetes,credit-g")
    equal = commands.add_parser("equal-time", help="every generator is given the same time")
    rivals = ",".join(g.name for g in GENERATORS if g.family != "control")
    equal.add_argument("--generators", default=rivals, help="names, or files ending in .py; by default all rivals")
    equal.add_argument("--budgets", default="1m,5m,20m")
    equal.set_defaults(results=HERE / "results" / "equal_time.csv", default_tables="diabetes,credit-g")
    for command in (run, ablate, equal):
        command.add_argument("--tables", default=None, help="names, small or all")
        command.add_argument("--seeds", type=int, default=3)
        command.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with datasets.json")
        command.add_argument("--openml", action="store_true", help="download the tables from openml.org instead")
        command.add_argument("--results", type=Path)
        command.add_argument("--samples", type=Path, default=Path("out/samples"), help="where the rows are kept")
        command.add_argument("--envs", type=Path, default=envs.FOLDER, help="folder of the virtual environments")
    report = commands.add_parser("report", help="tables, figures and docs/benchmark.md from the results")
    report.add_argument("--results", type=Path, default=HERE / "results")
    report.add_argument("--samples", type=Path, default=Path("out/samples"))
    report.add_argument("--data", type=Path, default=Path("../shared/data"))
    report.add_argument("--out", type=Path, default=Path("out/benchmark"))
    report.add_argument("--page", type=Path, help="also write this page of documentation, with its pictures beside it")
    report.add_argument("--readme", type=Path, help="also write the generators that have all runs between its marks")
    environments = commands.add_parser("envs", help="create a virtual environment from its pinned versions")
    environments.add_argument("action", choices=("list", "create"))
    environments.add_argument("names", nargs="*")
    environments.add_argument("--envs", type=Path, default=envs.FOLDER)
    return main


def main(arguments: list[str] | None = None) -> None:
    """Run a command."""
    options = parser().parse_args(arguments)
    try:
        _COMMANDS[options.command](options)
    except TabTreeFormerError as error:
        sys.exit(f"benchmarks: {error}")


def _list(options: argparse.Namespace) -> None:
    print("tables:", ", ".join(SMALL + LARGE))
    for spec in GENERATORS:
        state = "ready" if located(spec, envs.FOLDER) else f"needs: python -m benchmarks envs create {spec.environment}"
        print(f"{spec.name:16} {spec.family:13} {state}{'; ' + spec.note if spec.note else ''}")


def _run(options: argparse.Namespace) -> None:
    _compare(options, chosen(options.generators), Limits(budget_seconds=options.budget))


def _ablate(options: argparse.Namespace) -> None:
    specs = [spec for spec in (*ablations(), *curves()) if options.only in spec.name]
    _compare(options, specs, Limits(budget_seconds=options.budget))


def _equal_time(options: argparse.Namespace) -> None:
    for budget in options.budgets.split(","):
        limits = Limits(budget_seconds=parse_duration(budget), told=True)
        _compare(options, chosen(options.generators), limits, options.samples / budget)


def _compare(options: argparse.Namespace, specs: list, limits: Limits, samples: Path | None = None) -> None:
    """Make the runs; rows of generators in another time than their own are kept apart from the others' (`samples`)."""
    ready = []
    for spec in specs:
        found = located(spec, options.envs)
        if found is None:
            print(f"{spec.name} is not installed: python -m benchmarks envs create {spec.environment}", flush=True)
        else:
            ready.append(found)
    names = options.tables or getattr(options, "default_tables", "small")
    machine.write(options.results.with_name("machine.json"))
    tables = [load(name, None if options.openml else options.data) for name in _names(names)]
    seeds, results = range(options.seeds), Results(options.results)
    runs = compare(tables, ready, seeds, results, limits, samples=samples or options.samples)
    for run in runs:
        shown = " ".join(f"{m} {run.values[m]:.3f}" for m in ("utility", "shape", "trend", "dcr") if m in run.values)
        took = f" {run.values['fit_cpu_seconds']:.0f} s" if "fit_cpu_seconds" in run.values else ""
        print(f"{run.table} {run.generator} {run.seed}: {run.status}{took} {shown} {run.message}", flush=True)


def _names(text: str) -> list[str]:
    return list({"small": SMALL, "all": SMALL + LARGE}.get(text, text.split(",")))


def _report(options: argparse.Namespace) -> None:
    from .report import write

    write(
        options.results,
        options.out,
        samples=options.samples,
        data=options.data,
        page=options.page,
        readme=options.readme,
    )


def _envs(options: argparse.Namespace) -> None:
    for name in options.names or envs.names():
        if options.action == "create":
            envs.create(name, options.envs)
        else:
            print(f"{name:16} {'ready' if (options.envs / name).exists() else 'not created'}")


_COMMANDS = {
    "list": _list, "run": _run, "ablate": _ablate, "equal-time": _equal_time, "report": _report, "envs": _envs,
}  # fmt: skip

if __name__ == "__main__":
    main()
