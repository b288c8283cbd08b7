"""The printed table of flkl2014 in the form of our own records, for tests of ranks and learned widths."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kselect.config.load import load_config
from kselect.core.experiment import Experiment
from kselect.core.record import Record
from kselect.kernels.ard import Ard
from kselect.report.figures import FIGURES
from kselect.stats.sources import Published, read_published
from kselect.stats.study import Study

ROOT = Path(__file__).resolve().parents[1]


def paper() -> tuple[Experiment, tuple[Published, ...]]:
    """Return the experiment with one split, and its printed table."""
    config = ROOT / "configs/flkl2014.yaml"
    printed = read_published(ROOT / "data/published/flkl2014.csv")
    return load_config(config, FIGURES, {"splits": "2"}), printed


def row(dataset: str, split: int, method: str, error: float, chosen: str) -> Record:
    return Record(
        *(dataset, split, "table", method, "k-CV", "", "squared", "selected", "ard", chosen),
        *(0.01, 0.5 - 0.1 * error, error / 100, 0, "zero-one", 100, 100, "ok", ""),
        *("held=1", "", "converged" if split else "iteration limit"),
    )


def printed(changed: dict[str, float] | None = None) -> Study:
    """Return the printed means as records of two splits, with XVAL's widths twice as scattered as FLKL's."""
    spec, rows = paper()
    rng = np.random.default_rng(0)
    records = []
    means = {(r.dataset, r.method.removesuffix("-LSSVM")): r.mean for r in rows if r.table in "23"}
    for (dataset, method), mean in means.items():
        for split in (0, 1):
            spread = 0.5 if method == "ARD-FLKL" else 2.0
            theta = np.array([1.0, 1.0, 0.0 if method == "ARD-FLKL" else 0.2, 0.2])
            theta = theta * np.exp(spread * rng.uniform(-1, 1) * np.ones(4))
            extra = (changed or {}).get(method, 0.0)
            records.append(row(dataset, split, method, mean + extra, Ard(tuple(theta)).text))
    return Study(spec, records, rows)
