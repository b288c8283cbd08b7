"""Requests: the flags or estimator parameters of a selection, checked and turned into a ``Request``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any

import numpy as np

from kselect.core.method import Choice, Method, SearchName
from kselect.criteria import Criterion, find_criterion
from kselect.datasets.registry import Task
from kselect.errors import ConfigError, nearest, quoted
from kselect.grids import parse_grid
from kselect.kernels import KERNELS, Kernel, Points
from kselect.kernels.default_families import rows_of_scale
from kselect.kernels.sums import is_learned, is_sum, parts_of, sum_name
from kselect.learners import LEARNERS, Learner
from kselect.learners.blocks import RowBlocks
from kselect.learners.problem import RidgeMode
from kselect.numerics.folds import Folds, draw_folds, stream
from kselect.numerics.linalg import Array, Index
from kselect.numerics.losses import CLASSIFICATION_LOSSES
from kselect.numerics.weights import Weights
from kselect.search.continuous import LEARNER, SEARCHES, ContinuousSearch
from kselect.selection.defaults import AUTO, MOST_MEMBERS, default_lam

GridSpec = str | int | float | Sequence[str | int | float]
# Kernel parameters learned with the model (first level of inference): FLKL, or 7-FLKL for seven folds.
FLKL = re.compile(r"(?:([1-9][0-9]{0,8})-)?FLKL")
FLKL_FOLDS = 5
# The criterion whose held-out predictions a scorer may score, and how a scorer is given.
SCORED = "k-CV"
Scoring = str | Callable[..., float] | None


@dataclass(frozen=True)
class Request:
    """Candidates of a selection, the criterion that scores them, and how to run it.

    ``kernels`` and ``lams`` are empty for a kernel whose parameters are learned: the search then tries all values.
    ``nystrom`` is the number of columns that approximate a kernel matrix; None computes it in full.
    ``columns`` says how the rows of these columns are drawn. ``ensemble`` is the largest number of fits that are
    averaged. ``growing`` names the parameters whose grid is extended if the choice lies on its boundary.
    ``relevances`` holds one value per feature, if a kernel uses them. ``weights`` holds one value per row.
    ``metric`` is none, or agop: kernels of a metric learned from a fit join the candidates. ``time_limit`` are the
    seconds after which no further kernel is looked at.
    """

    learner: Choice
    kernels: tuple[Kernel, ...]
    lams: tuple[float, ...]
    method: Method
    ridge: RidgeMode = "fixed"
    nystrom: int | None = None
    n_jobs: int = 1
    seed: int = 0
    task: Task = "classification"
    search: SearchName = "grid"
    columns: str = "uniform"
    ensemble: int = 1
    growing: frozenset[str] = frozenset()
    relevances: tuple[float, ...] = ()
    time_limit: float | None = None
    metric: str = "none"
    weights: Weights | None = field(default=None, compare=False)

    @property
    def families(self) -> tuple[str, ...]:
        """The names of the kernels, each once."""
        return tuple(dict.fromkeys(kernel.name for kernel in self.kernels))


def make_request(
    learner: str,
    criterion: str,
    kernel: str,
    kernels: tuple[Kernel, ...],
    lam: GridSpec,
    *,
    task: Task,
    params: Mapping[str, Any],
    loss: str | None,
    scoring: Scoring = None,
    labels: tuple[Any, ...] = (),
    ensemble: int | str = 1,
    growing: frozenset[str] = frozenset(),
    **how: Any,
) -> Request:
    """Return the request for a learner, a criterion and a kernel, each given as its name.

    ``params`` holds parameters of the learner and of the criterion. ``how`` holds the remaining fields of
    ``Request``. ``scoring`` replaces the loss by a scorer of scikit-learn, with the ``labels`` of the classes.
    ``kernels`` are the candidates of the kernel named ``kernel``, which is looked at if it is learned.
    """
    named = LEARNERS.find(learner)
    if task not in named.tasks:
        raise ConfigError(f"the learner {learner} is for {' and '.join(named.tasks)}, not {task}")
    kind = learned_by(kernel, criterion)
    own = {} if kind is None else {k: v for k, v in params.items() if kind.parameter(k)}
    params = {k: v for k, v in params.items() if k not in own}
    rest, choice = split_parameters(named, criterion, params)
    averages_loss = criterion_of(criterion)[0].parameter("loss") is not None
    if loss and scoring is not None:
        raise ConfigError("scoring and loss set the same option: leave one of them out")
    if not loss and named.loss != "squared" and averages_loss:
        loss = named.loss
    method = make_method(criterion, loss, rest, task == "classification")
    if scoring is not None:
        method = with_scorer(method, scoring, labels, rest)
    how["ensemble"] = ensemble_size(ensemble, task)
    if as_plain(lam) == AUTO:
        lam, growing = default_lam(task), growing | {"lam"}
    request = Request(choice, kernels, make_lams(lam), method, task=task, growing=growing, **how)
    return request if kind is None else learned_request(request, kernel, kind, own)


def ensemble_size(ensemble: int | str, task: Task) -> int:
    """Return the largest number of fits to average: ``auto`` averages for a regression only."""
    plain = as_plain(ensemble)
    if plain == AUTO:
        return MOST_MEMBERS if task == "regression" else 1
    text = str(plain)
    if isinstance(plain, bool) or not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ConfigError(f"ensemble: {quoted(ensemble)}; write auto, or a whole number from 1 on")
    return int(text)


# --- kernels and ridges -----------------------------------------------------------------------------


def kernel_grids() -> dict[str, dict[str, str]]:
    """Return {parameter: {kernel: its default grid}} over all registered kernels."""
    grids: dict[str, dict[str, str]] = {}
    for name, cls in KERNELS.items():
        for parameter, grid in cls.grids.items():
            grids.setdefault(parameter, {})[name] = grid
    return grids


def make_kernels(
    name: str, grids: Mapping[str, GridSpec | None], X: Array | RowBlocks | None = None
) -> tuple[Kernel, ...]:
    """Return one kernel per point of its parameter grid; none if the kernel's parameters are learned.

    A grid that is missing, None or "auto" is laid around the scale of the data X if the kernel defines a scale,
    and is the kernel's default grid otherwise.
    """
    if is_sum(name):
        return make_parts(name, grids, X)
    cls = KERNELS.find(name)
    given = {k: g for k, grid in grids.items() if (g := as_plain(grid)) is not None and g != AUTO}
    names = [] if cls.learned else [field.name for field in fields(cls)]
    unknown = [key for key in given if key not in names]
    if unknown:
        hint = nearest(unknown[0], names) if names else "; it has no parameters"
        raise ConfigError(f"the {name} kernel has no parameter {unknown[0]!r}{hint}")
    if cls.learned:
        return ()
    own = dict(cls.grids)
    if X is not None and len(X) and set(given) < set(names):
        with np.errstate(over="ignore", invalid="ignore"):  # the search reports overflows
            own |= cls.around(sampled_points(X))
    values = (parse_named_grid(key, given.get(key, own.get(key))) for key in names)
    return tuple(cls(*point) for point in product(*values))


def make_parts(
    name: str, grids: Mapping[str, GridSpec | None], X: Array | RowBlocks | None
) -> tuple[Kernel, ...]:
    """Return the kernels of a sum; a family without brackets has all of its grid, given or laid around X."""
    used: set[str] = set()

    def family(of: str) -> tuple[Kernel, ...]:
        own = {field.name: grids.get(field.name) for field in fields(KERNELS.find(of))}
        used.update(own)
        return make_kernels(of, own, X)

    parts = parts_of(name, family)
    for key, grid in grids.items():
        if key not in used and as_plain(grid) not in (None, AUTO):
            raise ConfigError(f"{name} has no family without brackets with the parameter {key!r}")
    return parts


def sampled_points(X: Array | RowBlocks) -> Points:
    """Return some random rows, whose distances give the scale of the data."""
    return Points(take_rows(X, rows_of_scale(len(X))))


def take_rows(X: Array | RowBlocks, rows: Index) -> Array:
    """Return some rows, wherever they lie."""
    return X[rows] if isinstance(X, np.ndarray) else X.gather(rows)


def make_lams(grid: GridSpec) -> tuple[float, ...]:
    """Return the values of lam in a grid, all of which must be positive."""
    return positive("lam", parse_named_grid("lam", grid))


def positive(name: str, values: tuple[float, ...]) -> tuple[float, ...]:
    """Return the values if all are positive."""
    if min(values) <= 0:
        raise ConfigError(f"{name} must be positive, not {min(values):g}")
    return values


def parse_named_grid(name: str, grid: Any) -> tuple[float, ...]:
    """Return the values of a grid; errors name the parameter."""
    try:
        return parse_grid(as_plain(grid))
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def as_plain(grid: Any) -> Any:
    """Convert numpy arrays and numbers, also inside a sequence, to Python's own types."""
    if isinstance(grid, np.ndarray | np.generic):
        return grid.tolist()
    if isinstance(grid, (list, tuple, range)):
        return [as_plain(value) for value in grid]
    return grid


# --- criteria, learners and their parameters --------------------------------------------------------


def criterion_of(label: str) -> tuple[Criterion, int | None]:
    """Return the criterion that a label names and its number of folds.

    ``FLKL`` minimises k-fold cross-validation; ``LOO`` is another name of ELOO.
    """
    if flkl := FLKL.fullmatch(label):
        return find_criterion(f"{flkl[1] or FLKL_FOLDS}-CV")
    return find_criterion("ELOO" if label == "LOO" else label)


def make_method(
    label: str, loss: str | None, params: Mapping[str, Any], classification: bool
) -> Method:
    """Return the criterion that a label names, with its parameters; refuse parameters it does not have."""
    criterion, folds = criterion_of(label)
    values = criterion.defaults
    for name, value in (dict(params) | ({"loss": loss} if loss else {})).items():
        parameter = criterion.parameter(name)
        if parameter is None:
            known = [p.name for p in criterion.parameters]
            hint = nearest(name, known) if known else "; it has no parameters"
            raise ConfigError(f"{label} has no parameter {name!r}{hint}")
        values[name] = parameter.parse(value)
    for name, of_classes in (("loss", CLASSIFICATION_LOSSES), ("form", ("error", "smoothed"))):
        if not classification and values.get(name) in of_classes:
            raise ConfigError(
                f"{name} {values[name]!r} is for classification; this is a regression"
            )
    return Method(label, criterion.name, folds, tuple(sorted(values.items())))


def with_scorer(
    method: Method, scoring: Any, labels: tuple[Any, ...], given: Mapping[str, Any]
) -> Method:
    """Return a cross-validation that a scorer of scikit-learn scores, as the mean over folds."""
    from kselect.numerics.scorers import find_scorer

    if method.criterion != SCORED:
        raise ConfigError(
            f"scoring: a scorer takes the held-out predictions of folds: use 5-CV, not {method.label}"
        )
    if given.get("average") == "points":
        raise ConfigError("scoring: a scorer is averaged over folds: leave out average=points")
    if not (isinstance(scoring, str) or callable(scoring)):
        raise ConfigError(f"scoring: write a name or a function, not {quoted(scoring)}")
    scorer = find_scorer(scoring, labels)
    return replace(method.with_params(loss=scorer.name, average="folds"), scorer=scorer)


def split_parameters(
    learner: Learner, label: str, given: Mapping[str, Any]
) -> tuple[dict[str, Any], Choice]:
    """Split parameters into those for the criterion and the learner with its own.

    A name that both have is the criterion's. A name that neither has is left to the criterion, whose error
    suggests the nearest one.
    """
    criterion, _ = criterion_of(label)
    own = learner.defaults
    rest: dict[str, Any] = {}
    for name, value in given.items():
        parameter = learner.parameter(name)
        if parameter is None or criterion.parameter(name):
            rest[name] = value
        else:
            own[name] = parameter.parse(value)
    return rest, Choice(learner.name, tuple(sorted(own.items())))


# --- kernels whose parameters are learned -----------------------------------------------------------


def learned_by(kernel: str, label: str) -> ContinuousSearch | None:
    """Return the search that learns a kernel's parameters; None for a kernel that has a grid.

    ``FLKL`` learns them with the model (first level of inference). Every other criterion is minimised over
    them (second level of inference; flkl2014).
    """
    by_flkl = FLKL.fullmatch(label) is not None
    if is_learned(kernel):
        return SEARCHES["flkl" if by_flkl else "quasi-newton"]
    if by_flkl:
        raise ConfigError(f"{label} learns the parameters of a kernel: use it with the kernel ard")
    return None


def learned_request(
    request: Request, kernel: str, kind: ContinuousSearch, own: Mapping[str, Any]
) -> Request:
    """Replace the grid by a search over all values of a kernel's parameters, with parameters of its ``own``.

    A sum of kernels keeps its kernels and the ridges, from which its search starts.
    """
    parsed = {p.name: p.parse(own[p.name]) for p in kind.parameters if p.name in own}
    search = Choice(kind.name, tuple(sorted((kind.defaults | parsed).items())))
    what = f"the kernel {kernel} is learned"
    summed = is_sum(kernel)
    if summed:
        kernel = sum_name(request.kernels)
    method = replace(request.method, search=search, kernel=kernel)
    reasons = [kind.misfit(method)]
    if request.metric != "none":
        reasons.append(f"{what} with its own metric: leave the metric out")
    if request.time_limit is not None:
        reasons.append(f"{what} in one search: leave out the time limit")
    if request.learner.name != LEARNER:
        reasons.append(f"{what} with the learner {LEARNER}, not with {request.learner.name}")
    if request.method.scorer:
        reasons.append(f"{what} by the gradient of a loss, which a scorer lacks: leave scoring out")
    if request.ridge != "fixed":
        reasons.append(f"{what} with the same ridge in every fold: ridge must be fixed")
    if request.nystrom is not None:
        reasons.append(f"{what} on all rows: leave out nystrom")
    if request.lams != make_lams(default_lam(request.task)):
        reasons.append(f"{what} together with lam, over all its values: leave lam out")
    for why in filter(None, reasons):
        raise ConfigError(why)
    request = replace(request, method=method, ensemble=1, growing=frozenset())
    return request if summed else replace(request, kernels=(), lams=())


# --- folds ------------------------------------------------------------------------------------------


def make_folds(method: Method, n: int, seed: int, numbers: Index | None) -> Folds | None:
    """Return the folds of a criterion: those given as one fold number per row, or seeded random ones."""
    k = method.folds
    if k is None:
        if numbers is not None:
            raise ConfigError(f"{method.label} has no folds: leave them out")
        return None
    if numbers is None:
        return draw_folds(n, k, stream(seed, "folds"))
    if len(numbers) != n:
        raise ConfigError(f"{len(numbers)} fold numbers for {n} rows; write one per row")
    first = 1 if numbers.min() == 1 else 0
    wrong = numbers[(numbers < first) | (numbers >= first + k)]
    if len(wrong):
        raise ConfigError(
            f"{method.label} takes fold numbers 0 to {k - 1}, or 1 to {k}; {wrong[0]} is not one"
        )
    empty = np.setdiff1d(np.arange(first, first + k), numbers)
    if len(empty):
        raise ConfigError(f"{method.label} has {k} folds, but no row is in fold {empty[0]}")
    return Folds.from_numbers(numbers - first)
