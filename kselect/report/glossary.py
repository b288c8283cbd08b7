"""What the abbreviations on a page mean: the criteria, searches, kernels and learners of its experiments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import yaml

from kselect.core.experiment import Experiment
from kselect.criteria import CRITERIA

TERMS = Path(__file__).with_name("terms.yaml")


@cache
def terms() -> dict[str, dict[str, str]]:
    """Return the meanings, by kind and name."""
    known: dict[str, dict[str, str]] = yaml.safe_load(TERMS.read_text(encoding="utf-8"))
    return known


def explain(experiments: Iterable[Experiment]) -> list[tuple[str, str]]:
    """Return the meaning of each criterion in alphabetical order, then of everything else; a term may be empty.

    A criterion that kselect does not know, from a plug-in, has the first line of its documentation.
    """
    every = list(experiments)
    methods = [method for one in every for method in one.table if not method.estimator]
    criteria = sorted({method.criterion for method in methods}, key=str.casefold)
    known = terms()
    found = [(name, known["criteria"].get(name) or CRITERIA[name].summary) for name in criteria]
    used = {
        "searches": {method.search.name for method in methods if method.search},
        "kernels": {method.kernel for method in methods},
        "learners": {choice.name for one in every for _, choice in one.learners},
    }
    for kind, names in used.items():
        found += [("", meaning) for name, meaning in known[kind].items() if name in names]
    return [*found, *known["signs"].items()] if found else []


def join_terms(lists: Iterable[Sequence[tuple[str, str]]]) -> list[tuple[str, str]]:
    """Return the terms of several experiments: criteria in alphabetical order, then the rest."""
    signs = [*terms()["signs"].items()]
    every = dict.fromkeys(pair for one in lists for pair in one)
    criteria = sorted((p for p in every if p[0] and p not in signs), key=lambda p: p[0].casefold())
    rest = [pair for pair in every if not pair[0]]
    return [*criteria, *rest, *(pair for pair in signs if pair in every)]
