"""Recompute a part of every committed experiment and compare it with the committed records.

    python tests/campaigns/recompute.py [--mirror DIR] [--splits 3] [-e ecml2014 ...] [-j 2] [--keep DIR]

By default it recomputes three small data sets with three splits each. It prints how many records of each experiment
are equal in every column, then every column that differs, with the largest relative difference of its numbers.
``--keep`` leaves the recomputed results in a folder. Exit status 1 if any record differs or is missing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parents[2]
DATASETS = {
    "ecml2014": ("heart", "sonar", "liver-disorders"),
    "icml2014": ("heart", "sonar", "mpg"),
    "tcyb2018": ("heart", "sonar", "mpg"),
    "ijcai2018": ("heart", "sonar", "mpg"),
    "ijcai2018-hinge": ("heart", "sonar", "ionosphere"),
    "ijcai2018-map": ("heart", "sonar", "housing"),
    "flkl2014": ("heart", "thyroid", "synthetic"),
    "mkl": ("heart", "sonar"),
}
KEY = ["dataset", "split", "part", "method", "params", "setting"]


def recompute(
    name: str, splits: int, n_jobs: int, mirror: str | None, folder: Path
) -> pd.DataFrame:
    """Run a part of an experiment into ``folder`` and return its records."""
    command = [
        sys.executable,
        "-m",
        "kselect",
        "run",
        f"configs/{name}.yaml",
        "-q",
        "-o",
        str(folder),
    ]
    config = yaml.safe_load((ROOT / "configs" / f"{name}.yaml").read_text())
    command += ["-j", str(n_jobs), "--splits", str(min(splits, config["splits"]))]
    command += [word for dataset in DATASETS[name] for word in ("-d", dataset)]
    command += ["--mirror", mirror] if mirror else ["--offline", "--skip-missing"]
    subprocess.run(command, cwd=ROOT, check=True)
    return pd.read_csv(folder / "records.csv", keep_default_na=False, dtype=str)


def compare(name: str, fresh: pd.DataFrame) -> bool:
    """Print how the recomputed records of an experiment differ from the committed ones."""
    stored = pd.read_csv(ROOT / "results" / name / "records.csv", keep_default_na=False, dtype=str)
    both = fresh.merge(stored, on=KEY, how="left", suffixes=("", "_stored"), indicator=True)
    missing = int((both["_merge"] != "both").sum())
    values = [column for column in fresh.columns if column not in KEY]
    unequal = {c: both[both[c] != both[f"{c}_stored"]] for c in values}
    different = both[np.any([both[c] != both[f"{c}_stored"] for c in values], axis=0)]
    print(
        f"{name}: {len(both) - len(different)} of {len(both)} records equal, {missing} not stored"
    )
    for column, rows in unequal.items():
        if len(rows):
            old = pd.to_numeric(rows[f"{column}_stored"], errors="coerce")
            change = (pd.to_numeric(rows[column], errors="coerce") - old).abs() / old.abs()
            where = ", ".join(sorted({f"{r.dataset} {r.method}" for r in rows.itertuples()})[:6])
            print(f"  {column}: {len(rows)} differ, largest {change.max():.2g} relative ({where})")
    return not len(different)


def main() -> int:
    """Compare every experiment that is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-e", "--experiment", action="append", choices=list(DATASETS))
    parser.add_argument("--mirror", help="a folder with the data files that kselect does not carry")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("-j", "--n-jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for the recomputed results")
    asked = parser.parse_args()
    equal = []
    for name in asked.experiment or DATASETS:
        with tempfile.TemporaryDirectory() as folder:
            out = (asked.keep or Path(folder)).resolve() / name
            equal.append(
                compare(name, recompute(name, asked.splits, asked.n_jobs, asked.mirror, out))
            )
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
