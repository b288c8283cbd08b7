"""The claims of a paper about its experiments, and the facts in its data file.

The files are ``data/published/<paper>.yaml``; a config may hold claims of its own in the same form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from kselect.core.method import Setting
from kselect.datasets.registry import Task

ErrorKind = Literal["lower", "higher", "not higher", "same"]
RankKind = Literal["ranks before", "ranks same", "ranks not after", "ranks after"]
TimeKind = Literal["cheaper", "same time"]
Kind = (
    ErrorKind
    | RankKind
    | TimeKind
    | Literal["good setting", "robust", "good range", "exact", "near"]
    | Literal["friedman rejected", "friedman not rejected", "best rank"]
    | Literal["varies less", "suppresses", "avoids", "unimodal"]
)


class Keys(NamedTuple):
    """The keys that a claim of some kind must have, and those that it may have besides."""

    needed: tuple[str, ...]
    allowed: tuple[str, ...] = ()


PAIR = ("left", "right")
WHERE = ("task", "datasets", "without")
ERRORS = Keys(PAIR, ("same-folds", "printed", "setting", *WHERE))
SWEEP = Keys(("method", "parameter", "range", "figure"), WHERE)
TIMES = Keys(PAIR, ("same-folds", "times", "table", *WHERE))
FRIEDMAN = Keys(("pool",), ("figure", "table", *WHERE))
RANKS = Keys((*PAIR, "pool"), ("figure", "table", *WHERE))
SPREAD = Keys((*PAIR, "datasets", "figure"), ("features",))
# The keys of each kind, besides ``COMMON``.
KEYS: Mapping[Kind, Keys] = {
    "lower": ERRORS,
    "higher": ERRORS,
    "not higher": ERRORS,
    "same": ERRORS,
    "good setting": Keys(("setting",), WHERE),
    "robust": SWEEP,
    "good range": SWEEP,
    "exact": Keys(("series", "order", "figure"), WHERE),
    # Of a series at an order, or of an approximation (left) and the exact criterion (right).
    "near": Keys((), ("series", "order", *PAIR, "same-folds", "figure", *WHERE)),
    "cheaper": TIMES,
    "same time": TIMES,
    "friedman rejected": FRIEDMAN,
    "friedman not rejected": FRIEDMAN,
    "best rank": Keys(("left", "pool"), ("figure", "table", *WHERE)),
    "ranks before": RANKS,
    "ranks same": RANKS,
    "ranks not after": RANKS,
    "ranks after": RANKS,
    "varies less": SPREAD,
    "suppresses": SPREAD,
    "avoids": Keys(("method", "against", "what"), WHERE),
    "unimodal": Keys(("figure", "datasets")),
}
COMMON = Keys(("id", "kind", "text"), ("of", "paper-counts", "untested"))


@dataclass(frozen=True)
class Large:
    """The grid points of one kernel family whose parameter is at least ``least``: ``{polynomial: {degree: 4}}``."""

    kernel: str
    parameter: str
    least: float


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper about its experiments, in a form that a rule can judge.

    Parameters
    ----------
    id, of : its number, as in ``6f-1``; several claims that come from one sentence share ``of``.
    kind : the rule by which it is judged.
    text, paper_counts : what the paper says, and what it reports for it, in our words.
    untested : why it cannot be judged here; empty if it can.
    task, datasets, without : the data sets that it names; by default, all data sets of the config. The claims
        about learned widths write ``all`` for every data set; ``everywhere`` is then true.
    left, right : the methods that it compares, as labels or as patterns such as ``k-CV``.
    same_folds : whether only methods with the same number of folds are compared.
    printed : whether ``left`` is a column of the paper's own table, which nobody runs here.
    method, against : the methods of a claim about a parameter or a choice, and those that it sets against them.
    parameter, range : a parameter of a criterion and the range of its values, ends included.
    setting : the setting that a claim calls good, or the only one in which it compares errors.
    series, order : an approximation in powers, and the order from which it is called exact.
    times : how many times as fast ``left`` is as ``right``.
    pool : the methods that are ranked together.
    what : the grid points that a criterion avoids, if the claim is true.
    figure : the key of the config's figure that has the numbers.
    table : the paper's table.
    features : ``informative`` if only the widths of informative features count.
    """

    id: str
    kind: Kind
    text: str
    of: str = ""
    paper_counts: str = ""
    untested: str = ""
    task: Task | None = None
    datasets: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    everywhere: bool = False
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    same_folds: bool = False
    printed: bool = False
    method: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    parameter: str = ""
    range: tuple[float, float] = (0.0, 0.0)
    setting: Setting | None = None
    series: str = ""
    order: int = 0
    times: float = 1.0
    pool: tuple[str, ...] = ()
    what: Large | None = None
    figure: str = ""
    table: str = ""
    features: Literal["", "informative"] = ""


@dataclass(frozen=True)
class Paper:
    """A paper: what identifies it, how its tables are read, and its claims.

    Parameters
    ----------
    splits, splits_of : the number of splits in its means, and exceptions by data set.
    aliases : its name of a column -> ours.
    printed_only : columns that it prints and that no config runs.
    plain : criteria without free parameters; their columns show best how close our protocol is to the paper's.
    informative : data set -> the features that are known to be informative, counted from 1.
    remarks : notes on its printed numbers, shown next to them.
    notes : method or pattern -> a note on it, shown below the table of test errors.
    main : the ids of its main claims, which a summary spells out first.
    unmatched : the rows of its table that have no counterpart in the config, for a message.
    """

    name: str
    title: str
    authors: tuple[str, ...] = ()
    venue: str = ""
    year: int | None = None
    doi: str = ""
    url: str = ""
    splits: int = 1
    splits_of: Mapping[str, int] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    printed_only: tuple[str, ...] = ()
    plain: tuple[str, ...] = ("k-CV", "ELOO")
    informative: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    main: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    unmatched: tuple[str, ...] = ()

    def splits_on(self, dataset: str) -> int:
        """Return the number of splits in its mean on a data set."""
        return self.splits_of.get(dataset, self.splits)

    def column(self, label: str) -> str:
        """Return our name of one of its columns."""
        return self.aliases.get(label, label)
