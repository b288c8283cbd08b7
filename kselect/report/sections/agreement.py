"""Published and ours to look at: every cell a point, the far ones named; the table below it has the numbers."""

from __future__ import annotations

from kselect.report.blocks import Block, Shown
from kselect.report.drawings.agreement import FURTHEST, draw_agreement
from kselect.report.panels import draw_figure
from kselect.report.sections.base import section
from kselect.stats.outliers import agreement
from kselect.stats.study import Study

NAME = "published-and-ours"


@section("agreement")
def show(study: Study) -> Shown:
    """One figure, under the experiment's own loss; none where the paper's table is not there."""
    points = study.once(agreement, study.experiment.loss)
    if not points:
        return Shown()
    files, picture = draw_figure(
        NAME,
        lambda width: draw_agreement(points, study.reconstructed, width),
        "Our test errors over the published ones, one point per cell of the paper's table",
        describe(study),
    )
    return Shown(files, [Block("published", (picture,))])


def describe(study: Study) -> str:
    """What a point is, where it should lie, and how many do."""
    experiment = study.experiment
    loss = f" with the {experiment.loss} loss" if len(experiment.losses) > 1 else ""
    return (
        f"Every cell of {experiment.paper}'s table is a point: across, the error that the paper printed; upwards, "
        f"ours{loss} divided by it. On the line at 1 both are equal, below it ours is lower. The colour is the "
        "distance in standard errors of the two means, so that a large ratio may be within the noise of a small "
        "data set. Named is every data set with a cell beyond 4, with the ratio of its furthest cell; a triangle "
        f"lies beyond a factor of {FURTHEST:g}."
    )
