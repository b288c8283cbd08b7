"""What class weights gain in balanced accuracy, and what they cost in accuracy, on tables with a rare class.

The select page of the guide quotes these numbers. Five stratified outer folds, lssvm, Gaussian kernel; two tables
keep few rows of one class.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from kselect.datasets.svmlight import parse_svmlight
from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import Array, Index
from kselect.selection.engine import select
from kselect.selection.request import make_kernels, make_request
from kselect.selection.result import decision_values
from kselect.selection.rows.weighting import Weighting, class_weights


def tables(folder: Path) -> Iterator[tuple[str, Array, Index]]:
    """Yield name, rows and labels 0 and 1 (rare) of each table."""
    rng = np.random.default_rng(0)
    X, y = read(folder / "abalone")
    some = rng.permutation(len(y))[:1200]
    yield "abalone, more than 15 rings", X[some], (y[some] > 15).astype(np.intp)
    for name, rare, kept in (("german.numer", 1.0, 75), ("diabetes", -1.0, 50)):
        X, y = read(folder / name)
        few = rng.permutation(np.flatnonzero(y == rare))[:kept]
        rows = np.concatenate([np.flatnonzero(y != rare), few])
        yield f"{name}, {kept} rows of one class", X[rows], (y[rows] == rare).astype(np.intp)


def read(path: Path) -> tuple[Array, Array]:
    """Return an svmlight file as arrays."""
    return parse_svmlight(path.read_bytes(), path)


def predicted(X: Array, y: Index, asked: str | None) -> Index:
    """Return each row's class by the choice made without its outer fold, with these class weights."""
    out = np.empty(len(y), dtype=np.intp)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[train])
        A, B = scaler.transform(X[train]), scaler.transform(X[test])
        targets = np.where(y[train] == 1, 1.0, -1.0)[None]
        given = "lssvm", "5-CV", "gaussian", make_kernels("gaussian", {}, A), "10^-7:10^1"
        request = make_request(*given, task="classification", params={}, loss=None, search="pruned")
        weights = Weighting(None, class_weights(asked, ["0", "1"])).of(targets)
        folds = draw_folds(len(train), 5, stream(0, "folds"))
        found = select(A, targets, replace(request, weights=weights), folds)
        out[test] = decision_values(found.kernel, found.best.fits, A, B)[:, 0] > 0
    return out


def main() -> None:
    """Print a line per table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder with the LIBSVM files")
    for name, X, y in tables(parser.parse_args().folder):
        plain, balanced = (predicted(X, y, asked) for asked in (None, "balanced"))
        line = f"{name}: {len(y)} rows, {int(y.sum())} rare"
        for words, measure in (
            ("accuracy", accuracy_score),
            ("balanced accuracy", balanced_accuracy_score),
        ):
            line += f"; {words} {measure(y, plain):.3f} -> {measure(y, balanced):.3f}"
        print(line)


if __name__ == "__main__":
    main()
