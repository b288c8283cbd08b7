"""Timings -> timing.json with the machines, and the tables: all that is there of an experiment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kselect.core.experiment import Experiment
from kselect.core.job import protocol_of
from kselect.store.jobs import Store
from kselect.timing.cells import Timings, read_timings
from kselect.timing.formats import to_csv, to_latex, to_markdown
from kselect.timing.ratios import Entry, entries
from kselect.timing.run import timed_methods
from kselect.timing.table import NAME, TimingSheet, make_sheet

NOT_MEASURED = "not measured yet"
OTHER_CONFIG = "measured with another config"


def gathered(experiment: Experiment, store: Store) -> list[Timings]:
    """The timings of the experiment's data sets in its order, of its own methods alone."""
    found = []
    for name in experiment.datasets:
        timings = read_timings(store, name)
        if timings:
            wanted = {(m.label, m.text) for m in timed_methods(experiment, name)}
            cells = tuple(c for c in timings.cells if (c.method, c.params) in wanted)
            found.append(replace(timings, cells=cells))
    return [t for t in found if t.cells]


def write_tables(
    experiment: Experiment,
    store: Store,
    environments: Mapping[str, Mapping[str, Any]],
    missing: Mapping[str, str],
    published: Mapping[tuple[str, str], float],
) -> list[Entry]:
    """Write timing.json and tables/seconds.*; gives what they show.

    ``environments``: this one and those of earlier runs, by their digests.
    """
    timings = gathered(experiment, store)
    used = {c.environment for t in timings for c in t.cells}
    mine = {d: dict(environments.get(d, {})) for d in sorted(used)}
    there = {t.dataset for t in timings}
    absent = {
        name: missing.get(name, NOT_MEASURED) for name in experiment.datasets if name not in there
    }
    store.write_json("timing.json", facts(experiment, timings, mine, absent))
    found = entries(timings, experiment.labels, published)
    sheet = sheet_of(experiment, found, mine, absent)
    store.write(f"tables/{NAME}.csv", to_csv(found))
    store.write(f"tables/{NAME}.md", to_markdown(sheet))
    store.write(f"tables/{NAME}.tex", to_latex(sheet))
    return found


def sheet_of(
    experiment: Experiment,
    found: Sequence[Entry],
    environments: Mapping[str, Mapping[str, Any]],
    absent: Mapping[str, str],
) -> TimingSheet:
    """What the tables say; ``absent``: data set -> why it has no seconds."""
    by_reason: dict[str, list[str]] = {}
    for name, why in absent.items():
        by_reason.setdefault(why.rstrip("."), []).append(name)
    notes = [f"No seconds of {', '.join(names)}: {why}." for why, names in by_reason.items()]
    return make_sheet(experiment, found, machines(environments.values()), notes)


def kept_sheet(
    experiment: Experiment, store: Store, published: Mapping[tuple[str, str], float]
) -> TimingSheet | None:
    """What the tables of a folder say; None where nothing was timed."""
    timings, told = gathered(experiment, store), kept_facts(store)
    mine = [t for t in timings if t.protocol == protocol_of(experiment, t.dataset, t.data_sha256)]
    if not mine:
        return None
    others = {t.dataset: OTHER_CONFIG for t in timings if t not in mine}
    found = entries(mine, experiment.labels, published)
    absent = {**told.get("missing", {}), **others}
    return sheet_of(experiment, found, told.get("environments", {}), absent)


def kept_facts(store: Store) -> dict[str, Any]:
    """timing.json, the machines above all; a spoilt file is written anew and says nothing."""
    try:
        told = json.loads((store.folder / "timing.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    known = told if isinstance(told, dict) else {}
    return {k: v for k, v in known.items() if isinstance(v, dict)}


def machines(environments: Iterable[Mapping[str, Any]]) -> list[str]:
    """The processors on which the cells were measured."""
    return list(dict.fromkeys(str(e.get("cpu") or "unknown") for e in environments))


def facts(
    experiment: Experiment,
    timings: Iterable[Timings],
    environments: Mapping[str, Mapping[str, Any]],
    absent: Mapping[str, str],
) -> dict[str, Any]:
    """timing.json: what was measured on what."""
    return {
        "experiment": experiment.name,
        "split": experiment.splits[0],
        "kernels": len(experiment.kernels),
        "ridges": len(experiment.lam.values),
        "seconds": "CPU and wall of a whole selection; one process, one BLAS thread, each method alone",
        "environments": dict(environments),
        "data": {
            t.dataset: {"sha256": t.data_sha256, "rows": t.rows, "cells": len(t.cells)}
            for t in timings
        },
        "missing": dict(absent),
    }
