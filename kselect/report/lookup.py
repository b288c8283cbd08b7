"""The look-up of single numbers on the front page: every published test error next to ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kselect.core.table import DASH
from kselect.report.cells import cell_keys
from kselect.report.sections.published import show_ours, show_printed
from kselect.report.words import LAM, mark_label, show_apart, title_setting
from kselect.stats.distances import Agreement, distances
from kselect.stats.study import Study


@dataclass(frozen=True)
class PrintedNumber:
    """One published test error next to ours, as texts; ``href`` opens the cell on the page of its experiment.

    ``ours`` is a dash and ``href`` is empty if we have no number. ``block`` is the part of the table that a
    published ridge names, or says that the ridge is selected.
    """

    dataset: str
    method: str
    experiment: str
    table: str
    block: str
    published: str
    ours: str
    apart: str
    verdict: Agreement
    href: str = ""


def printed_numbers(study: Study, page: str) -> Iterator[PrintedNumber]:
    """Yield every published test error in the order of the paper; ``page`` is the address of the report."""
    experiment = study.experiment
    found = study.once(distances, experiment.loss)
    keys = cell_keys(study, experiment.loss) if found else {}
    for d in found:
        key = keys.get((d.setting, d.stand_in or d.published.dataset, d.method), "")
        twin = f" (ours: {d.stand_in})" if d.stand_in else ""
        yield PrintedNumber(
            d.published.dataset + twin,
            mark_label(d.method, study.reconstructed),
            experiment.name,
            d.published.table,
            title_setting(d.setting) or f"{LAM} selected",
            show_printed(study, d.published),
            show_ours(study, d, experiment.loss),
            show_apart(d.errors) or DASH,
            d.verdict,
            f"{page}#cell={key}" if key and d.runs else "",
        )
