"""Time the reading of a CSV file of numbers, down to its frame and its target, against ``pandas.read_csv``.

The readings alternate, each in a process of its own, because the memory that one leaves would serve the next. CPU
time; the ratio is that of the shortest times.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

RIVALS = {
    "pandas.read_csv": "pandas.read_csv(path)",
    "kselect": "as_target(read_frame(path, None), None)",
}
SCRIPT = """
import sys, time, pandas
from pathlib import Path
from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.target import as_target
path = Path(sys.argv[1])
started = time.process_time()
{work}
print(time.process_time() - started)
"""


def seconds(work: str, path: Path) -> float:
    """Return the CPU seconds of a reading in a process of its own."""
    command = [sys.executable, "-c", SCRIPT.format(work=work), str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Print the times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=11)
    parser.add_argument("--words", type=int, default=0, help="columns of words among them")
    parser.add_argument("--repeats", type=int, default=5)
    flags = parser.parse_args()
    rng = np.random.default_rng(0)
    columns = [
        rng.choice(["red", "green", "blue"], flags.rows)
        if j < flags.words
        else np.char.mod("%.6g", rng.normal(size=flags.rows))
        for j in range(flags.columns)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers.csv"
        with path.open("w") as stream:
            stream.write(",".join(f"x{j}" for j in range(flags.columns)) + "\n")
            stream.writelines(",".join(row) + "\n" for row in zip(*columns, strict=True))
        rounds = [
            {name: seconds(work, path) for name, work in RIVALS.items()}
            for _ in range(flags.repeats)
        ]
    least = {name: min(one[name] for one in rounds) for name in RIVALS}
    floor = least["pandas.read_csv"]
    print(f"{flags.rows} rows, {flags.columns} columns    seconds    ratio")
    for name, best in least.items():
        print(f"{name:28s} {best:7.3f} {best / floor:8.2f}")


if __name__ == "__main__":
    main()
