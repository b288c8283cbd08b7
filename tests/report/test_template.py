"""The notation of numbers on a page of an experiment."""

from __future__ import annotations

import pytest

from kselect.report.template import environment, typeset

TIMES = "\N{NO-BREAK SPACE}\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}10"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("eta between 2^-2 and 2^15", "eta between 2⁻² and 2¹⁵"),
        ("7.8e+09 and 2e-06", f"7.8{TIMES}⁹ and 2{TIMES}⁻⁶"),
        ("5.7e+02 and 1e+05", f"570 and 1{TIMES}⁵"),
        ("n lam = 1", "n λ = 1"),
        ("lamp, x^2, sha 4f5e-06a", "lamp, x^2, sha 4f5e-06a"),
    ],
)
def test_text_is_set_for_readers(text: str, shown: str) -> None:
    """Commands, names, attributes and scripts stay as they are typed."""
    typed = f'<pre tabindex="0">{text}</pre><code>{text}</code><script>{text}</script>'
    before = f'<td title="{text}">{text}</td>{typed}<p>{text}</p>'
    after = f'<td title="{text}">{shown}</td>{typed}<p>{shown}</p>'
    assert typeset(before) == after


def test_all_sheets_are_upright() -> None:
    """A reader of a print need not turn it."""
    assert "landscape" not in str(environment().globals["style"])
