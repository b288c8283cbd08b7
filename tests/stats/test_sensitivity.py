"""The config and its variants: distances on common cells, and counts of the same claims."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from synthetic import experiment, method, sample_records

from kselect.core.experiment import Experiment, Variant
from kselect.stats.sensitivity import sensitivities
from kselect.stats.sources import Published
from kselect.stats.study import Study

SPEC = experiment(
    splits=(0, 1),
    variants=(Variant("minmax", "scale minmax"), Variant("later", "seed 2")),
    methods=(
        method("5-CV", "k-CV", 5, loss="squared"),
        method("5-KS(eta=2)", "k-KS", 5, eta=2.0, loss="squared"),
    ),
)
SETTING = SPEC.lam.settings()[0]
PRINTED = tuple(
    Published("1", dataset, label, SETTING, 20.0, 1.0, "se")
    for dataset in ("heart", "sonar")
    for label in ("5-CV", "5-KS")
)


MAIN = sample_records(
    {
        ("heart", "5-CV"): (0.2, 0.3),
        ("heart", "5-KS(eta=2)"): (0.2, 0.2),
        ("sonar", "5-CV"): (0.1, 0.1),
        ("sonar", "5-KS(eta=2)"): (0.1, 0.2),
    }
)
OTHER = sample_records({("heart", "5-CV"): (0.2, 0.2), ("heart", "5-KS(eta=2)"): (0.3, 0.3)})


def study(spec: Experiment = SPEC) -> Study:
    """Return a study of two data sets; one variant has one of them, the other was not run."""
    other = Study(replace(spec, variants=()), OTHER, PRINTED)
    return Study(spec, MAIN, PRINTED, variants={"minmax": other})


def test_distances_are_of_the_plain_columns_on_the_same_cells() -> None:
    main, minmax = sensitivities(study())
    heart = (25 - 20) / math.hypot(1.0, math.sqrt(50) / math.sqrt(2))
    assert (main.cells, main.datasets, main.planned) == (2, 2, 2)
    assert main.distance == pytest.approx((heart + 10.0) / 2)
    assert math.isnan(main.usual)
    assert (minmax.name, minmax.changes) == ("minmax", "scale minmax")
    assert (minmax.cells, minmax.datasets) == (1, 1)
    assert minmax.distance == 0.0
    assert minmax.usual == pytest.approx(heart)


def test_no_sensitivities_without_a_finished_variant() -> None:
    assert sensitivities(Study(SPEC, MAIN, PRINTED)) == ()
    assert sensitivities(Study(replace(SPEC, variants=()), MAIN, PRINTED)) == ()
