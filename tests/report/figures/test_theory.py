"""The theory figure: variances, exponents, bounds, ticks, tables, and its probes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments import load_config, write_config
from legibility import problems
from synthetic import experiment, method, record, study

from kselect.core.experiment import Experiment
from kselect.core.method import Choice, LamGrid, Method
from kselect.core.table import DASH
from kselect.errors import ConfigError
from kselect.kernels.gaussian import Gaussian
from kselect.report.elements import Passage
from kselect.report.figures import FIGURES
from kselect.report.figures.theory import (
    BETA,
    UNBIASED,
    UNIFORM,
    DataSetStability,
    StabilityAtWidth,
    Theory,
    describe,
    draw_theory,
    growth_table,
    study_theory,
    uniform_tables,
)
from kselect.report.style import NARROW, WIDE
from kselect.report.writers import write_markdown
from kselect.stats.study import Study

TAUS, SHARES = (1.0, 2.0, 4.0), (0.25, 1.0)
FIGURE = Theory("theory", "5-CV", TAUS, 0.001, SHARES, ("heart", "sonar"))
SCORES = {1.0: (0.1, 0.2, 0.3), 2.0: (0.1, 0.3, 0.5), 4.0: (0.1, 0.4, 0.7)}


def methods() -> tuple[Method, ...]:
    """Return the score and beta at each width."""
    base = replace(method("5-CV", "k-CV", 5), part="theory", lam=0.001)
    probes = [
        replace(base, label=BETA, criterion=BETA, folds=None, params=(("share", share),))
        for share in SHARES
    ]
    return tuple(replace(m, fixed=Gaussian(tau)) for tau in TAUS for m in (base, *probes))


def test_variances_exponents_and_correlation() -> None:
    """They equal numpy's variance and the slope of a logarithm."""
    mine, found = methods(), []
    for m in mine:
        assert m.fixed is not None
        tau = m.fixed.parameters["tau"]
        for split in range(3):
            beta = tau * (2.0 if dict(m.params).get("share") == 1.0 else 1.0)
            score = beta if m.criterion == BETA else SCORES[tau][split]
            found.append(
                record(
                    "heart",
                    split,
                    m.label,
                    None,
                    part="theory",
                    criterion=m.criterion,
                    params=m.text,
                    score=score,
                    status="ok",
                )
            )
    spec = experiment(methods=mine, splits=(0, 1, 2), datasets=("heart", "sonar"))
    full, empty = study_theory(study(spec, found), FIGURE)
    assert [w.tau for w in full.widths] == list(TAUS)
    for width in full.widths:
        assert width.variance == pytest.approx(np.var(SCORES[width.tau], ddof=1))
        assert width.betas == (width.tau, 2 * width.tau)
        assert math.isnan(width.uniform)
    assert full.exponents(SHARES) == pytest.approx((0.5, 0.5, 0.5))
    assert full.correlation == pytest.approx(1.0)
    assert empty.widths == ()
    assert math.isnan(empty.correlation)


def test_uniform_stability_with_and_without_the_bias() -> None:
    """Two probes of one criterion are distinguished by their labels."""
    base = replace(method("5-CV", "k-CV", 5), part="theory", lam=0.001, fixed=Gaussian(2.0))
    betas = [
        replace(base, label=BETA, criterion=BETA, folds=None, params=(("share", share),))
        for share in SHARES
    ]
    own = replace(base, label=UNIFORM, criterion=UNIFORM, folds=None, params=(("loss", "hinge"),))
    free = replace(
        own, label=UNBIASED, scored_by=(("classification", Choice("svm", (("bias", False),))),)
    )
    mine = (base, *betas, own, free)
    values = {base.label: 0.1, BETA: 1.0, UNIFORM: 0.6, UNBIASED: 0.4}
    found = [
        record(
            "heart",
            split,
            m.label,
            None,
            part="theory",
            criterion=m.criterion,
            params=m.text,
            score=values[m.label] + 0.02 * split,
            status="ok",
        )
        for m in mine
        for split in range(3)
    ]
    spec = experiment(methods=mine, splits=(0, 1, 2), datasets=("heart",))
    figure = replace(FIGURE, taus=(2.0,), datasets=("heart",))
    (panel,) = study_theory(study(spec, found), figure)
    (width,) = panel.widths
    assert (width.uniform, width.unbiased) == pytest.approx((0.62, 0.42))
    # The training part has 70 rows; first the ridge is lam, then n lam.
    assert (panel.bound(), panel.bound(3.0)) == pytest.approx((1 / 0.14, 3 / 0.14))
    whole = replace(spec, lam=LamGrid((0.001,), "fixed", "n lam"))
    (panel,) = study_theory(study(whole, found), figure)
    assert panel.bound() == pytest.approx(500.0)
    by_c = replace(spec, lam=LamGrid((0.001,), "fixed", "C"))
    (panel,) = study_theory(study(by_c, [replace(r, setting="C=0.001") for r in found]), figure)
    assert panel.bound() == pytest.approx(0.001)


def test_data_sets_without_a_correlation_are_not_counted() -> None:
    found = [DataSetStability("a", (), 1, 1.0, rho) for rho in (0.5, -0.5, 0.1, math.nan)]
    assert "positive on 2 of 3 data sets" in describe(FIGURE, found, "λ = 1")


CONFIG = """\
name: small
learner: {{classification: {{svm: {{bias: {bias}}}}}, regression: krr}}
splits: 2
kernels: {{gaussian: {{tau: [1, 4]}}}}
lam: {{fixed: [0.1, 1], unit: n lam}}
loss: hinge
criteria: [5-CV, RKS]
datasets: [heart, sonar, bodyfat]
figures:
  theory: {{kind: theory, criterion: 5-CV, tau: [1, 4], lam: 1, shares: [0.5, 1],
    uniform: {uniform}, uniform-tau: 1}}
"""


def load(folder: Path, uniform: str = "[sonar]", bias: str = "true", **flags: object) -> Experiment:
    return load_config(write_config(folder, CONFIG.format(bias=bias, uniform=uniform)), flags)


def panel(name: str, points: list[tuple[float, float]]) -> DataSetStability:
    """Return a data set with (beta, variance) along the widths, and one uniform stability."""
    nan = math.nan
    widths = [
        StabilityAtWidth(2.0**i, (1.0, beta), v, *((0.5, 0.25) if i == 0 else (nan, nan)), runs=4)
        for i, (beta, v) in enumerate(points)
    ]
    return DataSetStability(name, tuple(widths), 70, 2.0, 0.5 if points else nan)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_labels_do_not_overlap(width: float) -> None:
    """Labels fit on any axis; a panel without data has none."""
    panels = [
        panel("a", [(1.0, 3e-4), (1.5, 4e-4), (14.0, 2e-4)]),
        panel("b", [(1.0, 1e-9), (900.0, 3e-2), (40.0, 2e-5)]),
        panel("c", [(1.0, 1e-3), (1.02, 1.1e-3)]),
        panel("d", []),
    ]
    assert problems(lambda w: draw_theory(panels, w), width, "A title") == []
    canvas = draw_theory(panels, width)
    counts = [len(ax.get_xticks()) for ax in canvas.axes[:4]]
    assert min(counts[:3]) >= 2
    assert counts[3] == 0


def test_tables_and_captions() -> None:
    """Missing values are dashes; the bound of n lam is next to beta's."""
    figure = Theory("theory", "5-CV", (1.0, 2.0), 1.0, (0.5, 1.0), ("a", "b"))
    panels = [panel("a", [(4.0, 0.1), (8.0, 0.2)]), panel("b", [])]
    first, second = (
        cells(row) for row in write_markdown([growth_table(figure, panels)]).splitlines()[-2:]
    )
    assert first[:3] == ["a", "70", "4 (2.00)"]
    assert set(second[1:]) == {DASH}
    said = describe(figure, panels, "n λ = 1")
    assert "at n λ = 1:" in said
    assert "positive on 1 of 1 data sets" in said
    text = write_markdown(uniform_tables(figure, panels))
    assert cells(text.splitlines()[-1]) == ["a", "1", "4", "0.5", "0.25", "0.25", "1"]
    assert not list(uniform_tables(figure, panels[1:]))


def cells(row: str) -> list[str]:
    """Return the cells of a Markdown row."""
    return [cell.strip() for cell in row.split("|")[1:-1]]


def test_uniform_stability_has_a_probe_with_and_without_the_bias(tmp_path: Path) -> None:
    """A learner without a bias has one probe."""
    asked = {m.label: m for m in load(tmp_path).methods if m.criterion == UNIFORM}
    assert set(asked) == {UNIFORM, UNBIASED}
    ((task, choice),) = asked[UNBIASED].scored_by
    assert (task, choice.text) == ("classification", "svm(bias=false)")
    assert not asked[UNIFORM].scored_by
    plain = [m.label for m in load(tmp_path, bias="false").methods if m.criterion == UNIFORM]
    assert plain == [UNIFORM]


def test_a_learner_without_such_fits_is_refused(tmp_path: Path) -> None:
    """The config is refused, since every trial would fail."""
    with pytest.raises(
        ConfigError, match=r"uniform\[1\]: bodyfat: the bound is that of the hinge loss"
    ):
        load(tmp_path, "[heart, bodyfat]")
    with pytest.raises(
        ConfigError, match=r"uniform\[0\]: 'hart' is not under datasets; did you mean"
    ):
        load(tmp_path, "[hart]")


def test_a_figure_keeps_its_probes(tmp_path: Path) -> None:
    """``-c 5-CV`` keeps the figure and its probes; ``-c RKS`` neither."""
    whole, some = load(tmp_path), load(tmp_path, criteria=["5-CV"])
    mine = [m for m in whole.methods if m.part == "theory"]
    assert [m for m in some.methods if m.part == "theory"] == mine
    assert {m.label for m in mine} >= {"5-CV", "beta", UNIFORM}
    other = load(tmp_path, criteria=["RKS"])
    assert (other.figures, {m.part for m in other.methods}) == ((), {"table"})


def test_the_caption_has_the_unit_of_the_ridge(tmp_path: Path) -> None:
    """The caption says n lam if the config fixes n lam, also without records."""
    spec = load(tmp_path)
    (figure,) = spec.figures
    shown = FIGURES["theory"].show(figure, Study(spec, []))
    passages = (item for item in shown if isinstance(item, Passage))
    captions = [getattr(e, "caption", "") for p in passages for e in p.elements]
    assert any("at n λ = 1:" in caption for caption in captions)
