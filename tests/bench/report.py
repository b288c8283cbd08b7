"""Time ``kselect report`` of an experiment: with nothing kept, after one changed record, and unchanged.

    python tests/bench/report.py [--name ecml2014] [--rounds 3]

Each round copies the results that are committed. It prints the seconds by the clock and the CPU seconds of all
processes, as the medians over the rounds. Bytecode is compiled before the first round, as an installation does.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

RESULTS = Path(__file__).resolve().parents[2] / "results"


def change_record(folder: Path) -> None:
    """Raise the error of the first record of the table, and let the manifest say so."""
    path, manifest = folder / "records.csv", folder / "manifest.json"
    head, *rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8")))
    rows[0][head.index("error")] = "0.25"
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([head, *rows])
    path.write_text(out.getvalue(), encoding="utf-8")
    facts = json.loads(manifest.read_text(encoding="utf-8"))
    del facts["checksum"]
    facts["records_sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    checksum = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    manifest.write_text(json.dumps({**facts, "checksum": checksum}), encoding="utf-8")


def seconds(folder: Path, cache: str) -> tuple[float, float]:
    """Return the seconds of a report by the clock and of CPU."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "kselect", "report", str(folder), "-q"]
    subprocess.run(command, check=True, env=environment)
    elapsed, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return elapsed, spent


def main() -> None:
    """Print a line for each state of the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="ecml2014")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as home:
        cache = str(Path(home, "bytecode"))
        for _ in range(arguments.rounds + 1):  # the first round compiles
            folder = Path(shutil.copytree(RESULTS / arguments.name, Path(home, arguments.name)))
            shutil.rmtree(folder / ".report-cache", ignore_errors=True)
            found.setdefault("nothing kept", []).append(seconds(folder, cache))
            change_record(folder)
            found.setdefault("one record changed", []).append(seconds(folder, cache))
            found.setdefault("unchanged", []).append(seconds(folder, cache))
            shutil.rmtree(folder)
    for name, times in found.items():
        clock, spent = (median(column) for column in zip(*times[1:], strict=True))
        print(f"{name:20} {clock:6.2f} s, CPU {spent:6.2f} s")


if __name__ == "__main__":
    main()
