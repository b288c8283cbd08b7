"""Where the choices fell on the grid: a small map for every data set and column."""

from __future__ import annotations

from collections.abc import Sequence

from kselect.grids import show_number
from kselect.report.blocks import Block, Element, File, Fold, Heading, Shown
from kselect.report.drawings.choices import draw_choices
from kselect.report.panels import draw_figure
from kselect.report.sections.base import section
from kselect.report.words import LAM, stem
from kselect.stats.choices import ChoiceMap, Family, choice_maps, families
from kselect.stats.study import Study


@section("choices")
def show(study: Study) -> Shown:
    """One figure per loss, the other losses' behind a line; none where nothing was chosen from a grid."""
    files: list[File] = []
    blocks: list[Block] = []
    for loss in study.experiment.losses:
        maps = study.once(choice_maps, loss)
        if maps:
            more, elements = show_loss(study, loss, maps)
            files += more
            blocks.append(Block("edges", elements))
    return Shown(files, blocks)


def show_loss(
    study: Study, loss: str, maps: Sequence[ChoiceMap]
) -> tuple[list[File], tuple[Element, ...]]:
    """The maps of one loss."""
    experiment = study.experiment
    kinds, lams = families(experiment.kernels), len(experiment.lam.values)
    axes = f"{describe_axes(study, kinds)}; orange: at an edge of the grid"
    files, picture = draw_figure(
        stem("choices", study, loss),
        lambda width: draw_choices(maps, kinds, lams, study.reconstructed, axes, width),
        f"Maps of the grid with the choices of every column under the {loss} loss",
        describe(study, loss, maps),
    )
    if loss != experiment.loss:
        return files, (Fold(f"Where the choices fell with the {loss} loss", (picture,)),)
    title = (Heading(f"With the {loss} loss"),) if len(experiment.losses) > 1 else ()
    return files, (*title, picture)


def describe(study: Study, loss: str, maps: Sequence[ChoiceMap]) -> str:
    """What the axes are, what the colours say, and what has no place on the grid."""
    shares = "splits at that ridge" if study.experiment.lam.mode == "fixed" else "splits"
    left_out = describe_left_out(study, loss, maps)
    return (
        "Where the choices fell: each frame is the grid, whose axes are named below the maps. The stronger a cell, "
        f"the more {shares} chose it; orange cells lie at an edge of the grid, beyond which the best may lie, blue "
        f"ones within it.{left_out}"
    )


def describe_axes(study: Study, kinds: Sequence[Family]) -> str:
    """The kernels across, the ridges upwards."""
    ridges = study.experiment.lam
    lam = f"{ridges.unit.replace('lam', LAM)} = {span(sorted(ridges.values))}"
    return f"across {', then '.join(map(name_family, kinds))}; upwards {lam}"


def describe_left_out(study: Study, loss: str, maps: Sequence[ChoiceMap]) -> str:
    """Columns whose places are no points of the grid."""
    drawn = {m.method for m in maps}
    missing = [m for m in study.comparison(loss).methods if m not in drawn]
    beyond = sum(m.beyond for m in maps)
    words = f" Not from the grid, and not shown: {', '.join(missing)}." if missing else ""
    return words + (f" {beyond} choices of these columns are off the grid." if beyond else "")


def name_family(family: Family) -> str:
    """``gaussian, tau = 0.0156 to 256``; kernels of several parameters are counted."""
    parameters = list(family.kernels[0].parameters)
    if len(parameters) == 1:
        values = [k.parameters[parameters[0]] for k in family.kernels]
        return f"{family.name}, {parameters[0]} = {span(values)}"
    count = len(family.kernels)
    return f"{family.name}, {count} kernel{'s' * (count != 1)}"


def span(values: Sequence[float]) -> str:
    """``0.0078125 to 4 (10 values)``."""
    low, high = show_number(values[0]), show_number(values[-1])
    return f"{low} to {high} ({len(values)} values)" if len(values) > 1 else low
