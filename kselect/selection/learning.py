"""Kernels whose parameters are learned, one per feature, for somebody's own rows: a search in place of a grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kselect.core.method import Choice
from kselect.errors import ConfigError
from kselect.kernels import KERNELS
from kselect.search.kinds import LEARNER, SEARCHES
from kselect.selection.engine import Request
from kselect.selection.request import FLKL, LAM, make_lams


def as_learned(request: Request, kernel: str, label: str) -> Request:
    """The request with a search in the place of the grid, where the kernel is one that is learned.

    ``FLKL`` is searched at the first level of inference, every other criterion at the second (flkl2014).
    """
    by_flkl = FLKL.fullmatch(label) is not None
    # scikit-learn's names of kernels, as rbf, are none of ours.
    if kernel not in KERNELS or not KERNELS[kernel].learned:
        if by_flkl:
            raise ConfigError(f"{label} learns a kernel's parameters: it goes with the kernel ard")
        return request
    kind = SEARCHES["flkl" if by_flkl else "quasi-newton"]
    search = Choice(kind.name, tuple(sorted(kind.defaults.items())))
    method = replace(request.method, label=label, search=search, kernel=kernel)
    for words in misfits(replace(request, method=method)):
        raise ConfigError(words)
    return replace(request, method=method, kernels=(), lams=())


def misfits(request: Request) -> Iterator[str]:
    """What a search for a learned kernel cannot take."""
    method = request.method
    assert method.search is not None
    if words := SEARCHES[method.search.name].misfit(method):
        yield words
    what = f"the kernel {method.kernel} is learned"
    if request.learner.name != LEARNER:
        yield f"{what} for the learner {LEARNER}, not for {request.learner.name}"
    if request.ridge != "fixed":
        yield f"{what} with the ridge kept in every fold: ridge must be fixed"
    if request.nystrom is not None:
        yield f"{what} on all rows: it works without Nystrom columns"
    if request.lams != make_lams(LAM):
        yield f"{what} together with lam, over all its values: leave lam out"
