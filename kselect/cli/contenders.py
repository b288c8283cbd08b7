"""The contenders of ``select --compare --contenders`` as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from kselect.selection.compare import ComparedCriterion
from kselect.selection.contenders import BOOSTING, CLEAR, Contender, FailedContender


def contender_lines(
    found: Sequence[Contender | FailedContender], ours: ComparedCriterion, weighted: bool = False
) -> Iterator[str]:
    """Yield a line per contender, set next to our first criterion, and a hint if boosting is clearly better."""
    label = f"kselect by {ours.method.label}"
    measure = f"{'weighted ' if weighted else ''}{ours.quality.measure}"
    table: list[tuple[str, ...]]
    table = [("contender", measure, f"{label}, minus the contender", f"{label} is", "seconds")]
    for one in found:
        if isinstance(one, Contender):
            spread = f"{one.quality.value:.4f} +- {one.quality.spread:.4f}"
            gain = f"{one.difference:+.4f} (standard error {one.error:.4f})"
            table.append((one.name, spread, gain, one.verdict, f"{one.seconds:.2f}"))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        *words, seconds = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield "  ".join([*words, seconds.strip().rjust(widths[-1])])
    for one in found:
        if isinstance(one, FailedContender):
            yield f"warning: {one.name} failed: {one.reason}"
        elif one.warnings:
            yield f"warning: {one.name}: {one.warnings}"
        elif one.name == BOOSTING and one.verdict == "worse":
            yield (
                f"{BOOSTING} is clearly better on these rows ({measure} {one.quality.value:.4g} against "
                f"{one.quality.value + one.difference:.4g}): use it if only the predictions count"
            )
    yield (
        f"a difference counts beyond {CLEAR:g} standard errors over the rows; the outer folds are those of the "
        "criteria; seconds: one fit to all rows, with its own tuning"
    )


def contender_objects(found: Sequence[Contender | FailedContender]) -> list[dict[str, Any]]:
    """Return the contenders as objects of ``--json``."""
    return [
        {
            "name": one.name,
            "outer": asdict(one.quality),
            "seconds": one.seconds,
            "difference": one.difference,
            "standard_error": one.error,
            "kselect_is": one.verdict,
            "warnings": one.warnings,
        }
        if isinstance(one, Contender)
        else {"name": one.name, "failed": one.reason}
        for one in found
    ]
