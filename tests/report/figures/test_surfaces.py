"""Surfaces of errors over (lam, mu): the jobs that they need, and how records are read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from printed_flkl import paper, row

from kselect.kernels.ard import Ard
from kselect.report.figures.surfaces import (
    Surfaces,
    decide,
    end_of_search,
    find_levels,
    read_surfaces,
)
from kselect.stats.study import Study


def test_a_surface_is_computed_on_one_split_only() -> None:
    """The plan has one method per point, on that data set and split only."""
    spec, _ = paper()
    figure = next(f for f in spec.figures if isinstance(f, Surfaces))
    parts = {
        (d, s): sum(m.part == "surfaces" for m in spec.methods_on(d, s))
        for d in ("heart", "synthetic")
        for s in (0, 1)
    }
    points = len(figure.lams) * len(figure.mus)
    assert parts == {
        ("heart", 0): 0,
        ("heart", 1): 0,
        ("synthetic", 0): points,
        ("synthetic", 1): 0,
    }


def test_surfaces_are_read_from_their_records() -> None:
    """Each point has its own record; the decision uses the kernel of the table's record."""
    spec, _ = paper()
    figure = next(f for f in spec.figures if isinstance(f, Surfaces))
    column = next(m for m in spec.table if m.label == figure.at)
    points = [
        replace(
            row("synthetic", 0, figure.at, 0.1 * i, "theta1=1;theta2=1"),
            part="surfaces",
            params=m.text,
        )
        for i, m in enumerate(figure.points(column))
        if i != 3
    ]
    best = replace(row("synthetic", 0, figure.at, 9.0, "theta1=1;theta2=1"), tuned="mu=0.5")
    study = Study(spec, [*points, best])
    _, test = read_surfaces(study, figure)
    assert np.isnan(test[0, 3])
    assert test[1, 0] == pytest.approx(0.1 * len(figure.mus))
    assert end_of_search(study, figure) == ((1.0, 0.5), Ard((1.0, 1.0)))
    decision = decide(study, figure, 1.0, Ard((1.0, 1.0)))
    assert decision is not None
    assert len(decision.rows) == 250
    assert -0.5 < np.sign(decision.values).mean() < 0.5
    assert find_levels(test)[0] == 0.0
    assert find_levels(np.full((2, 2), np.nan)) == []
