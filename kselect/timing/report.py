"""The timing results of an experiment: timing.json, the files of the tables, and their passages on the page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kselect.core.experiment import Experiment
from kselect.core.job import protocol_of
from kselect.report.elements import Details, Notes, Passage
from kselect.report.writers import table_files
from kselect.store.jobs import Store
from kselect.store.timings import keep_current, read_all
from kselect.timing.ratios import TimingEntry, entries
from kselect.timing.tables import TimingSheet, make_sheet, tidy_table

NOT_MEASURED = "not measured yet"
OTHER_CONFIG = "measured with another config"


def write_tables(
    experiment: Experiment,
    store: Store,
    environments: Mapping[str, Mapping[str, Any]],
    missing: Mapping[str, str],
    published: Mapping[tuple[str, str], float],
) -> list[TimingEntry]:
    """Write timing.json and tables/seconds.*; return the entries of the tables.

    ``environments`` maps digests to environments of this and earlier runs, ``missing`` data sets to reasons.
    """
    timings = keep_current(experiment, read_all(experiment, store))
    used = {c.environment for t in timings for c in t.cells}
    mine = {d: dict(environments.get(d, {})) for d in sorted(used)}
    there = {t.dataset for t in timings}
    absent = {
        name: missing.get(name, NOT_MEASURED) for name in experiment.datasets if name not in there
    }
    facts = {
        "experiment": experiment.name,
        "split": experiment.splits[0],
        "kernels": len(experiment.kernels),
        "ridges": len(experiment.lam.values),
        "seconds": "CPU and wall of a whole selection; one process, one BLAS thread, one method at a time",
        "environments": mine,
        "data": {
            t.dataset: {"sha256": t.data_sha256, "rows": t.rows, "cells": len(t.cells)}
            for t in timings
        },
        "missing": absent,
    }
    store.write("timing.json", facts)
    found = entries(timings, experiment.criteria, published)
    sheet = sheet_of(experiment, found, mine, absent)
    write_files(experiment, store, found, sheet)
    return found


def write_files(
    experiment: Experiment, store: Store, found: Sequence[TimingEntry], sheet: TimingSheet
) -> None:
    """Write the files of the tables."""
    first, *others = sheet.printed
    for file in table_files(first, *others, of=experiment.name, tidy=tidy_table(found)):
        store.write(file.name, str(file.content))


def sheet_of(
    experiment: Experiment,
    found: Sequence[TimingEntry],
    environments: Mapping[str, Mapping[str, Any]],
    absent: Mapping[str, str],
) -> TimingSheet:
    """Make the tables; ``absent`` says for each data set why it has no seconds."""
    by_reason: dict[str, list[str]] = {}
    for name, why in absent.items():
        by_reason.setdefault(why.rstrip("."), []).append(name)
    notes = [f"No seconds of {', '.join(names)}: {why}." for why, names in by_reason.items()]
    machines = dict.fromkeys(str(e.get("cpu") or "unknown") for e in environments.values())
    return make_sheet(experiment, found, list(machines), notes)


def kept_sheet(
    experiment: Experiment, store: Store, published: Mapping[tuple[str, str], float]
) -> TimingSheet | None:
    """Make the tables of a results folder and rewrite their files; None if nothing was timed."""
    facts = kept_facts(store)
    timings = keep_current(experiment, read_all(experiment, store))
    mine = [t for t in timings if t.protocol == protocol_of(experiment, t.dataset, t.data_sha256)]
    if not mine:
        return None
    others = {t.dataset: OTHER_CONFIG for t in timings if t not in mine}
    found = entries(mine, experiment.criteria, published)
    absent = {**facts.get("missing", {}), **others}
    sheet = sheet_of(experiment, found, facts.get("environments", {}), absent)
    write_files(experiment, store, found, sheet)
    return sheet


def kept_facts(store: Store) -> dict[str, Any]:
    """Read timing.json, which has the environments; a damaged file counts as empty and is written again."""
    try:
        facts = json.loads((store.folder / "timing.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    known = facts if isinstance(facts, dict) else {}
    return {k: v for k, v in known.items() if isinstance(v, dict)}


def make_passages(sheet: TimingSheet) -> Iterator[Passage]:
    """Yield a chapter with the ratios before the seconds."""
    seconds, *ratios = sheet.tables
    tables = [*(Details("Ratios of seconds", (table,)) for table in ratios)]
    notes = Notes((*sheet.findings, *sheet.notes))
    yield Passage("seconds", (notes, *tables, Details("Seconds", (seconds,))))
