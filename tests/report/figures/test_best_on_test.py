"""The table of the lowest test errors, next to the printed ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiments import load_config, write_config
from synthetic import experiment, record, study

from kselect.core.method import SELECTED, LamGrid
from kselect.errors import ConfigError
from kselect.report.elements import File
from kselect.report.figures import FIGURES
from kselect.report.figures.best_on_test import CRITERION, LABEL, BestOnTest, lowest_errors
from kselect.stats.sources import Published

FIGURE = BestOnTest("best", ("heart", "sonar"))
CONFIG = """\
name: small
learner: lssvm
splits: 2
{grid}criteria: [{criterion}]
datasets: [heart, sonar]
figures: {{best: {{kind: best-on-test, datasets: [sonar]}}}}
"""


def test_printed_errors_below_the_best_are_out_of_reach() -> None:
    """The lowest printed mean counts; a data set without records has no verdict."""
    spec = experiment(figures=(FIGURE,), lam=LamGrid((0.1, 1.0), "select"), splits=(0, 1))
    made = [
        record(
            "heart", s, LABEL, error, part="best", criterion=CRITERION, setting="selected", loss=""
        )
        for s, error in enumerate((0.2, 0.1))
    ]
    printed = [
        Published("1", "heart", name, SELECTED, mean, 1.0, "sd")
        for name, mean in (("5-CV", 12.0), ("ELOO", 16.0))
    ]
    found = study(spec, made, published=tuple(printed))
    heart, sonar = lowest_errors(found, FIGURE)
    assert heart[5:] == (
        *(15.0, pytest.approx(50**0.5), 2, "12.00", 12.0, "5-CV"),
        *(pytest.approx(-0.6), "no"),
    )
    assert sonar[-1] is None
    files = {
        f.name: f.content
        for f in FIGURES["best-on-test"].show(FIGURE, found)
        if isinstance(f, File)
    }
    assert "looks at the test rows" in str(files["tables/best.md"])
    assert "Printed below it: heart." in str(files["tables/best.md"])
    # The ridge is selected, so that the column of settings would be empty.
    assert "| setting" not in str(files["tables/best.md"])
    assert ",setting," in str(files["tables/best.csv"])


def test_a_grid_is_needed(tmp_path: Path) -> None:
    """Its method looks at the data sets of the figure only."""
    grid = "kernels: {gaussian: {tau: [1, 4]}}\nlam: {select: [0.1]}\n"
    found = load_config(write_config(tmp_path, CONFIG.format(grid=grid, criterion="5-CV")))
    (look,) = (m for m in found.methods if m.on_test)
    assert (look.label, look.part, look.datasets) == (LABEL, "best", ("sonar",))
    with pytest.raises(ConfigError, match="needs a grid of kernels and lam"):
        load_config(
            write_config(tmp_path, CONFIG.format(grid="", criterion="5-CV: {search: flkl}"))
        )
