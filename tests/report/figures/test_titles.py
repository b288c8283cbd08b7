"""The titles of figures: each says what its numbers say, compared with loops over the numbers."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kselect.report.figures import degree, discrepancy, overfitting, theory
from kselect.report.figures.discrepancy import Track
from kselect.report.figures.map import DistanceCurve, DistanceMap, sum_up_curves
from kselect.report.figures.rank_diagram import rank_rows, sum_up_posteriors, sum_up_ranks
from kselect.report.figures.surfaces import Surfaces
from kselect.report.figures.surfaces import sum_up as sum_up_surfaces
from kselect.report.figures.sweep import SweepNumbers, sum_up_errors, sum_up_gaps
from kselect.report.figures.theory import DataSetStability, Theory
from kselect.report.figures.widths import LearnedWidths
from kselect.report.figures.widths import sum_up as sum_up_widths
from kselect.stats.ranks import Posterior, critical_difference, rank

COLUMNS = ["dataset", "method", "x", "mean", "sd", "gap", "half", "clear"]
NONE = pd.DataFrame(columns=["dataset", "method", "mean", "sd"])


def swept(rows: list[tuple[Any, ...]]) -> SweepNumbers:
    curves = pd.DataFrame(rows, columns=COLUMNS)
    return SweepNumbers("eta", ("5-KS", "10-KS"), (("5-CV", 0),), {}, curves, NONE, "%")


@pytest.mark.parametrize("seed", range(4))
def test_a_sweep_counts_the_data_sets(seed: int) -> None:
    draws = np.random.default_rng(seed)
    rows = []
    for dataset in "abcd":
        for method in ("5-KS", "10-KS"):
            for x in (0.25, 1.0, 4.0):
                gap = float(draws.normal())
                if draws.random() < 0.8:
                    rows.append((dataset, method, x, 20 + gap, 1.0, gap, 1.0, draws.random() < 0.5))
    better, worse, lowest = set(), set(), []
    for dataset in "abcd":
        for method in ("5-KS", "10-KS"):
            mine = [r for r in rows if r[:2] == (dataset, method)]
            better |= {dataset for r in mine if r[5] < 0 and r[7]}
            worse |= {dataset for r in mine[-1:] if r[5] > 0 and r[7]}
            lowest += [min(mine, key=lambda r: (r[3], r[2]))[2]] if mine else []
    found = sum_up_gaps(swept(rows))
    assert f"better than k-CV at some eta on {len(better)} of {len({r[0] for r in rows})}" in found
    assert found.endswith(f"worse at the largest on {len(worse)}")
    shown = {0.25: "2^-2", 1.0: "1", 4.0: "2^2"}
    assert f"eta = {shown[min(lowest)]} to {shown[max(lowest)]}," in sum_up_errors(swept(rows))


def test_a_sweep_without_numbers_has_no_title() -> None:
    alone = swept([("a", "5-KS", 4.0, 20.0, 1.0, math.nan, math.nan, False)])
    assert sum_up_gaps(alone) == sum_up_gaps(swept([])) == sum_up_errors(swept([])) == ""
    assert sum_up_errors(alone) == "The mean test error is lowest at eta = 2^2"


def test_the_curves_of_a_map_name_the_nearest_method() -> None:
    """A method counts where it is nearest at the last value of the parameter; data sets without curves do not."""

    def curve(method: str, *ends: float) -> DistanceCurve:
        return DistanceCurve(method, tuple((i, (9.0, end)) for i, end in enumerate(ends)), False)

    figure = DistanceMap("map", ("a", "b"), "5-CV", "c", (0.1, 1.0), ("d", "e", "f"))
    found = {
        "d": ({}, [curve("a", 0.1, 0.5), curve("b", 0.9, 0.2)]),
        "e": ({}, [curve("a", 0.1, 0.5), curve("b", 0.9, 0.3)]),
        "f": ({}, []),
    }
    text = "b is nearest to 5-CV at the lowest 5-CV and the largest c on 2 of 2 data sets"
    assert sum_up_curves(figure, found) == text
    assert sum_up_curves(figure, {"f": ({}, [])}) == ""


def test_widths_name_the_method_that_varies_least() -> None:
    values = np.random.default_rng(0).uniform(1.0, 2.0, (6, 3))
    steady = LearnedWidths("d", "steady", 1.0 + 0.1 * values)
    rows = [[LearnedWidths("d", "other", values), steady], [steady]]
    assert "of steady vary least over splits on 1 of 1 data sets" in sum_up_widths(rows)
    assert sum_up_widths([[steady]]) == ""


def test_surfaces_compare_the_end_of_the_search_with_the_lowest_error() -> None:
    figure = Surfaces("s", "ARD-FLKL", "synthetic", 0, (0.1, 1.0, 10.0), (1.0, 4.0))
    test = np.array([[9.0, 8.0], [7.5, 6.0], [np.nan, 5.0]])
    words = "The end of the search has 7.5 % test error; the lowest on the map is 5.0 %"
    assert sum_up_surfaces(figure, test, (1.2, 1.9)) == words
    assert "has no test error" in sum_up_surfaces(figure, test, (9.0, 1.0))
    assert sum_up_surfaces(figure, test, None) == ""


def track(*points: tuple[float, float]) -> Track:
    return Track("heart", "5-CV", points, (), 0.1, 1.0, {x: 2 for x, _ in points})


def test_a_series_is_exact_at_an_order_or_at_the_last_one() -> None:
    """Roots of 1e-6 and 1e-2 are 0.1 % and 10 %."""
    tracks = [track((1.0, 0.04), (3.0, v), (5.0, 1e-8)) for v in (1e-6, 1e-2)]
    some = "At order 3, 1 of 2 series are within 1 % of exact k-CV"
    assert discrepancy.sum_up(tracks, 3) == some
    assert discrepancy.sum_up(tracks, None).startswith("At order 5, 2 of 2")
    assert discrepancy.sum_up([track()], 3) == discrepancy.sum_up_squares([track()], 3) == ""
    # 1e-6 / 0.04 and 1e-2 / 0.04, whose median is 0.1250125.
    left = (
        "At order 3, 13 % of the first order's mean square difference is left (median of 2 series)"
    )
    assert discrepancy.sum_up_squares(tracks, 3) == left


def test_the_variance_rises_with_beta_where_rho_is_positive() -> None:
    figure = Theory("theory", "5-CV", (1.0,), 1.0, (1.0,), ("a",))
    found = [DataSetStability("a", (), 70, 2.0, rho) for rho in (0.5, -0.1, math.nan, 0.1)]
    assert theory.sum_up(figure, found).startswith(
        "The variance of 5-CV over splits rises with beta on 2 of 3 data sets"
    )
    assert theory.sum_up(figure, found[2:3]) == ""


@pytest.mark.parametrize("seed", range(3))
def test_ranks_name_the_best_and_count_the_pairs(seed: int) -> None:
    errors = np.random.default_rng(seed).normal(np.arange(4), 1.0, (12, 4))
    ranks = rank(errors, tuple("abcdefghijkl"))
    labels = ("w", "x", "y", "z")
    limit = critical_difference(4, 12, 0.1)
    apart = sum(abs(a - b) > limit for a, b in combinations(ranks.mean, 2))
    best = min(zip(ranks.mean, labels, strict=True))
    assert sum_up_ranks(labels, ranks, 0.1) == (
        f"{best[1]} has the lowest mean rank ({best[0]:.2f}); Nemenyi's test at 10 % tells {apart} of 6 pairs apart"
    )
    rows = list(rank_rows(labels, {"ours": ranks}, 0.1))
    assert [row[:3] for row in rows] == [("ours", *r) for r in zip(labels, ranks.mean, strict=True)]
    assert {row[3:] for row in rows} == {(12, limit)}


def test_equal_ranks_share_the_title() -> None:
    ranks = rank(np.array([[1.0, 2.0], [2.0, 1.0]]), ("a", "b"))
    assert sum_up_ranks(("x", "y"), ranks, 0.1).startswith(
        "x and y have the lowest mean rank (1.50)"
    )
    assert sum_up_ranks(("x", "y"), rank(np.empty((0, 2)), ()), 0.1) == ""


def test_posteriors_are_counted_above_their_level() -> None:
    shares = ((0.96, 0.04, 0.0), (0.0, 0.03, 0.97), (0.02, 0.96, 0.02), (0.5, 0.5, 0.0))
    found = [Posterior("a", "b", *share) for share in shares]
    assert sum_up_posteriors(found, "the same within 2") == (
        "With a probability above 0.95, 2 of 4 pairs differ and 1 is the same within 2"
    )


def test_overfitting_and_degrees_are_counted() -> None:
    misled = {0: ([0.1, 0.2], [9.0, 11.0]), 1: ([0.3, 0.3], [8.0, 8.0])}
    right = {0: ([0.1], [5.0]), 2: ([0.3], [8.0])}
    assert overfitting.sum_up([misled, right, {0: ([0.1], [1.0])}]).startswith(
        "On 1 of 2 data sets"
    )
    assert overfitting.sum_up([]) == ""
    betas = {"a": {1.0: 2.0, 2.0: 3.0}, "b": {1.0: 2.0, 2.0: 2.0}, "c": {}}
    assert degree.sum_up(betas) == "beta grows with every degree on 1 of 2 data sets"
    assert degree.sum_up({}) == ""
