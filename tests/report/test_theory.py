"""The figure of the theory: labels wherever the numbers lie, and what it asks to be computed."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest
from experiments import load_config, write_config
from hypothesis import given
from hypothesis import strategies as st

from kselect.core.experiment import Experiment
from kselect.core.table import DASH
from kselect.errors import ConfigError
from kselect.report.drawings.theory import FEWEST, MOST, draw_theory, find_ticks, show_tick
from kselect.report.formats import markdown
from kselect.report.sections import FIGURES
from kselect.report.sections.theory import describe, grow, show_uniform
from kselect.stats.study import study_of
from kselect.stats.theory import UNBIASED, UNIFORM, Panel, Theory, Width

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


def panel(name: str, points: list[tuple[float, float]]) -> Panel:
    """A data set with (beta, variance) along the widths; the first width has uniform stability, too."""
    nan = math.nan
    widths = [
        Width(2.0**i, (1.0, beta), v, *((0.5, 0.25) if i == 0 else (nan, nan)), runs=4)
        for i, (beta, v) in enumerate(points)
    ]
    return Panel(name, tuple(widths), 70, 2.0, 0.5 if points else nan)


@given(st.floats(-8, 5), st.floats(0.005, 9))
def test_an_axis_has_enough_labels_wherever_it_lies(low: float, span: float) -> None:
    """Within it, different from each other, and no more than fit."""
    ends = 10**low, 10 ** (low + span)
    ticks = find_ticks(*ends)
    texts = [show_tick(t) for t in ticks]
    assert FEWEST <= len(ticks) <= MOST + 1
    assert all(ends[0] <= t <= ends[1] for t in ticks)
    assert len(set(texts)) == len(texts)
    values = [float(text) for text in texts]
    assert values == pytest.approx(ticks, rel=1e-5)


@pytest.mark.parametrize("width", [9.6, 3.7])
def test_labels_do_not_overlap(width: float) -> None:
    """On any axis, of panels that span little or much; one without data has no labels."""
    panels = [
        panel("a", [(1.0, 3e-4), (1.5, 4e-4), (14.0, 2e-4)]),
        panel("b", [(1.0, 1e-9), (900.0, 3e-2), (40.0, 2e-5)]),
        panel("c", [(1.0, 1e-3), (1.02, 1.1e-3)]),
        panel("d", []),
    ]
    canvas = draw_theory(panels, width)
    canvas.draw_without_rendering()
    for ax in canvas.axes:
        for labels, along in ((ax.get_xticklabels(), 0), (ax.get_yticklabels(), 1)):
            boxes = [label.get_window_extent() for label in labels if label.get_text()]
            ends = sorted((box.get_points()[0][along], box.get_points()[1][along]) for box in boxes)
            assert all(a[1] < b[0] for a, b in pairwise(ends))
    counts = [len(ax.get_xticks()) for ax in canvas.axes[:4]]
    assert min(counts[:3]) >= 2
    assert counts[3] == 0


def test_tables_and_words() -> None:
    """A dash where nothing is there; the bound is n lam's, and beta's beside it."""
    figure = Theory("theory", "5-CV", (1.0, 2.0), 1.0, (0.5, 1.0), ("a", "b"))
    panels = [panel("a", [(4.0, 0.1), (8.0, 0.2)]), panel("b", [])]
    _, rows = grow(panels, figure)
    assert rows[0][:3] == ("a", "70", "4 (2.00)")
    assert set(rows[1][1:]) == {DASH}
    said = describe(figure, panels, "n λ = 1")
    assert "at n λ = 1:" in said
    assert "positive on 1 of 1 data sets" in said
    text = markdown.write(show_uniform(panels))
    row = [cell.strip() for cell in text.splitlines()[-1].split("|")[1:-1]]
    assert row == ["a", "1", "4", "0.5", "0.25", "0.25", "1"]
    assert not list(show_uniform(panels[1:]))


def test_uniform_stability_is_asked_with_and_without_the_bias(tmp_path: Path) -> None:
    """Once where the learner has none."""
    asked = {m.label: m for m in load(tmp_path).methods if m.criterion == UNIFORM}
    assert set(asked) == {UNIFORM, UNBIASED}
    ((task, choice),) = asked[UNBIASED].scored_by
    assert (task, choice.text) == ("classification", "svm(bias=false)")
    assert not asked[UNIFORM].scored_by
    plain = [m.label for m in load(tmp_path, bias="false").methods if m.criterion == UNIFORM]
    assert plain == [UNIFORM]


def test_a_learner_without_such_fits_is_refused(tmp_path: Path) -> None:
    """As a line of the config, where the trial would have lost all of its numbers."""
    with pytest.raises(
        ConfigError, match=r"uniform\[1\]: bodyfat: uniform-stability needs fits without"
    ):
        load(tmp_path, "[heart, bodyfat]")
    with pytest.raises(
        ConfigError, match=r"uniform\[0\]: 'hart' is not under datasets; did you mean"
    ):
        load(tmp_path, "[hart]")


def test_a_figure_keeps_what_it_needs_beside_columns(tmp_path: Path) -> None:
    """``-c 5-CV`` keeps the figure and its probes; ``-c RKS`` neither."""
    whole, some = load(tmp_path), load(tmp_path, criteria=["5-CV"])
    mine = [m for m in whole.methods if m.part == "theory"]
    assert [m for m in some.methods if m.part == "theory"] == mine
    assert {m.label for m in mine} >= {"5-CV", "beta", UNIFORM}
    other = load(tmp_path, criteria=["RKS"])
    assert (other.figures, {m.part for m in other.methods}) == ((), {"table"})


def test_the_caption_has_the_unit_of_the_ridge(tmp_path: Path) -> None:
    """Not lam where the config fixes n lam; nothing run yet is no error."""
    spec = load(tmp_path)
    (figure,) = spec.figures
    shown = FIGURES["theory"].show(figure, study_of(spec, []))
    captions = [getattr(e, "caption", "") for block in shown.blocks for e in block.elements]
    assert any("at n λ = 1:" in caption for caption in captions)
