"""The features' relevances that a learned kernel tells, sorted, each with a bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kselect.core.grid_point import BestPoint
from kselect.grids import show_number
from kselect.kernels import Kernel
from kselect.kernels.ard import Ard

WIDTH = 40
MOST = 60


def relevance_lines(kernel: Ard, names: Sequence[str] = ()) -> list[str]:
    """One line per feature, the most relevant first: its share of all widths, its width, a bar."""
    shares, theta = kernel.relevances(), kernel.vector()
    order = sorted(range(len(shares)), key=lambda j: -shares[j])
    label = [names[j] if names else f"feature {j + 1}" for j in order]
    wide = max(map(len, (*label, "relevance of")))
    largest = max(float(shares.max()), 1e-300)
    lines = [f"{'relevance of':<{wide}}   share       theta"]
    for name, j in list(zip(label, order, strict=True))[:MOST]:
        bar = "#" * round(WIDTH * float(shares[j]) / largest)
        lines.append(f"{name:<{wide}}  {100 * shares[j]:5.1f} %  {theta[j]:10.4g}  {bar}".rstrip())
    if len(order) > MOST:
        rest = 100 * float(sum(shares[j] for j in order[MOST:]))
        lines.append(
            f"... and {len(order) - MOST} more, {rest:.1f} % together (--json has them all)"
        )
    return lines


def relevance_facts(kernel: Kernel, found: BestPoint) -> dict[str, Any]:
    """The same for a program: share and width by feature number, the most relevant first."""
    if not isinstance(kernel, Ard):
        return {}
    shares, theta = kernel.relevances().tolist(), kernel.vector().tolist()
    order = sorted(range(len(shares)), key=lambda j: -shares[j])
    every = [{"feature": j + 1, "share": shares[j], "theta": theta[j]} for j in order]
    return {"relevances": every, "state": found.state, **dict(found.point.tuned)}


def name_kernel(kernel: Kernel) -> str:
    """``tau = 4``; of a kernel with a width per feature how many widths are zero."""
    if isinstance(kernel, Ard):
        zeros = sum(value == 0.0 for value in kernel.theta)
        return f"{len(kernel.theta)} widths, {zeros} of them zero"
    return ", ".join(f"{k} = {show_number(v)}" for k, v in kernel.parameters.items())


def state_lines(found: BestPoint) -> list[str]:
    """How a search ended, where it did not converge."""
    if found.state in ("", "converged"):
        return []
    return [f"warning: the search ended without converging: {found.state}"]
