"""Write samples of every kind of file that later versions must read.

Usage: ``python tests/samples/make.py``. It writes them below ``tests/samples/1.0``. They stay as they are after the
release of 1.0.0; a new format gets a folder of its own. tests/test_samples.py reads all of them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from click.testing import CliRunner

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = HERE / "1.0"
LEVEL = 0.8

# name -> table, flags of kselect fit
MODELS: dict[str, tuple[str, tuple[str, ...]]] = {
    "regression": ("rent", ()),
    "agop": ("rent", ("--metric", "agop", "--kernel", "laplacian")),
    "weights": ("rent", ("--weights", "rooms", "--kernel", "laplacian")),
    "quantile": (
        "rent",
        ("--scale", "quantile", "--kernel", "weighted-gaussian", "--ensemble", "2"),
    ),
    "sum": ("rent", ("--kernel", "sum:gaussian,linear")),
    "nystrom": ("rent", ("--nystrom", "8", "--kernel", "gaussian")),
    "krr": ("rent", ("--learner", "krr", "--kernel", "polynomial", "--ensemble", "3")),
    "plug-in": ("rent", ("--plugin", "cauchy.py", "--kernel", "cauchy", "--ensemble", "1")),
    "three-classes": ("flowers", ()),
    "class-weights": ("spam", ("--class-weight", "balanced")),
    "targets": ("flowers", ("--target", "length", "--target", "width")),
    "ard": ("spam", ("--kernel", "ard", "--criterion", "FLKL")),
    "svm": ("spam", ("--learner", "svm", "--scale", "minmax", "--kernel", "gaussian")),
    "smooth-hinge": ("spam", ("--learner", "smooth-hinge", "--kernel", "gaussian")),
}
WITH_INTERVALS = ("regression", "agop", "krr", "plug-in", "targets")
# A config with a plug-in, a file of one's own, a figure, claims and a variant.
OWN = """\
name: own
title: "A config with every kind of entry"
learner: {classification: lssvm, regression: krr}
scale: zscore
scale-on: train
train: 0.6
splits: 2
fewer-splits: {spam: 1}
seed: 3
kernels: {gaussian: {tau: 2^-1:2^1}, laplacian: {width: "1,4"}}
lam: {fixed: [0.01, 0.1]}
ridge: per-fold
criteria:
  - 5-CV
  - 5-KS: {eta: 2, label: stable}
  - median: {power: 2}
datasets:
  - heart
  - {name: spam, file: spam.csv, target: junk}
figures:
  eta: {criteria: [stable], eta: [0.5, 2], lam: 0.01}
claims:
  - {id: "1", kind: lower, left: stable, right: 5-CV, text: "Stability helps."}
variants:
  scaled: {scale: minmax}
plugins: [median.py]
"""


def tables(folder: Path) -> None:
    """Write three small tables with numbers, categories, dates and missing values, each with new rows."""
    rng = np.random.default_rng(2014)
    for name, (rows, header) in {
        "rent": (rent(rng, 30), "day,area,rooms,heating,price"),
        "flowers": (flowers(rng, 36), "length,width,leaf,kind"),
        "spam": (spam(rng, 40), "links,words,sender,junk"),
    }.items():
        for file, part in ((f"{name}.csv", rows[6:]), (f"{name}-new.csv", rows[:6])):
            (folder / file).write_text("\n".join([header, *part]) + "\n", encoding="utf-8")


def rent(rng: np.random.Generator, n: int) -> list[str]:
    """Return rows of a regression."""
    found = []
    for i in range(n):
        area, rooms = rng.uniform(20, 120), int(rng.integers(1, 5))
        heating = rng.choice(["gas", "oil", "none"])
        price = 300 + 11 * area - 0.03 * area**2 + 40 * rooms * (heating != "none")
        written = "" if i % 11 == 7 else f"{area:.1f}"
        day = f"2026-0{1 + i % 9}-{1 + i % 28:02d}"
        found.append(f"{day},{written},{rooms},{heating},{price + rng.normal(0, 15):.2f}")
    return found


def flowers(rng: np.random.Generator, n: int) -> list[str]:
    """Return rows of three classes."""
    centres = np.array([[1.0, 2.0, 0.5], [2.5, 1.0, 1.0], [3.0, 3.0, 2.0]])
    kinds = ["aster", "iris", "rose"]
    values = [(rng.normal(centres[i % 3], 0.5), kinds[i % 3]) for i in range(n)]
    return [",".join([*(f"{v:.3f}" for v in row), kind]) for row, kind in values]


def spam(rng: np.random.Generator, n: int) -> list[str]:
    """Return rows of two classes, one of them rare."""
    found = []
    for i in range(n):
        junk = i % 4 == 0
        links, words = rng.poisson(5 if junk else 1), rng.normal(60 if junk else 90, 20)
        sender = rng.choice(["known", "new"], p=[0.2, 0.8] if junk else [0.7, 0.3])
        found.append(f"{links},{words:.1f},{sender},{'yes' if junk else 'no'}")
    return found


def typed(*arguments: str) -> str:
    """Run a command in this process and return its output; an error is raised."""
    from kselect.cli.main import cli

    done = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
    if done.exit_code:
        raise SystemExit(f"kselect {' '.join(arguments)}: {done.output}")
    return done.output


def resolve() -> None:
    """Write each config once more with every default, as a results folder keeps it."""
    from kselect.config.load import load
    from kselect.report.sections import FIGURES

    folder = Path("resolved")
    shutil.copytree("published", folder / "published")
    (folder / "plugins").mkdir()
    shutil.copy("median.py", folder / "plugins")
    for path in sorted(Path().glob("*.yaml")):
        text = load(path, FIGURES, {}, lambda _: folder).resolved
        (folder / path.name).write_text(text, encoding="utf-8")


def models(folder: Path) -> None:
    """Fit a model of each kind, and keep what ``kselect predict`` prints for new rows, with all digits."""
    for name, (table, flags) in MODELS.items():
        typed("fit", f"{table}.csv", *flags, "-o", f"{name}.npz")
        more = ("--interval", str(LEVEL)) if name in WITH_INTERVALS else ()
        more += ("--plugin", "cauchy.py") if name == "plug-in" else ()
        typed("predict", f"{name}.npz", f"{table}-new.csv", *more, "-o", f"{name}.csv")
    facts = {
        name: {"table": f"{table}-new.csv", "interval": LEVEL if name in WITH_INTERVALS else None}
        for name, (table, _) in MODELS.items()
    }
    (folder / "models.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def results() -> None:
    """Run the quickstart with two splits, and a config of one's own, whose jobs are kept; time the latter."""
    typed("run", str(ROOT / "configs/quickstart.yaml"), "--splits", "2", "-o", "quickstart", "-q")
    shutil.rmtree("quickstart/jobs")
    typed("run", "../configs/own.yaml", "-o", "own", "-q")
    typed("time", "../configs/own.yaml", "-o", "own", "-d", "heart", "--budget", "1", "-q")
    shutil.rmtree("own/tables")
    for lock in Path().rglob("*.lock"):
        lock.unlink()


@contextmanager
def inside(folder: Path) -> Iterator[Path]:
    """Create a folder and make it the current one."""
    before = Path.cwd()
    folder.mkdir(parents=True)
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(before)


def make(folder: Path) -> None:
    """Write all samples below a folder."""
    sys.path.insert(0, str(ROOT / "tests"))
    from error_files import write
    from plugins import CAUCHY, MEDIAN

    with inside(folder / "configs"):
        for path in sorted((ROOT / "configs").glob("*.yaml")):
            shutil.copy(path, path.name)
        tables(Path())
        Path("median.py").write_text(MEDIAN.replace("LOO-median", "median"), encoding="utf-8")
        Path("own.yaml").write_text(OWN, encoding="utf-8")
        typed("init", "rent.csv", "flowers.csv", "-o", "init.yaml")
        typed("init", "--paper", "smith2024")
        resolve()
    with inside(folder / "models") as here:
        tables(here)
        (here / "cauchy.py").write_text(CAUCHY, encoding="utf-8")
        models(here)
    with inside(folder / "results"):
        results()
    with inside(folder / "judge") as here:
        write("skewed", here)
        typed("judge", "skewed.csv", "--claim", "m0 < m3", "-o", "judged")
        shutil.copy("judged/tables/claims.csv", "claims.csv")
        shutil.rmtree("judged")


def main() -> None:
    """Write the samples anew."""
    with tempfile.TemporaryDirectory(dir=HERE) as scratch:
        made = Path(scratch) / "made"
        make(made)
        shutil.rmtree(FOLDER, ignore_errors=True)
        shutil.move(made, FOLDER)


if __name__ == "__main__":
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    main()
