"""Kernel stability over the degree, and the stability of kernel ridge regression."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments import load_config, write_config
from synthetic import experiment, record, study

from kselect.core.experiment import Experiment, FigureContext
from kselect.core.record import Record
from kselect.errors import ConfigError
from kselect.report.elements import File, Heading, Passage
from kselect.report.figures import FIGURES
from kselect.report.figures.degree import Degree, grows, mean_betas
from kselect.report.figures.square_stability import COLUMNS, RISK, SquareStability, stability_rows
from kselect.stats.study import Study

CONFIG = """\
name: small
learner: {{classification: svm, regression: krr}}
splits: 2
kernels: {{gaussian: {{tau: [1, 4]}}}}
lam: {{fixed: [0.1, 1], unit: n lam}}
criteria: [5-CV, RKS]
datasets: [heart, mpg]
figures:
  degrees: {{kind: degree, degree: {degree}}}
  square: {{kind: square-stability, criterion: {criterion}, tau: [1, 4], lam: 1, datasets: [{dataset}]}}
"""


def load(
    folder: Path, degree: str = "1:3", criterion: str = "5-CV", dataset: str = "mpg"
) -> Experiment:
    text = CONFIG.format(degree=degree, criterion=criterion, dataset=dataset)
    return load_config(write_config(folder, text))


def filled(spec: Experiment, scores: dict[str, float]) -> Study:
    """Return a study with records of the figures' methods: a score per label, growing with the split."""
    made: list[Record] = []
    for m in spec.methods_on("mpg"):
        if m.fixed:
            at = {"part": m.part, "criterion": m.criterion, "params": m.text, "metric": "mse"}
            for split in (0, 1):
                score = scores.get(m.label, next(iter(m.fixed.parameters.values())))
                error = 3.0 if m.label == RISK else None
                one = record("mpg", split, m.label, 0.0, setting="n lam=1", **at)
                made.append(replace(one, score=score + 0.1 * split, error=error))
    return study(spec, made)


def test_means_over_splits(tmp_path: Path) -> None:
    spec = load(tmp_path)
    found = filled(spec, {})
    (figure,) = (f for f in spec.figures if isinstance(f, Degree))
    betas = mean_betas(found, figure)
    assert betas["mpg"] == pytest.approx({1.0: 1.05, 2.0: 2.05, 3.0: 3.05})
    assert betas["heart"] == {}
    assert grows(betas["mpg"]) == "yes"
    assert grows({1.0: 2.0, 2.0: 1.0}) == "no"
    assert grows({}) is None
    names = {f.name for f in FIGURES["degree"].show(figure, found) if isinstance(f, File)}
    assert names >= {"tables/degrees.csv", "figures/degrees.png"}


def test_the_row_of_a_width(tmp_path: Path) -> None:
    """Theorem 5's bound is the square of theorem 1's for the rows outside a fold."""
    scores = {"5-CV": 5.0, "beta": 2.0, "prediction-change": 0.3, "uniform-stability": 0.4}
    scores |= {"bound 1": 7.0, "bound 8": 6.0, RISK: 1.0}
    spec = load(tmp_path)
    (figure,) = (f for f in spec.figures if isinstance(f, SquareStability))
    row, other = stability_rows(filled(spec, scores), figure)
    assert (row[2], other[2]) == (1.0, 4.0)
    bound = (7.05 * 69 / 55) ** 2  # 70 training rows, of which 56 are outside a fold
    want = (
        "mpg",
        70,
        1.0,
        2.05,
        0.35,
        6.05,
        0.45,
        7.05,
        np.var([5.0, 5.1], ddof=1),
        bound,
        1.95,
        2,
    )
    assert row[0] == want[0]
    assert row[1:] == pytest.approx(want[1:])


def test_widths_read_as_powers_of_two_and_the_title_is_the_heading(tmp_path: Path) -> None:
    """The CSV keeps numbers for machines."""
    spec = load(tmp_path)
    (figure,) = (f for f in spec.figures if isinstance(f, SquareStability))
    small = replace(figure, taus=(2.0**-15,), title="Least squares")
    *files, passage = small.show(filled(replace(spec, figures=(small,)), {}))
    assert isinstance(passage, Passage)
    assert passage.elements[0] == Heading("Least squares")
    column = next(c for c in COLUMNS if c.csv == "tau")
    assert column.text(2.0**-15) == "2^-15"
    assert column.field(2.0**-15) == "3.051757812e-05"
    assert files


def test_methods_have_the_square_loss(tmp_path: Path) -> None:
    """RKS without its penalty is the empirical risk; all methods are for the data sets of the figure."""
    mine = [m for m in load(tmp_path).methods_on("mpg") if m.part == "square"]
    assert len(mine) == 2 * 7
    assert all(m.datasets == ("mpg",) and m.fixed for m in mine)
    risk = next(m for m in mine if m.label == RISK)
    assert dict(risk.params) == {"eta": 0.0, "loss": "squared"}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"degree": "[1.5, 2]"}, "must be whole numbers"),
        ({"criterion": "RKS"}, "RKS is not a method with folds"),
        ({"dataset": "heart"}, "the theorems are for the square loss, not for svm"),
    ],
)
def test_what_is_refused(tmp_path: Path, changed: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load(tmp_path, **changed)


def test_no_data_sets_no_methods() -> None:
    """If a flag leaves no data set of the figures, nothing is run for them."""
    context = FigureContext({}, experiment().lam, (), True, {})
    assert list(Degree("d", (1.0, 2.0), ()).methods(context)) == []
