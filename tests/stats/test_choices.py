"""Where the choices fell, from records made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from synthetic import TAUS, experiment, record, study

from kselect.core.experiment import Experiment
from kselect.core.method import LamGrid
from kselect.core.record import Record, significant
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Polynomial
from kselect.stats.choices import Cell, ChoiceMap, choice_maps, families

SELECT = LamGrid((0.1, 1.0, 10.0), "select")


def choice(label: str, split: int, kernel: Any, lam: float, **more: Any) -> Record:
    place = {"kernel": kernel.name, "chosen": kernel.text, "lam": lam, "setting": "selected"}
    return record("heart", split, label, 0.1, **(place | more))


def maps(spec: Experiment, *records: Record) -> tuple[ChoiceMap, ...]:
    return choice_maps(study(spec, records), "squared")


def test_shares_by_hand() -> None:
    rows = [choice("5-CV", s, TAUS[5], 1.0) for s in range(3)]
    rows.append(choice("5-CV", 3, TAUS[0], 10.0))
    (found,) = maps(experiment(lam=SELECT), *rows)
    assert (found.dataset, found.method, found.choices, found.beyond) == ("heart", "5-CV", 4, 0)
    assert found.cells == (Cell(0, 2, 0.25, True), Cell(5, 1, 0.75, False))


def test_under_a_fixed_ridge_each_has_its_own_shares() -> None:
    spec = experiment(lam=LamGrid((1.0, 0.1), "fixed"))
    rows = [choice("5-CV", s, TAUS[4 + s], 0.1, setting="lam=0.1") for s in (0, 1)]
    rows.append(choice("5-CV", 0, TAUS[4], 1.0, setting="lam=1"))
    (found,) = maps(spec, *rows)
    assert found.cells == (
        *(Cell(4, 0, 0.5, False), Cell(4, 1, 1.0, False)),
        Cell(5, 0, 0.5, False),
    )


def test_kinds_of_kernels_stand_side_by_side_ascending() -> None:
    """As a config may write them: one kind after the other, descending."""
    kernels = (Polynomial(3), Polynomial(2), Gaussian(9.0), Gaussian(1.0), Gaussian(3.0))
    polynomial, gaussian = families(kernels)
    assert [k.text for k in polynomial.kernels] == ["degree=2", "degree=3"]
    assert (gaussian.start, [k.text for k in gaussian.kernels]) == (2, ["tau=1", "tau=3", "tau=9"])
    rows = [choice("5-CV", s, kernels[s], 1.0) for s in (0, 3, 4)]
    (found,) = maps(experiment(kernels=kernels, lam=SELECT), *rows)
    assert [(c.kernel, c.edge) for c in found.cells] == [(1, True), (2, True), (3, False)]


def test_a_continuous_search_has_no_map() -> None:
    """5-KS is nowhere on the grid and is left out; 5-CV once."""
    spec = experiment(lam=SELECT)
    rows = [choice("5-KS", s, Gaussian(3.21), 0.123) for s in (0, 1)]
    rows += [choice("5-CV", 0, TAUS[5], 1.0), choice("5-CV", 1, TAUS[5], 0.123)]
    (found,) = maps(spec, *rows)
    assert (found.method, found.choices, found.beyond) == ("5-CV", 2, 1)
    assert found.cells == (Cell(5, 1, 1.0, False),)
    assert maps(spec, rows[0]) == ()
    assert maps(spec) == ()


def test_a_ridge_in_units_of_n_lam_and_the_digits_of_a_record() -> None:
    spec = experiment(lam=LamGrid((1 / 3, 1.0, 9.0), "select", "n lam"))
    (found,) = maps(spec, choice("5-CV", 0, TAUS[5], significant(1 / 3 / 70)))
    assert found.cells == (Cell(5, 0, pytest.approx(1.0), True),)


def test_failures_are_no_choices() -> None:
    rows = [record("heart", 0, "5-CV", None, setting="selected"), choice("5-CV", 1, TAUS[5], 1.0)]
    (found,) = maps(experiment(lam=SELECT), *rows)
    assert found.choices == 1
