"""The paper's printed numbers, fed in as if they were ours, give the paper's own verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kselect.config.load import load_config
from kselect.core.experiment import Experiment
from kselect.core.record import Record
from kselect.kernels.ard import Ard
from kselect.report.index import index_entry
from kselect.report.sections import FIGURES, SECTIONS
from kselect.report.sections.other_claims import judge_ranks, judge_spreads
from kselect.stats.diagnostics import endings
from kselect.stats.learned import Learned, learned
from kselect.stats.rankings import Ranking, rank_columns
from kselect.stats.sources import Published, read_published
from kselect.stats.study import Study, study_of
from kselect.stats.surfaces import Surfaces, levels, see

ROOT = Path(__file__).resolve().parents[2]


def paper() -> tuple[Experiment, tuple[Published, ...]]:
    """The experiment with one split, and its printed table."""
    config = ROOT / "configs/flkl2014.yaml"
    text = (ROOT / "data/published/flkl2014.csv").read_text().splitlines()
    return load_config(config, FIGURES, {"splits": "2"}), read_published(text)


def row(dataset: str, split: int, method: str, error: float, chosen: str) -> Record:
    return Record(
        *(dataset, split, "table", method, "k-CV", "", "squared", "selected", "ard", chosen),
        *(0.01, 0.5 - 0.1 * error, error / 100, 0, "zero-one", 100, 100, "ok", ""),
        *("held=1", "", "converged" if split else "iteration limit"),
    )


def printed(changed: dict[str, float] | None = None) -> Study:
    """The printed means as records of two splits, XVAL's widths twice as scattered as FLKL's."""
    spec, rows = paper()
    rng = np.random.default_rng(0)
    records = []
    means = {(r.dataset, r.method.removesuffix("-LSSVM")): r.mean for r in rows if r.table in "23"}
    for (dataset, method), mean in means.items():
        for split in (0, 1):
            spread = 0.5 if method == "ARD-FLKL" else 2.0
            theta = np.array([1.0, 1.0, 0.0 if method == "ARD-FLKL" else 0.2, 0.2])
            theta = theta * np.exp(spread * rng.uniform(-1, 1) * np.ones(4))
            extra = (changed or {}).get(method, 0.0)
            records.append(row(dataset, split, method, mean + extra, Ard(tuple(theta)).text))
    return study_of(spec, records, rows)


def test_the_papers_own_ranks_give_its_own_verdicts() -> None:
    found = {v.claim.text: v for v in judge_ranks(printed())}
    assert [v.verdict for v in found.values()] == [
        "supported",
        "supported",
        "supported",
        "no numbers",
    ]
    first = found["With ARD, FLKL ranks before LOO and XVAL"]
    assert [f"{r:.2f}" for r in first.ranked.ranks.mean] == ["1.21", "2.64", "2.14"]
    assert f"{first.limit:.2f}" == "0.78"


def test_all_verdicts_stand_on_the_page_over_all_experiments() -> None:
    study = printed()
    judged = (*judge_ranks(study), *judge_spreads(study))
    expected = [(found.claim.text, found.verdict) for found in judged]
    assert {verdict for _, verdict in expected} == {"supported", "no numbers"}
    assert index_entry(study, "flkl2014/report.html").verdicts == tuple(expected)


def test_another_table_gives_other_verdicts() -> None:
    verdicts = [v.verdict for v in judge_ranks(printed({"ARD-FLKL": 20.0, "RBF-FLKL": 9.0}))]
    assert verdicts == ["not supported", "not supported", "mixed", "no numbers"]


def test_nothing_to_judge() -> None:
    spec, rows = paper()
    empty = study_of(spec, (), rows)
    assert {v.verdict for v in judge_ranks(empty)} == {"no numbers"}
    assert {v.verdict for v in judge_spreads(empty)} == {"no numbers"}
    few = study_of(spec, [row("heart", 0, "ARD-FLKL", 17.0, "theta1=1")], rows)
    assert {v.verdict for v in judge_ranks(few)} <= {"no numbers", "too few numbers"}


def test_spreads() -> None:
    """FLKL's widths scatter less here, and its third feature is at zero."""
    variation, suppression = judge_spreads(printed())
    assert (variation.verdict, suppression.verdict) == ("supported", "supported")
    assert [d for d, *_ in variation.numbers] == ["twonorm", "thyroid", "splice"]
    assert all(mine < other for _, mine, other, _ in (*variation.numbers, *suppression.numbers))


def test_numbers_of_learned_widths() -> None:
    values = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 2.0]])
    one = Learned("d", "m", (0, 1), values)
    assert one.variation == pytest.approx(np.median([np.std([1, 3], ddof=1) / 2, 0.0]))
    assert one.weak_share == 0.0
    assert Learned("d", "m", (0,), np.ones((1, 4))).weak_share == 0.5
    assert np.isnan(Learned("d", "m", (), np.empty((0, 0))).variation)


def test_a_stand_in_speaks_where_the_published_set_is_missing() -> None:
    spec, _ = paper()
    only = [row("twonorm-generated", s, "ARD-FLKL", 3.0, "theta1=1;theta2=3") for s in (0, 1)]
    found = study_of(spec, only)
    assert learned(found, "twonorm", "ARD-FLKL").dataset == "twonorm-generated"
    both = study_of(
        spec, [*only, *(row("twonorm", s, "ARD-FLKL", 3.0, "theta1=1") for s in (0, 1))]
    )
    ranks = rank_columns(both, Ranking("", ("ARD-FLKL",)))
    assert ranks.ranks.datasets == ("twonorm",)
    assert ranks.absent == ("twonorm-generated",)


def test_literature_columns_are_ranked_with_ours() -> None:
    """Table 4: MKL and IKL from the printed table; a data set without their numbers is not ranked."""
    found = rank_columns(
        printed(), Ranking("t", ("RBF-XVAL", "ARD-FLKL"), ("MKL-separate", "IKL-products"))
    )
    assert len(found.ranks.datasets) == 13
    assert found.absent == ("synthetic",)
    assert found.literature == {"MKL-separate", "IKL-products"}
    assert found.rows["heart"][2].mean == 16.7


def test_marks_of_wilcoxon() -> None:
    """Not told apart from the best: too few splits to differ; the best is always close."""
    spec, _ = paper()
    spec = load_config(ROOT / "configs/flkl2014.yaml", FIGURES, {"splits": "12"})
    errors = {"ARD-FLKL": 10.0, "ARD-LOO": 10.4, "ARD-XVAL": 10.0}
    wobble = {"ARD-FLKL": 0.0, "ARD-LOO": 0.0, "ARD-XVAL": 0.3}
    records = [
        row("heart", s, m, e + wobble[m] * (-1) ** s + 0.01 * s, "theta1=1")
        for m, e in errors.items()
        for s in range(12)
    ]
    entries = rank_columns(study_of(spec, records), Ranking("t", tuple(errors))).rows["heart"]
    assert [e.close for e in entries] == [True, False, True]


def test_endings_count_what_did_not_converge() -> None:
    found = {e.method: e for e in endings(printed())}
    assert found["ARD-FLKL"].states == (("converged", 14), ("iteration limit", 14))
    assert found["ARD-FLKL"].zeros == 0.25
    assert found["ARD-FLKL"].held == 1.0


def test_what_the_report_shows() -> None:
    """The files of every kind of figure, claims with their numbers, and the same bytes twice."""
    study = printed()
    by_name = {f.name: f for f in study.experiment.figures}
    shown = FIGURES["ranking"].show(by_name["table4"], study)
    files = {f.name: f.content for f in shown.files}
    assert set(files) == {
        *(f"tables/table4.{kind}" for kind in ("csv", "md", "tex")),
        *(
            f"figures/{name}.{kind}"
            for name in ("table4", "table4-pairs")
            for kind in ("png", "pdf")
        ),
    }
    assert "MKL-separate (lit.)" in str(files["tables/table4.md"])
    assert "second better" in str(files["tables/table4.md"])
    again = FIGURES["ranking"].show(by_name["table4"], printed())
    assert {f.name: f.content for f in again.files} == files
    text = " ".join(e.text for b in SECTIONS["rank-claims"](study) for e in b.elements)  # type: ignore[union-attr]
    assert "Mean ranks over 14 data sets: ARD-FLKL 1.21" in text


@pytest.mark.usefixtures("pictures_alone")
@pytest.mark.parametrize("name", ["table2", "widths", "overfitting", "surfaces"])
def test_no_data_and_few_are_survived(name: str) -> None:
    """By every kind of figure of the paper."""
    spec, rows = paper()
    figure = next(f for f in spec.figures if f.name == name)
    kind = FIGURES[figure.kind]
    assert kind.show(figure, study_of(spec, (), rows)).files
    assert kind.show(figure, few()).files


def few() -> Study:
    """One data set with two columns."""
    spec, _ = paper()
    labels = ("ARD-XVAL", "ARD-FLKL")
    return study_of(
        spec, [row("thyroid", s, m, 4.0, "theta1=1;theta2=0") for m in labels for s in (0, 1)]
    )


def test_a_surface_is_computed_on_one_split_alone() -> None:
    """One method per point, known to the plan by its data set and split."""
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
    """Each point from its own record, the decision from the embedded rows and the kernel of the table's record."""
    spec, _ = paper()
    figure = next(f for f in spec.figures if isinstance(f, Surfaces))
    column = next(m for m in spec.table if m.label == figure.at)
    points = [
        replace(
            row("synthetic", 0, figure.at, 0.1 * i, "theta1=1;theta2=1"),
            part="surfaces",
            params=m.text,
        )
        for i, m in enumerate(figure.methods(column))
        if i != 3
    ]
    best = replace(row("synthetic", 0, figure.at, 9.0, "theta1=1;theta2=1"), tuned="mu=0.5")
    seen = see(study_of(spec, [*points, best]), figure)
    assert np.isnan(seen.test[0, 3])
    assert seen.test[1, 0] == pytest.approx(0.1 * len(figure.mus))
    assert seen.best == (1.0, 0.5)
    assert seen.decision is not None
    assert len(seen.decision.rows) == 250
    agree = np.sign(seen.decision.values).mean()
    assert -0.5 < agree < 0.5
    assert levels(seen.test)[0] == 0.0
    assert levels(np.full((2, 2), np.nan)) == []
