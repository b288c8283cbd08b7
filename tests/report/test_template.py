"""The style of all pages."""

from __future__ import annotations

from kselect.report.template import environment


def test_all_sheets_are_upright() -> None:
    """A reader of a print need not turn it."""
    assert "landscape" not in str(environment().globals["style"])
