"""Python that repeats a selection: it reads the file, fits the choice and prints the same score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kselect.cli.choosing import Chosen, grids_of
from kselect.grids import show_number
from kselect.learners import LEARNERS
from kselect.search.continuous import SEARCHES
from kselect.selection.columns import USUAL_COLUMNS
from kselect.selection.defaults import AUTO, ENSEMBLE
from kselect.selection.own_data import OwnData
from kselect.selection.request import Request, criterion_of
from kselect.selection.result import Selection, shown_score

# The flags about the table, with the defaults of ``kselect.read_table``.
TABLE_DEFAULTS: Mapping[str, Any] = {
    "target": None,
    "task": None,
    "drop": (),
    "categorical": (),
    "numeric": (),
    "missing": "impute",
    "scale": "zscore",
    "weights": None,
    "groups": None,
    "time": None,
}


def python_lines(chosen: Chosen, flags: Mapping[str, Any]) -> list[str]:
    """Return Python that reads the file, fits the choice and prints the same score.

    It runs in the folder in which the command was typed.
    """
    data, found = chosen.data, chosen.found
    task, folds = data.target.task, flags["folds"]
    form = f"KernelSelect{'Classifier' if task == 'classification' else 'Regressor'}CV"
    table = [
        f"{name}={list(flags[name]) if isinstance(flags[name], tuple) else flags[name]!r}"
        for name, default in TABLE_DEFAULTS.items()
        if flags[name] != default
    ]
    method = found.request.method
    return [
        *(["import numpy as np"] if folds else []),
        f"from kselect import {form}, read_table",
        f"table = read_table({', '.join([repr(str(data.path)), *table])})",
        f"model = {form}(",
        *(f"    {argument}," for argument in model_arguments(found, flags)),
        *column_arguments(found, data),
        ").fit(table.X, table.y)"
        if flags["weights"] is None
        else ").fit(table.X, table.y, sample_weight=table.weights)",
        f"print({'' if method.scorer else '-'}model.best_score_)  # {shown_score(method, found.score):.6g}",
    ]


def column_arguments(found: Selection, data: OwnData) -> list[str]:
    """Return the argument that says which features share a relevance, if some do."""
    numbers = data.preparation.column_of_feature
    if not found.request.relevances or len(np.unique(numbers)) == len(numbers):
        return []
    return ["    feature_columns=table.preparation.column_of_feature,"]


def candidate_arguments(found: Selection, flags: Mapping[str, Any]) -> list[str]:
    """Return the arguments of the best candidate, or of the whole search if an average has to be formed again."""
    repeated = len(found.members) > 1 or found.request.metric != "none"
    if not repeated or found.unseen:  # without the time limit, another search would differ
        kernel = f"kernel={(found.request.method.kernel or found.kernel.name)!r}"
        if found.kernel.learned:
            return [kernel]
        grids = {k: show_number(v) for k, v in found.kernel.parameters.items()}
        return [kernel, *grid_arguments(grids), f"lam={show_number(found.lam)}", "ensemble=1"]
    grids = {name: repr(grid) for name, grid in grids_of(flags).items() if grid is not None}
    lines = [f"kernel={flags['kernel']!r}", *grid_arguments(grids)]
    lines += [f"lam={flags['lam']!r}"] if flags["lam"] != AUTO else []
    lines += [f"metric={flags['metric']!r}"] if flags["metric"] != "none" else []
    size = str(flags["ensemble"])
    return lines if size == ENSEMBLE else [*lines, f"ensemble={size}"]


def grid_arguments(grids: Mapping[str, str]) -> list[str]:
    """Return the arguments that give the grids of kernel parameters."""
    if set(grids) <= {"tau", "degree"}:
        return [f"{name}={grid}" for name, grid in grids.items()]
    return ["grids={" + ", ".join(f"{name!r}: {grid}" for name, grid in grids.items()) + "}"]


def cv_arguments(request: Request, flags: Mapping[str, Any]) -> list[str]:
    """Return the argument that holds rows out in the same way, if it is not the usual one."""
    given = {"repeats": flags["repeats"], "stratify": flags["stratify"]}
    usual = {"repeats": 1, "stratify": False}
    more = [f"{name}={value!r}" for name, value in given.items() if value != usual[name]]
    if not more and flags["groups"] is None and flags["time"] is None:
        return []
    seed = [f"random_state={request.seed}"] if request.seed else []
    return [f"cv=table.splits({', '.join([str(request.method.folds), *more, *seed])})"]


def model_arguments(found: Selection, flags: Mapping[str, Any]) -> list[str]:
    """Return the estimator's arguments: learner, criterion, kernel, and everything that is not a default."""
    request, folds = found.request, flags["folds"]
    lines = [
        f"learner={request.learner.name!r}",
        f"criterion={request.method.label!r}",
        *candidate_arguments(found, flags),
    ]
    criterion, _ = criterion_of(request.method.label)
    defaults = LEARNERS[request.learner.name].defaults | criterion.defaults
    given = dict(request.learner.params) | dict(request.method.params)
    if search := request.method.search:
        defaults |= SEARCHES[search.name].defaults
        given |= dict(search.params)
    params = {name: value for name, value in given.items() if value != defaults[name]}
    loss, name = params.pop("loss", None), "loss"
    if request.method.scorer:
        del params["average"]  # that of a scorer
        name = "scoring"
    lines += [f"params={params!r}"] if params else []
    lines += [f"{name}={loss!r}"] if loss else []
    lines += [f"ridge={request.ridge!r}"] if request.ridge != "fixed" else []
    lines += [f"cv=np.loadtxt({str(folds)!r}, dtype=int, encoding='utf-8-sig')"] if folds else []
    lines += cv_arguments(request, flags)
    weight = flags["class_weight"]
    lines += [f"class_weight={weight!r}"] if weight else []
    lines += [f"nystrom={request.nystrom}"] if request.nystrom else []
    lines += [f"columns={request.columns!r}"] if request.columns != USUAL_COLUMNS else []
    return [*lines, f"random_state={request.seed}"]
