"""The share of choices on an edge of the grid, and excluded candidates."""

from __future__ import annotations

from typing import Any

from synthetic import TAUS, experiment, method, record, study

from kselect.core.experiment import Experiment
from kselect.core.method import LamGrid
from kselect.core.record import Record, significant
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Polynomial
from kselect.stats.diagnostics import EdgeShares, count_excluded, edge_shares, leaning

SELECT = LamGrid((0.1, 1.0, 10.0), "select")
LOW, MIDDLE, HIGH = TAUS[0], TAUS[5], TAUS[-1]


def choice(label: str, split: int, kernel: Any, lam: float, **more: Any) -> Record:
    place = {"kernel": kernel.name, "chosen": kernel.text, "lam": lam, "setting": "selected"}
    return record("heart", split, label, 0.1, **(place | more))


def shares(spec: Experiment, *records: Record) -> dict[str, EdgeShares]:
    return {s.method: s for s in edge_shares(study(spec, records), "squared")}


def test_shares_by_hand() -> None:
    """One of four choices is inside, two are on one edge, one is on two edges."""
    spec = experiment(lam=SELECT)
    found = shares(
        spec,
        choice("5-CV", 0, MIDDLE, 1.0),
        choice("5-CV", 1, LOW, 1.0),
        choice("5-CV", 2, MIDDLE, 10.0),
        choice("5-CV", 3, HIGH, 0.1),
        choice("5-KS", 0, MIDDLE, 1.0),
    )
    assert found["5-CV"] == EdgeShares("5-CV", 4, (0.25, 0.25, 0.25, 0.25), 0.75)
    assert found["5-KS"] == EdgeShares("5-KS", 1, (0.0, 0.0, 0.0, 0.0), 0.0)


def test_a_fixed_ridge_is_not_counted_as_a_choice() -> None:
    spec = experiment(lam=LamGrid((0.1, 1.0), "fixed"))
    rows = [choice("5-CV", 0, LOW, 0.1, setting="lam=0.1")]
    rows.append(choice("5-CV", 0, MIDDLE, 1.0, setting="lam=1"))
    found = shares(spec, *rows)["5-CV"]
    assert found == EdgeShares("5-CV", 2, (0.5, 0.0, None, None), 0.5)
    assert leaning(study(spec, rows), "squared", ["5-CV"]) == ()  # half is not more than half


def test_a_grid_of_one_value_has_no_edge() -> None:
    spec = experiment(kernels=(MIDDLE,), lam=LamGrid((0.1,), "select"))
    found = shares(spec, choice("5-CV", 0, MIDDLE, 0.1))["5-CV"]
    assert found == EdgeShares("5-CV", 1, (None,) * 4, None)


def test_a_ridge_in_units_of_n_lam_and_the_digits_of_a_record() -> None:
    """A ridge recorded with twelve digits, divided by 70 rows, is still the largest."""
    spec = experiment(lam=LamGrid((1 / 3, 1.0, 9.0), "select", "n lam"))
    found = shares(spec, choice("5-CV", 0, MIDDLE, significant(1 / 3 / 70)))["5-CV"]
    assert found.shares == (0.0, 0.0, 1.0, 0.0)


def test_each_kind_of_kernel_has_its_own_edges() -> None:
    kernels = (Gaussian(1.0), Gaussian(9.0), Polynomial(2), Polynomial(3), Polynomial(4))
    spec = experiment(kernels=kernels, lam=LamGrid((0.1,), "select"))
    rows = [choice("5-CV", s, kernels[s], 0.1) for s in (0, 2, 3, 4)]
    assert shares(spec, *rows)["5-CV"] == EdgeShares("5-CV", 4, (0.5, 0.25, None, None), 0.75)


def test_failures_and_kernels_outside_the_grid_are_not_counted() -> None:
    spec = experiment(lam=SELECT)
    rows = [record("heart", 0, "5-CV", None, setting="selected")]
    rows.append(choice("5-CV", 1, Gaussian(3.21), 0.5))
    rows.append(choice("5-CV", 2, LOW, 1.0))
    assert shares(spec, *rows)["5-CV"].choices == 1
    assert shares(spec)["5-CV"] == EdgeShares("5-CV", 0, (None,) * 4, None)


def test_each_loss_has_its_own_choices() -> None:
    methods = tuple(method("5-CV", "k-CV", 5, loss=loss) for loss in ("squared", "zero-one"))
    spec = experiment(lam=SELECT, methods=methods)
    rows = [choice("5-CV", 0, LOW, 1.0), choice("5-CV", 0, MIDDLE, 1.0, loss="zero-one")]
    found = study(spec, rows)
    assert [leaning(found, loss, ["5-CV"]) != () for loss in spec.losses] == [True, False]
    assert leaning(found, "squared", ["5-KS"]) == ()


WHY = "2: no factor (degree=9;lam=0.1, degree=10;lam=0.1)"

BOTH = "3: infinite score (tau=1;lam=1, tau=1;lam=2, ...); 1: no factor (degree=9;lam=0.1)"


def test_excluded_candidates_are_averaged_over_splits() -> None:
    rows = [
        record("heart", 0, "5-CV", 0.1),
        record("heart", 0, "5-KS", 0.1),
        record("heart", 1, "5-KS", 0.1, excluded=2, exclusions=WHY),
        record("heart", 2, "5-KS", 0.1, excluded=4, exclusions=BOTH),
        record("heart", 3, "5-KS", None),
    ]
    (found,) = count_excluded(study(experiment(), rows), "squared")
    assert (found.dataset, found.method, found.mean) == ("heart", "5-KS", 2.0)
    assert found.reasons == WHY
    assert found.totals == {"no factor": 3, "infinite score": 3}
    assert count_excluded(study(experiment(), rows), "zero-one") == ()
