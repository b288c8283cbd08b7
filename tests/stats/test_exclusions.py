"""How many candidates a column could not choose."""

from __future__ import annotations

import pytest
from synthetic import experiment, record, study

from kselect.core.method import LamGrid
from kselect.kernels.gaussian import Gaussian
from kselect.stats.exclusions import candidates, count_excluded

WHY = "2: no factor (degree=9;lam=0.1, degree=10;lam=0.1)"

BOTH = "3: infinite score (tau=1;lam=1, tau=1;lam=2, ...); 1: no factor (degree=9;lam=0.1)"


def test_the_mean_over_splits_and_the_first_reasons() -> None:
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


@pytest.mark.parametrize(("mode", "count"), [("select", 6), ("fixed", 2)])
def test_candidates(mode: str, count: int) -> None:
    lam = LamGrid((0.1, 1.0, 10.0), mode)  # type: ignore[arg-type]
    spec = experiment(kernels=(Gaussian(1.0), Gaussian(2.0)), lam=lam)
    assert candidates(study(spec, [])) == count
