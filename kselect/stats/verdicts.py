"""What may be said of a claim, and from how many of the planned numbers on."""

from __future__ import annotations

from typing import Literal

Verdict = Literal[
    "supported", "mixed", "not supported", "undecided", "too few numbers", "no numbers"
]
ENOUGH = 0.5


def too_few(there: int, planned: int) -> bool:
    """Whether a verdict is withheld: less than half of the planned numbers are there."""
    return there < ENOUGH * planned
