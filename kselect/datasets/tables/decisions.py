"""What a reader decided about a table, as values that print as one line each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kselect.errors import brief, printable

NAMES_SHOWN = 6


@dataclass(frozen=True)
class Decision:
    """One decision; ``column`` is None where it is about the whole file, ``detail`` is this column's share."""

    column: str | None
    text: str
    detail: str = ""

    @property
    def name(self) -> str:
        """``Age (177 missing)``."""
        name = brief(self.column)
        return f"{name} ({printable(self.detail)})" if self.detail else name

    def __str__(self) -> str:
        text = printable(self.text)
        return text if self.column is None else f"column {self.name}: {text}"


def decision_lines(decisions: Iterable[Decision]) -> list[str]:
    """One line per decision; columns of which the same is said share a line."""
    alike: dict[tuple[bool, str], list[Decision]] = {}
    for decision in decisions:
        alike.setdefault((decision.column is None, decision.text), []).append(decision)
    return [shared_line(same) for same in alike.values()]


def shared_line(same: list[Decision]) -> str:
    """``columns a, b and 3 more: text``."""
    if same[0].column is None or len(same) == 1:
        return str(same[0])
    more = len(same) - NAMES_SHOWN
    names = [decision.name for decision in (same[:NAMES_SHOWN] if more > 1 else same)]
    last = f"{more} more" if more > 1 else names.pop()
    return f"columns {', '.join(names)} and {last}: {printable(same[0].text)}"
