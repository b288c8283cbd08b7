"""Claims about choices: learned widths, grid points that are avoided, and minima of a surface."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from printed_flkl import paper, printed, row
from synthetic import experiment, method, record, study

from kselect.core.claim import Claim, Large, Paper
from kselect.report.claims.spreads import judge_avoids, judge_minima, judge_widths, minima, share_of
from kselect.report.figures.surfaces import Surfaces
from kselect.report.figures.widths import LearnedWidths, learned_widths
from kselect.stats.study import Study

VARIES = Claim(
    "3.4-3",
    "varies less",
    "",
    left=("ARD-FLKL",),
    right=("ARD-XVAL",),
    datasets=("twonorm", "thyroid"),
)
AVOIDS = Claim(
    "8", "avoids", "", method=("5-KS",), against=("5-CV",), what=Large("polynomial", "degree", 4)
)


def test_widths_that_vary_less() -> None:
    """FLKL's widths are made to vary less than XVAL's."""
    found = judge_widths(printed(), VARIES, "squared")
    assert (found.verdict, found.counts) == ("supported", "lower on 2 of 2 data sets")
    assert found.effect.value < 0
    assert found.table is not None
    rows = [(row[2], row[3]) for row in found.table.rows]
    expected = [float(a) - float(b) for a, b in rows]  # type: ignore[arg-type]
    assert found.effect.value == pytest.approx(np.median(expected))
    swapped = replace(VARIES, left=VARIES.right, right=VARIES.left)
    assert judge_widths(printed(), swapped, "squared").verdict == "not supported"


def test_a_single_width_varies_as_theta() -> None:
    """Claim 3.4-1 compares ``theta = 1 / (2 tau)``; in tau itself XVAL would vary less here."""
    spec, _ = paper()
    spec = replace(spec, splits=(0, 1, 2))
    claim = next(c for c in spec.claims if c.id == "3.4-1")
    taus = {"RBF-FLKL": (1, 1, 4), "RBF-XVAL": (4, 4, 1)}
    rows = [row("heart", s, m, 1.0, f"tau={t[s]}") for m, t in taus.items() for s in (0, 1, 2)]
    found = judge_widths(
        Study(spec, rows), replace(claim, datasets=("heart",), everywhere=False), "squared"
    )
    assert (found.verdict, found.counts) == ("supported", "lower on 1 of 1 data set")
    assert found.table is not None
    assert found.table.rows[0][2:] == (pytest.approx(3**0.5 / 3), pytest.approx(3**0.5 / 2), 3)


def test_uninformative_features_that_are_known() -> None:
    """The third feature of FLKL has no width; XVAL's third and fourth have the same."""
    claim = replace(VARIES, kind="suppresses", datasets=("splice",))
    study = printed()
    assert judge_widths(study, claim, "squared").verdict == "supported"
    source = Paper("p", "p", informative={"splice": (1, 2, 3)})
    study.experiment = replace(study.experiment, source=source)
    fourth = judge_widths(study, claim, "squared")
    assert fourth.verdict == "not supported"
    assert fourth.effect.value == pytest.approx(0.2 / 2.2 - 0.2 / 2.4)
    assert fourth.effect.interval == ""


def test_informative_features_that_are_not_known() -> None:
    """Half of the features count: those with the larger share of a kernel's widths, for each method."""
    widths = np.array([[8.0, 1.0, 0.0, 4.0], [4.0, 0.5, 0.5, 2.0], [2.0, 0.0, 0.2, 9.0]])
    found = LearnedWidths("splice", "ARD-FLKL", widths)
    shares = (widths / widths.sum(axis=1, keepdims=True)).mean(axis=0)
    assert sorted(np.argsort(shares)[2:]) == [0, 3]
    assert found.stronger.values.tolist() == widths[:, [0, 3]].tolist()
    assert found.weak_share == pytest.approx(shares[1] + shares[2])
    spread = widths.std(axis=0, ddof=1) / widths.mean(axis=0)
    assert found.stronger.variation == pytest.approx((spread[0] + spread[3]) / 2)
    claim = replace(VARIES, datasets=("twonorm",), features="informative")
    mine, other = (
        learned_widths(printed(), "twonorm", m).stronger.variation for m in ("ARD-FLKL", "ARD-XVAL")
    )
    assert judge_widths(printed(), claim, "squared").effect.value == pytest.approx(mine - other)
    assert mine - other != pytest.approx(judge_widths(printed(), VARIES, "squared").effect.value)


def test_shares_of_features() -> None:
    values = np.array([[1.0, 3.0], [2.0, 2.0], [0.0, 0.0]])
    assert share_of(values, [1]) == pytest.approx((0.75 + 0.5) / 2)
    assert math.isnan(share_of(np.zeros((2, 2)), [0]))


def test_widths_without_numbers() -> None:
    spec, rows = paper()
    assert judge_widths(Study(spec, (), rows), VARIES, "squared").verdict == "no numbers"


def choices(mine: int, other: int, of: int = 10, splits: int = 10) -> Study:
    """Return a study in which both methods choose a degree of 4 in so many of their splits."""
    spec = experiment(datasets=("heart",), splits=tuple(range(splits)), paper="")
    rows = [
        record(
            "heart", s, label, 0.1, kernel="polynomial", chosen=f"degree={4 if s < count else 3}"
        )
        for label, count in (("5-KS", mine), ("5-CV", other))
        for s in range(of)
    ]
    return study(spec, rows)


@pytest.mark.parametrize(
    ("mine", "other", "verdict"),
    [(2, 4, "supported"), (3, 4, "mixed"), (4, 4, "not supported"), (1, 0, "not supported")],
)
def test_grid_points_that_are_avoided(mine: int, other: int, verdict: str) -> None:
    found = judge_avoids(choices(mine, other), AVOIDS, "squared")
    assert found.verdict == verdict
    assert found.effect.value == pytest.approx(10 * (mine - other))
    assert found.counts.startswith(f"chosen in {10 * mine:.1f} % of the choices ({mine} of 10)")


def test_choices_that_are_few_or_of_another_kernel() -> None:
    assert judge_avoids(choices(1, 1, of=4), AVOIDS, "squared").verdict == "too few numbers"
    assert judge_avoids(choices(1, 1, of=0), AVOIDS, "squared").verdict == "no numbers"
    other = replace(AVOIDS, what=Large("gaussian", "tau", 0.0))
    assert judge_avoids(choices(3, 4), other, "squared").verdict == "no numbers"


def test_points_that_nobody_chooses() -> None:
    """Without a choice on either side there is nothing to compare, as in a variant without polynomials."""
    found = judge_avoids(choices(0, 0), AVOIDS, "squared")
    assert (found.verdict, found.effect.text, found.counts) == ("no numbers", "", "")
    assert "choose a polynomial kernel with a degree of 4 or more" in found.reason
    gaussian = study(
        experiment(datasets=("heart",), splits=(0, 1), paper=""),
        [record("heart", s, m, 0.1, chosen="tau=1") for s in (0, 1) for m in ("5-KS", "5-CV")],
    )
    assert judge_avoids(gaussian, AVOIDS, "squared").verdict == "no numbers"


def brute(surface: np.ndarray) -> list[float]:
    """Return the depths of the minima by flooding from every point, one level after the other."""
    known = [p for p in np.ndindex(surface.shape) if np.isfinite(surface[p])]
    depths = []
    seen: set[tuple[int, ...]] = set()
    for start in sorted(known, key=lambda p: surface[p]):
        if start in seen:
            continue
        plateau = reach(surface, start, surface[start])
        seen |= plateau
        if any(surface[p] < surface[start] for p in plateau):
            continue
        for level in sorted({surface[p] for p in known}):
            flooded = reach(surface, start, level) if level >= surface[start] else set()
            lower = [p for p in flooded if (surface[p], p) < (surface[start], min(plateau))]
            if lower:
                depths.append(level - surface[start])
                break
    size = max(surface[p] for p in known) - min(surface[p] for p in known)
    return [1.0, *sorted((float(d / size) for d in depths), reverse=True)]


def reach(surface: np.ndarray, start: tuple[int, ...], level: float) -> set[tuple[int, ...]]:
    """Return the points that are connected with a point at or below a level."""
    found, todo = {start}, [start]
    while todo:
        i, j = todo.pop()
        for a, b in product((-1, 0, 1), repeat=2):
            p = (i + a, j + b)
            inside = 0 <= p[0] < surface.shape[0] and 0 <= p[1] < surface.shape[1]
            if inside and p not in found and surface[p] <= level:
                found.add(p)
                todo.append(p)
    return found


def test_minima_by_hand() -> None:
    one = np.array([[3.0, 2.0, 3.0], [2.0, 1.0, 1.0], [3.0, 2.0, 3.0]])
    assert minima(one) == [1.0]
    two = np.array([[0.0, 5.0, 10.0, 4.0, 4.0]])
    assert minima(two) == [1.0, pytest.approx(0.6)]
    wall = np.array([[0.0, np.nan, 1.0], [2.0, 3.0, 2.0]])
    assert minima(wall) == [1.0, pytest.approx(2 / 3)]
    assert minima(np.zeros((2, 2))) == [1.0]
    assert minima(np.full((1, 2), np.nan)) == []


def test_minima_against_flooding() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        surface = rng.integers(0, 6, size=(5, 6)).astype(float)
        surface[rng.integers(5), rng.integers(6)] = np.nan
        assert minima(surface) == pytest.approx(brute(surface))


def surface_study(scores: list[float]) -> Study:
    """Return a study of a surface with two lams and four mus."""
    spec, _ = paper()
    flkl = next(m for m in spec.table if m.label == "ARD-FLKL")
    figure = Surfaces("surfaces", "ARD-FLKL", "synthetic", 0, (1.0, 2.0), (1.0, 2.0, 4.0, 8.0))
    points = list(figure.points(flkl))
    spec = replace(spec, methods=(*spec.table, *points), figures=(figure,), datasets=("synthetic",))
    rows = [
        record("synthetic", 0, "ARD-FLKL", 0.1, part="surfaces", params=m.text, score=score)
        for m, score in zip(points, scores, strict=False)
    ]
    return Study(spec, rows)


@pytest.mark.parametrize(
    ("scores", "verdict", "count"),
    [
        ([3, 2, 1, 2, 3, 3, 3, 3], "supported", 1),
        ([0, 2, 1, 2, 3, 3, 3, 3], "not supported", 2),
        ([0, 1.01, 1, 2, 3, 3, 3, 3], "mixed", 2),
        ([0, 1, 2], "too few numbers", 1),
    ],
)
def test_a_surface_with_one_minimum(scores: list[float], verdict: str, count: int) -> None:
    claim = Claim("3.1", "unimodal", "", figure="surfaces", datasets=("synthetic",))
    found = judge_minima(surface_study(scores), claim, "squared")
    assert (found.verdict, found.effect.value) == (verdict, count)
    assert judge_minima(surface_study([]), claim, "squared").verdict == "no numbers"
    assert (
        judge_minima(surface_study(scores), replace(claim, figure="x"), "squared").verdict
        == "no numbers"
    )


def test_methods_of_the_other_loss_do_not_choose() -> None:
    spec = experiment(methods=(method("5-KS", "k-KS", 5, loss="hinge"),), paper="")
    assert judge_avoids(study(spec, []), AVOIDS, "squared").verdict == "no numbers"
