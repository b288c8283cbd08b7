"""The registry of criteria and probes, and the steps that several criteria share.

A criterion is a function of a path. It returns one score for each ridge; the lowest score is the best. A probe is
a function of the same form. It is not minimised: it is evaluated at the grid point that a criterion chose.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_type_hints

from kselect.errors import ConfigError, nearest
from kselect.learners import Learner
from kselect.learners.base import WORDS, Path
from kselect.numerics.folds import Folds
from kselect.numerics.linalg import Array, Mask
from kselect.numerics.losses import LOSSES, Loss
from kselect.numerics.splits import Splits, tested_rows, weights_of
from kselect.numerics.weights import mean_loss
from kselect.registry import Part, Registry, read_parameters

Aggregation = Literal["points", "folds"]
Remarks = tuple[tuple[str, str], ...]
Guarded = Mapping[str, Mask]
GuardFunction = Callable[..., Guarded]


@dataclass(frozen=True)
class Criterion(Part):
    """A registered criterion; a ``k`` in its name stands for the number of folds.

    ``need`` is the protocol that its paths must offer, read from the annotation of the first argument. ``kernels``
    names the kernels that it supports; None means all. ``guards`` returns, under the name of each guard, the
    ridges that the guard excludes; the search reports these names as the reasons of infinite scores. ``remarks``
    says for a kernel what the criterion amounts to there; every table that searches this kernel shows the remark.
    ``weighted`` says whether the criterion is defined for rows of different weights, ``refits`` whether it takes
    splits that do not partition the rows.
    """

    need: type[Any]
    takes_folds: bool
    kernels: frozenset[str] | None = None
    reconstructed: str = ""
    guards: GuardFunction | None = None
    remarks: Remarks = ()
    weighted: bool = False
    refits: bool = False

    def label(self, folds: int | None) -> str:
        """Return the label for a number of folds: ``k-KS`` with 5 folds is ``5-KS``."""
        return "-".join(str(folds) if part == "k" else part for part in self.name.split("-"))

    def misfits(
        self,
        name: str,
        learner: Learner,
        kernels: Iterable[str],
        columns: bool = False,
        weights: bool = False,
    ) -> Iterator[str]:
        """Yield the reasons why the criterion does not work with a learner, one of the kernels or weights."""
        if weights and not self.weighted:
            takers = [c.name for c in CRITERIA.values() if c.weighted]
            yield f"{name} has no form for weights of rows or classes; {', '.join(takers)} have one"
        if weights and not learner.weighted:
            yield f"the learner {learner.name} takes no weights of rows or classes"
        if learner.lacks(self.need, columns=columns):
            where = " on Nystrom columns" if columns else ""
            yield f"{name} needs {WORDS[self.need]}, which {learner.name} does not have{where}"
        others = [k for k in dict.fromkeys(kernels) if self.kernels and k not in self.kernels]
        if self.kernels and others:
            valid = ", ".join(sorted(self.kernels))
            yield f"{name} works with the kernel {valid} only, not with {', '.join(others)}"


CRITERIA: Registry[Criterion] = Registry(
    "criterion", "kselect.criteria", "kselect list criteria", entries="kselect.criteria"
)
PROBES: Registry[Criterion] = Registry("probe", "kselect.criteria")
F = TypeVar("F", bound=Callable[..., Any])
# Other people's names of k-fold cross-validation: 5-fold, 10 folds, CV5.
CROSS_VALIDATION = re.compile(
    r"\d+|(?:\d+|k)?[ -]?(?:folds?(?:[ -]?CV)?|CV)|CV[ -]?\d+", re.IGNORECASE
)
LEAVE_ONE_OUT = re.compile(r"LOO[ -]?CV|leave[ -]?one[ -]?out(?:[ -]?CV)?", re.IGNORECASE)


def criterion(
    name: str,
    *,
    paper: str,
    kernels: frozenset[str] | None = None,
    reconstructed: str = "",
    guards: GuardFunction | None = None,
    remarks: Remarks = (),
    weighted: bool = False,
    refits: bool = False,
    registry: Registry[Criterion] = CRITERIA,
) -> Callable[[F], F]:
    """Register ``function(path[, folds], *, parameter=default...)`` under the name that tables use.

    The annotation of the first argument says what the criterion needs of a learner. ``reconstructed`` says which
    part of the criterion is our reconstruction because the defining paper could not be obtained; every table
    shows it. ``weighted`` says that it averages losses with the weights of the rows, ``refits``
    that it takes splits that do not partition the rows.
    """

    def register(function: F) -> F:
        takes_folds = "folds" in inspect.signature(function).parameters
        own = (name, function, paper, read_parameters(function), need_of(name, function))
        found = Criterion(
            *own, takes_folds, kernels, reconstructed, guards, remarks, weighted, refits
        )
        registry.add(name, found)
        return function

    return register


def need_of(name: str, function: Callable[..., Any]) -> type[Any]:
    """Return the protocol in the annotation of a criterion's first argument."""
    first = next(iter(inspect.signature(function).parameters), "")
    need = get_type_hints(function).get(first)
    if need not in WORDS:
        valid = ", ".join(protocol.__name__ for protocol in WORDS)
        raise ConfigError(
            f"{name}: its first argument needs an annotation that says what it asks of a learner, "
            f"as in path: LeaveOneOut; valid: {valid}"
        )
    return need  # type: ignore[no-any-return]


def probe(name: str, *, paper: str) -> Callable[[F], F]:
    """Register a function of the same form as a probe."""
    return criterion(name, paper=paper, registry=PROBES)


def find_criterion(label: str) -> tuple[Criterion, int | None]:
    """Return the criterion of a label and its folds: k-KS and 5 for ``5-KS``.

    An unknown label is a ConfigError that names the nearest valid one.
    """
    for candidate in CRITERIA.values():
        # The name k-KS matches the label 5-KS.
        parts = (r"(\d+)" if part == "k" else re.escape(part) for part in candidate.name.split("-"))
        if match := re.fullmatch("-".join(parts), label):
            folds = int(match[1]) if candidate.takes_folds else None
            if folds is not None and folds < 2:
                raise ConfigError(f"{label!r}: cross-validation needs 2 folds or more")
            return candidate, folds
    number = re.search(r"\d+", label)  # the folds that the user seems to mean
    folds = int(number[0]) if number and int(number[0]) > 1 else 5
    meant = f"{folds}-CV" if CROSS_VALIDATION.fullmatch(label) else ""
    if meant := "ELOO" if LEAVE_ONE_OUT.fullmatch(label) else meant:
        hint = f"unknown criterion {label!r}; did you mean {meant!r}?"
        raise ConfigError(f"{hint} (kselect list criteria)")
    known = [c.label(folds) for c in CRITERIA.values()]
    raise ConfigError(f"unknown criterion {label!r}{nearest(label, known)} (kselect list criteria)")


def empirical_risk(path: Path, loss: Loss) -> Array:
    """Return ``R_emp = (1/n) sum_i V(y_i, f(x_i))`` on the training rows for every ridge."""
    return mean_loss(LOSSES[loss](path.problem.y, path.decision()), path.problem.weights)


def fold_error(
    path: Path, predicted: Array, folds: Folds | Splits, loss: Loss, average: Aggregation
) -> Array:
    """Return the mean loss of held-out predictions (n_ridges, tested rows) for every ridge.

    ``points`` averages over all rows (icml2014, ijcai2018), ``folds`` over the folds' means (ecml2014, tcyb2018).
    """
    values = LOSSES[loss](path.problem.y[tested_rows(folds)], predicted)
    weights = weights_of(folds, path.problem.weights)
    return folds.average(values, weights) if average == "folds" else mean_loss(values, weights)
