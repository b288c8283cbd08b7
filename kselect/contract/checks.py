"""All checks by the kind of a part, and their findings on the parts of a plug-in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kselect.contract import criteria, parts
from kselect.contract.problem import undocumented
from kselect.plugins import in_words, line_in, registered_by
from kselect.registry import Plugin, file_of, line_of

Check = Callable[[Any], str]


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of a part; ``text`` is empty if it holds.

    A ``needed`` check must hold before the part computes numbers. The others ask for what readers need.
    """

    place: str
    part: str
    check: str
    text: str
    needed: bool

    @property
    def line(self) -> str:
        """The finding in one line, as in ``mine.py:12: criterion LOO-median: ...``."""
        return f"{self.place}: {self.part}: {self.text}"


def findings(kind: str, name: str, item: Any) -> Iterator[CheckResult]:
    """Yield the result of every check of a part; checks after a broken needed one would repeat it."""
    for check, (function, needed) in CHECKS[kind].items():
        place = f"{file_of(item)}:{line_of(item)}"
        try:
            text = function(item)
        except Exception as error:
            if line := line_in(error, file_of(item)):
                place = f"{file_of(item)}:{line}"
            text = in_words(error)
        yield CheckResult(place, f"{kind} {name}", check, text, needed)
        if text and needed:
            return


def broken_parts(plugin: Plugin) -> Iterator[str]:
    """Yield one line for each part of a plug-in that cannot compute numbers."""
    for part in registered_by(plugin):
        yield from (f.line for f in findings(*part) if f.text and f.needed)


OF_CRITERIA: Mapping[str, tuple[Check, bool]] = {
    "one finite score per ridge": (criteria.wrong_scores, True),
    "the same scores again": (criteria.unrepeatable, True),
    "nothing modified": (criteria.modified, True),
    "asks the learner": (criteria.learner_ignored, True),
    "order of rows": (criteria.depends_on_order, True),
    "every parameter matters": (criteria.ignored_option, False),
    "folds matter": (criteria.ignored_folds, False),
    "oracle": (criteria.criterion_oracle, True),
    "docstring and paper": (undocumented, False),
}
CHECKS: Mapping[str, Mapping[str, tuple[Check, bool]]] = {
    "criterion": OF_CRITERIA,
    # A probe is not minimised; it may show a property of the kernel matrix.
    "probe": {k: v for k, v in OF_CRITERIA.items() if v[0] is not criteria.learner_ignored},
    "kernel": {
        "grids and refusals": (parts.wrong_grids, True),
        "matrix": (parts.wrong_matrix, True),
        "the same matrix again": (parts.unrepeatable_matrix, True),
        "oracle": (parts.kernel_oracle, True),
        "docstring": (parts.undocumented_kernel, False),
    },
    "learner": {
        "path": (parts.wrong_path, True),
        "held-out predictions": (parts.wrong_held_out, True),
        "weights": (parts.wrong_weights, True),
        "oracle": (parts.learner_oracle, True),
        "docstring and paper": (undocumented, False),
    },
    "search": {
        "solution": (parts.wrong_solution, True),
        "docstring and paper": (undocumented, False),
    },
    "kind of figure": {
        "functions": (parts.wrong_figure, True),
        "docstring": (parts.undocumented_figure, False),
    },
}
