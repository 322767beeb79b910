"""Hostile model files with valid checksums through every command and question, file by file.

    python -m tests.artifact.fuzz_archives --start 0 --count 10000 --out out/fuzz

File number k is the same wherever and whenever it is made, so that a range can be cut into calls: what is in the
results is not tried again. Every file must load and answer, or raise an error of ours; a child process tries them, so
that one that crashes, hangs or takes all memory is found too, named, and left behind. `--show k` writes file k and says
what happens to it.
"""

from __future__ import annotations

import argparse
import collections
import json
import resource
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .hostile import hostile
from .hostile_models import DONORS, MODELS, TOGETHER, rows_of, save_models, shop

MAX_SECONDS, MAX_GIBIBYTES = 20.0, 1.0
"""Processor seconds of one question about one file, and memory beyond what the process had before."""
PER_CHILD = 150
LIMIT_BYTES = 6 * 2**30
ROOT = Path(__file__).parents[2]
CHILD = [sys.executable, "-m", "tests.artifact.fuzz_archives", "--child"]


def main() -> None:
    """Try a range of files and report; exit code 1 if any of them broke a rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no further files after this long")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--show", type=int, help="write this one file, and say what happens")
    options = parser.parse_args()
    if options.show is not None:
        print(json.dumps(tried(options.show, options.out, print), indent=1))
        return
    if options.child:
        child([int(number) for number in options.child.split(",")], options.out)
        return
    numbers = range(options.start, options.start + options.count)
    broken = [fact for fact in run(numbers, options.out, options.seconds) if fact["broken"]]
    for fact in broken:
        print(json.dumps(fact))
    sys.exit(bool(broken))


def run(numbers: Sequence[int], out: Path, seconds: float = float("inf")) -> list[dict[str, Any]]:
    """What happened to each of these files; what an earlier call found is taken from its results."""
    save_models((made_of(number)[0] for number in numbers), out / "models")
    results, ends = out / "results.jsonl", time.monotonic() + seconds
    while (left := sorted(set(numbers) - known(results).keys())) and time.monotonic() < ends:
        part = left[:PER_CHILD]
        command = [*CHILD, ",".join(map(str, part)), "--out", str(out.absolute())]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        missing = [number for number in part if number not in known(results)]
        if missing:
            end = signal.Signals(-ended.returncode).name if ended.returncode < 0 else f"exit code {ended.returncode}"
            name, _ = made_of(missing[0])
            fact = {"file": missing[0], "model": name, "loaded": None, "broken": [f"{end}: {ended.stderr[-800:]}"]}
            write(results, fact)
    asked = set(numbers)
    facts = [fact for number, fact in sorted(known(results).items()) if number in asked]
    counts = collections.Counter(fact["model"] for fact in facts if fact["loaded"])
    print(f"{len(facts)} files, of which {sum(counts.values())} load: {dict(counts)}", flush=True)
    print(f"{sum(bool(fact['broken']) for fact in facts)} broke a rule", flush=True)
    return facts


def known(results: Path) -> dict[int, dict[str, Any]]:
    """Results by number of the file."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    return {fact["file"]: fact for fact in map(json.loads, lines)}


def write(results: Path, fact: dict[str, Any]) -> None:
    """Add a line."""
    with results.open("a", encoding="utf-8") as file:
        file.write(json.dumps(fact) + "\n")


def child(numbers: Sequence[int], out: Path) -> None:
    """Try files one after the other; the alarm ends what does not end by itself."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES + _memory("VmPeak"), resource.RLIM_INFINITY))
    for number in numbers:
        write(out / "results.jsonl", tried(number, out, lambda _: None))


def made_of(number: int) -> tuple[str, np.random.Generator]:
    """The model that a file is made of, and where its randomness comes from."""
    rng = np.random.default_rng([20, number])
    return sorted(MODELS)[int(rng.integers(len(MODELS)))], rng


def tried(number: int, out: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Make file `number`, load it, ask it everything, and tell what broke a rule."""
    from tabtreeformer.artifact.archive import write_archive
    from tabtreeformer.errors import TabTreeFormerError

    name, rng = made_of(number)
    form = _form(name)
    path = out / f"hostile-{number}.tabtree"
    own = _members(out, name)
    others = [_members(out, other) for other in DONORS]
    write_archive(path, hostile(own, others, rng), **form)
    rows = rows_of(name)
    rows.to_parquet(path.with_suffix(".parquet"))
    broken, loaded, model = [], False, None
    asked = questions_together(path, name) if name in TOGETHER else questions(path, rows)
    for question, ask in asked:
        if question != "load" and model is None:
            break
        before = _reset_memory()
        started = time.process_time()
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(90)  # of the clock, on a busy machine; 20 s of the processor are what counts
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = ask(model)
            if question == "load":
                model, loaded = answer, True
            say(f"{question}: answers")
        except TabTreeFormerError as error:
            say(f"{question}: {type(error).__name__}: {error}"[:400])
        except BaseException as error:  # whatever it is, it is what we look for
            place = traceback.extract_tb(error.__traceback__)[-1]
            ours = [f for f in traceback.extract_tb(error.__traceback__) if "tabtreeformer" in f.filename]
            at = f"{ours[-1].filename.rsplit('tabtreeformer/', 1)[-1]}:{ours[-1].lineno}" if ours else place.filename
            broken.append(f"{question}: {type(error).__name__}: {str(error)[:200]} at {at}")
            say(traceback.format_exc())
        finally:
            signal.alarm(0)
        seconds, grown = time.process_time() - started, (_memory("VmHWM") - before) / 2**30
        if seconds > MAX_SECONDS:
            broken.append(f"{question}: {seconds:.0f} s")
        if grown > MAX_GIBIBYTES:
            broken.append(f"{question}: {grown:.1f} GiB")
    for file in (path, path.with_suffix(".parquet")):
        if not broken:
            file.unlink(missing_ok=True)
    return {"file": number, "model": name, "loaded": loaded, "broken": broken}


Questions = Iterator[tuple[str, Callable[[Any], Any]]]


def questions_together(path: Path, name: str) -> Questions:
    """What every file of tables that belong together is asked, `load` first."""
    from tabtreeformer import RelationalTabTreeFormer

    rows = rows_of(name)
    gappy = rows.assign(**{rows.columns[-1]: None})
    tables = gappy if name == "sequences" else {**shop(), "orders": gappy}
    yield "load", lambda _: RelationalTabTreeFormer.load(path, device="cpu", verbose=False)
    yield "repr", repr
    yield "sample", lambda model: model.sample(random_state=0)
    yield "impute", lambda model: model.impute(tables, random_state=0)
    for command in ("inspect", "card"):
        yield command, lambda _, command=command: shown(command, str(path))
    yield "audit", lambda _: shown("audit", str(path), "--train", str(path.with_suffix(".parquet")))


def questions(path: Path, rows: Any) -> Questions:
    """What every file of one table is asked, `load` first."""
    from tabtreeformer import TabTreeFormer

    table = str(path.with_suffix(".parquet"))
    column = rows.columns[0]
    yield "load", lambda _: TabTreeFormer.load(path, device="cpu", verbose=False)
    yield "summary", lambda model: json.dumps(model.summary())
    yield "sample", lambda model: model.sample(20, random_state=0)
    yield "sample given", lambda model: model.sample(5, given={column: rows[column].iloc[0]}, random_state=0)
    yield "log_prob", lambda model: model.log_prob(rows)
    yield "predict", lambda model: model.predict(rows.drop(columns=[model.target], errors="ignore"))
    yield "impute", lambda model: model.impute(rows.assign(**{column: None}))
    yield "rules", lambda model: model.rules()
    for command in ("inspect", "card", "explain"):
        yield command, lambda _, command=command: shown(command, str(path))
    yield "inspect --json", lambda _: shown("inspect", str(path), "--json")
    yield "audit", lambda _: shown("audit", str(path), "--train", table)


def shown(*words: str) -> None:
    """Run a command; what it raises is raised here, and control characters must not reach the terminal."""
    from typer.testing import CliRunner

    from tabtreeformer.cli import app

    result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if {"\x1b", "\x07", "\x9b", "\u202e", "\x00"} & set(result.output):
        raise AssertionError("a control character reaches the terminal")


def _form(name: str) -> dict[str, Any]:
    return {"form": "tabtreeformer database"} if name in TOGETHER else {}


def _members(out: Path, name: str) -> dict[str, bytes]:
    from tabtreeformer.artifact.archive import read_archive

    if (out, name) not in _READ:
        _READ[out, name] = read_archive(out / "models" / f"{name}.tabtree", **_form(name))
    return _READ[out, name]


_READ: dict[tuple[Path, str], dict[str, bytes]] = {}


def _too_long(*_: Any) -> None:
    raise TimeoutError("no answer within 90 s")


def _memory(name: str) -> int:
    """Bytes that Linux says of this process; 0 elsewhere."""
    try:
        text = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name}:")), 0)


def _reset_memory() -> int:
    """Forget the largest size so far, and return the size now."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError:
        return _memory("VmHWM")
    return _memory("VmRSS")


if __name__ == "__main__":
    main()
