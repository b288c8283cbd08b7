"""What the probes of icml2014's figure see, against the series by its definition."""

from __future__ import annotations

import numpy as np
import oracles
import oracles_series
import pytest
from problems import Case

from kselect.criteria.bif_probes import discrepancy, rate


@pytest.mark.parametrize("order", [0, 1, 3, 7])
def test_mean_square_difference(labelled: Case, order: int) -> None:
    """Order-t series against retraining, the mean over all rows."""
    p, folds = labelled.problem, labelled.folds
    found = discrepancy(labelled.path(), folds, order=order)  # type: ignore[arg-type]
    for value, lam in zip(found, p.lams, strict=True):
        held = oracles.held_out(p.K, p.y, folds.members, lam, True, False)
        squares = [
            (oracles_series.series(p.K, p.y, F, lam, True, order) - held[F]) ** 2
            for F in folds.members
        ]
        assert value == pytest.approx(np.concatenate(squares).mean(), rel=1e-8)


def test_rate_is_the_largest_over_folds(labelled: Case) -> None:
    """``max_F lambda_max(S_FF)``."""
    p = labelled.problem
    found = rate(labelled.path(), labelled.folds)  # type: ignore[arg-type]
    expected = [
        max(oracles_series.rate(p.K, F, lam, True) for F in labelled.folds.members)
        for lam in p.lams
    ]
    assert found == pytest.approx(expected, rel=1e-9)
