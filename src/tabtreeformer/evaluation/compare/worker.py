"""Run one generator on one table: `python worker.py job.json`, in the generator's own environment.

Nothing of this package is imported here, so that a rival's environment needs nothing but pandas: the rows come as CSV
with a JSON file that says which columns are numbers; the new rows and a record of the run go back the same way.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

resource: Any = importlib.import_module("resource") if importlib.util.find_spec("resource") else None
"""Limits and counts of the system; Windows has none, so only wall-clock time ends a run there."""


def main(path: str) -> None:
    """Fit, sample, write both the rows and the record."""
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    threading.Thread(target=_end_with, args=(job["parent"],), daemon=True).start()
    with _Record(Path(job["record"])) as record:
        _run(job, record)


class _Record:
    """Facts about a run, written however it ends: whatever a generator raises is a result."""

    def __init__(self, path: Path) -> None:
        self.path, self.facts = path, dict[str, Any]()

    def __enter__(self) -> dict[str, Any]:
        return self.facts

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        message = "" if error is None else f"{type(error).__name__}: {error}"
        self.facts |= {"status": "ok" if error is None else "failed", "message": message, "peak_mib": _peak_mib()}
        temporary = self.path.with_name(self.path.name + ".tmp")
        temporary.write_text(json.dumps(self.facts), encoding="utf-8")
        temporary.replace(self.path)


def _run(job: dict[str, Any], record: dict[str, Any]) -> None:
    schema = json.loads(Path(job["schema"]).read_text(encoding="utf-8"))
    train = read_rows(job["train"], schema)
    module = _load(job["generator"])
    _limit(job["cpu_seconds"])
    generator = module.Generator(seed=job["seed"], budget_seconds=job["budget_seconds"], **job["options"])
    clock = _clocks()
    generator.fit(train, schema)
    record["fit_seconds"], record["fit_cpu_seconds"] = _since(clock)
    record["fit_peak_mib"] = _peak_mib()
    clock = _clocks()
    rows = generator.sample(job["n_rows"])
    record["sample_seconds"], record["sample_cpu_seconds"] = _since(clock)
    record["facts"] = getattr(generator, "facts", {})
    write_rows(rows, schema, job["rows"])


def read_rows(path: str, schema: dict[str, Any]) -> Any:
    """Read a table: labels as text, whole numbers as integers, the rest as floats."""
    import pandas as pd

    kinds = {c["name"]: str if c["kind"] == "categorical" else float for c in schema["columns"]}
    frame = pd.read_csv(
        path, dtype=kinds, keep_default_na=False, na_values={c: [""] for c in kinds if kinds[c] is float}
    )
    for column in schema["columns"]:
        if column["kind"] == "numeric" and column["integer"] and frame[column["name"]].notna().all():
            frame[column["name"]] = frame[column["name"]].round().astype("int64")
    return frame[list(kinds)]


def write_rows(rows: Any, schema: dict[str, Any], path: str) -> None:
    """Write what a generator drew; numbers of columns that are known to be whole are rounded."""
    import pandas as pd

    missing = [c["name"] for c in schema["columns"] if c["name"] not in rows.columns]
    if missing:
        raise ValueError(f"the generator left out the columns {missing}")
    out = {}
    for column in schema["columns"]:
        values = rows[column["name"]].reset_index(drop=True)
        if column["kind"] == "categorical":
            out[column["name"]] = values.astype(str)
        else:
            numbers = pd.to_numeric(values, errors="raise").astype(float)
            out[column["name"]] = numbers.round() if column["integer"] else numbers
    pd.DataFrame(out).to_csv(path, index=False)


def _load(path: str) -> Any:
    """A generator is a file with a class `Generator`."""
    sys.path.insert(0, str(Path(path).parent))
    spec = importlib.util.spec_from_file_location("_generator", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["_generator"] = module
    spec.loader.exec_module(module)
    return module


def _limit(cpu_seconds: float | None) -> None:
    """Let the system end this process once it has used its time; what was used so far (imports) is not counted."""
    if cpu_seconds is None or resource is None:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (max(1, round(used + cpu_seconds)), hard))


def _end_with(parent: int) -> None:
    """Do not outlive the process that waits for the rows, however it ended."""
    while os.getppid() == parent:
        time.sleep(2)
    os._exit(1)


def _clocks() -> tuple[float, float]:
    """Wall-clock and processor seconds of this process and those that it waited for."""
    if resource is None:
        return time.perf_counter(), time.process_time()
    used = [sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(used)


def _since(start: tuple[float, float]) -> tuple[float, float]:
    now = _clocks()
    return now[0] - start[0], now[1] - start[1]


def _peak_mib() -> float:
    """The largest resident size so far.

    Linux's own count continues from that of the process that started this one, so its status file is asked instead.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    if resource is None:
        return float("nan")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / unit


if __name__ == "__main__":
    main(sys.argv[1])
