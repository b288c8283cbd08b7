"""The data sets of an experiment with given splits: their sizes, and where their rows and splits come from."""

from __future__ import annotations

from kselect.report.blocks import Block, File, Grid, Heading, Shown, Text
from kselect.report.formats import markdown, tidy
from kselect.report.sections.base import section
from kselect.stats.study import Study

HEAD = ("data set", "features", "training rows", "test rows", "splits", "rows from", "splits are")
CAPTION = (
    "The data sets with the sizes of their training and test parts. Published splits come with benchmarks.mat; "
    "where that was not at hand, as many of the same sizes are drawn, always the same ones."
)


@section("datasets")
def show(study: Study) -> Shown:
    """Nothing where splits are a share of the rows."""
    if study.experiment.train is not None:
        return Shown()
    rows = tuple(describe(study, name) for name in study.experiment.datasets)
    elements = (Heading("Data sets"), Text(CAPTION), Grid(HEAD, rows))
    text = markdown.write((Heading("datasets", 1), *elements[1:])) + "\n"
    files = [
        File("tables/datasets.md", text),
        File("tables/datasets.csv", tidy.write_lines(HEAD, rows)),
    ]
    return Shown(files, [Block("made", elements)])


def describe(study: Study, name: str) -> tuple[str, ...]:
    """One data set; what is not known of it stays empty."""
    info = study.experiment.info(name)
    source = next((f.source for f in study.facts.data if f.dataset == name), "")
    sizes = (info.given.train, info.given.test) if info.given else ("", "")
    splits = str(len(study.experiment.splits_on(name)))
    kind = {"": "", "original": "published"}.get(source, "drawn")
    return name, str(info.features), *map(str, sizes), splits, source or "not here", kind
