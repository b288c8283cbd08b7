"""Timings of any version are read; the tables keep those of the config's own parameters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from synthetic import experiment

from kselect.store.jobs import Store
from kselect.store.timings import (
    Seconds,
    TimedMethod,
    Timings,
    keep_current,
    read_all,
)

SPEC = experiment()
CELLS = tuple(
    TimedMethod(m.label, m.criterion, m.folds, m.text, Seconds(1.0, 1.0, 1.0), None, None, 2.0, "e")
    for m in SPEC.table
)
HEART = Timings("heart", 0, 100, 7, "old", "00", CELLS)


def test_cells_with_other_parameters_are_not_kept() -> None:
    changed = replace(CELLS[1], params="eta=7")
    found = keep_current(SPEC, [replace(HEART, cells=(CELLS[0], changed))])
    assert [c.method for one in found for c in one.cells] == ["5-CV"]
    assert keep_current(SPEC, [replace(HEART, cells=(changed,))]) == []
    assert keep_current(SPEC, [HEART]) == [HEART]


def test_a_folder_without_timings(tmp_path: Path) -> None:
    assert read_all(SPEC, Store(tmp_path)) == []
