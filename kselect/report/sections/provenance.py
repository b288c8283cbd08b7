"""What the numbers were made with: seed, machines, packages, data files."""

from __future__ import annotations

from collections.abc import Iterable

from kselect.report.blocks import Block, Grid, Shown
from kselect.report.sections.base import section
from kselect.stats.facts import Facts, Machine
from kselect.stats.study import Study


@section("provenance")
def show(study: Study) -> Shown:
    """The manifest in words."""
    rows = tuple(describe(study.facts))
    return Shown(blocks=[Block("made", (Grid((), rows, 2, prose=True),))])


def describe(facts: Facts) -> Iterable[tuple[str, str]]:
    """One line per fact."""
    yield "seed", "" if facts.seed is None else str(facts.seed)
    yield "jobs", str(facts.jobs)
    for machine in facts.machines:
        yield f"environment {machine.name}", describe_machine(machine)
    for file in facts.data:
        yield f"data {file.dataset}", f"{file.source}, sha256 {file.sha256}"


def describe_machine(machine: Machine) -> str:
    """Its jobs, its software and its processor."""
    packages = ", ".join(f"{name} {version}" for name, version in machine.packages.items())
    commit = machine.commit[:12] or "unknown"
    changes = " with local changes" if machine.changed else ""
    return (
        f"{machine.jobs} jobs; Python {machine.python}, {packages}; {machine.cpu}, one BLAS thread per "
        f"worker; commit {commit}{changes}"
    )
