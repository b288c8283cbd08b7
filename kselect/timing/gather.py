"""Timings -> timing.json with the machines, and the tables: all that is there of an experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from kselect.model.experiment import Experiment
from kselect.store.jobs import Store
from kselect.timing.cells import Timings, read_timings
from kselect.timing.formats import to_csv, to_latex, to_markdown
from kselect.timing.ratios import Entry, entries
from kselect.timing.run import timed_methods
from kselect.timing.table import NAME, make_sheet

NOT_MEASURED = "not measured yet"


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
    absent = {
        name: missing.get(name, NOT_MEASURED)
        for name in experiment.datasets
        if name not in {t.dataset for t in timings}
    }
    store.write_json("timing.json", facts(experiment, timings, mine, absent))
    found = entries(timings, experiment.labels, published)
    notes = [f"No seconds of {name}: {why.rstrip('.')}." for name, why in absent.items()]
    sheet = make_sheet(experiment, found, machines(mine.values()), notes)
    store.write(f"tables/{NAME}.csv", to_csv(found))
    store.write(f"tables/{NAME}.md", to_markdown(sheet))
    store.write(f"tables/{NAME}.tex", to_latex(sheet))
    return found


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
