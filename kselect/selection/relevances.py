"""The relevances of a learned kernel as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kselect.kernels.ard import Ard

if TYPE_CHECKING:
    from kselect.selection.engine import Selection

MOST = 40


def draw_bars(axes: Any, found: Selection) -> None:
    """One bar per feature, the most relevant on top."""
    kernel = found.kernel
    assert isinstance(kernel, Ard)
    shares = 100.0 * kernel.relevances()
    order = sorted(range(len(shares)), key=lambda j: -shares[j])[:MOST]
    axes.barh(range(len(order)), shares[order], color="#0072B2", height=0.7)
    axes.set_yticks(range(len(order)), [f"feature {j + 1}" for j in order])
    axes.invert_yaxis()
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("share of all widths (%)")
    more = f", the first {MOST} of {len(shares)}" if len(shares) > MOST else ""
    axes.set_title(f"{found.request.method.label}, {found.kernel.name} kernel{more}", fontsize=10)
