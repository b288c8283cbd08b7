"""The relevances of a learned kernel as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kselect.errors import brief
from kselect.kernels.ard import Ard

if TYPE_CHECKING:
    from kselect.selection.engine import Selection

MOST = 40


def draw_bars(axes: Any, found: Selection, data: str = "", names: Sequence[str] = ()) -> None:
    """One bar per feature, the most relevant on top, by its name where it has one."""
    kernel = found.kernel
    assert isinstance(kernel, Ard)
    shares = 100.0 * kernel.relevances()
    order = sorted(range(len(shares)), key=lambda j: -shares[j])[:MOST]
    axes.barh(range(len(order)), shares[order], color="#0072B2", height=0.7)
    labels = [brief(names[j]) if names else f"feature {j + 1}" for j in order]
    # A name is text, not mathematics: no dollar sign may start a formula.
    axes.set_yticks(range(len(order)), labels, parse_math=False)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("share of all widths (%)")
    more = f", the first {MOST} of {len(shares)}" if len(shares) > MOST else ""
    told = f"{found.request.method.label}, {found.kernel.name} kernel{more}"
    axes.set_title(f"{data}\n{told}" if data else told, fontsize=10, parse_math=False)
