"""Colours in a light and in a dark page: a figure is drawn in the light ones, and its SVG knows the others.

A viewer that has no notion of a dark page shows the light ones; nothing in the drawing itself depends on it.
"""

from __future__ import annotations

import base64
import re

INK, SOFT, LINE, PAPER = "#1b1f24", "#59636e", "#d5dae0", "#ffffff"
# Okabe and Ito, whose hues can be told apart by all; in the dark the same hues, lighter.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
GOOD, FAIR, BAD = "#116329", "#b07a00", "#c2182f"
# What places things, but not the scales of letters, whose small numbers need all their digits.
PLACES, DIGITS = re.compile(rb' (?:d|x|y)="[^"]+"'), re.compile(rb"(\.\d\d)\d+")
DARK = {
    INK: "#e3e7ec",
    SOFT: "#9aa4af",
    LINE: "#363d46",
    PAPER: "#14171b",
    **dict(
        zip(
            SERIES,
            ("#4fb3ea", "#f58b45", "#2fc49b", "#e39cc4", "#a3d8f7", "#f2bd4a"),
            strict=True,
        )
    ),
    GOOD: "#6fdd8b",
    FAIR: "#e3b341",
    BAD: "#ff8f86",
}


def knows_the_dark(svg: bytes) -> bytes:
    """An SVG with a style sheet for dark pages behind its first tag; the drawing is as it was."""
    start = svg.index(b"<svg ")
    end = svg.index(b">", start) + 1
    return svg[:end] + b"\n" + style_sheet().encode("ascii") + svg[end:]


def shorter(svg: bytes) -> bytes:
    """An SVG with hundredths of a point where matplotlib writes millionths, which is half of its bytes."""
    return PLACES.sub(lambda found: DIGITS.sub(rb"\1", found[0]), svg)


def style_sheet() -> str:
    """One rule for each colour as a fill and as a stroke; it beats what the drawing itself says."""
    rules = "".join(
        f'[style*="{kind}: {light}"]{{{kind}:{dark}!important}}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    )
    return f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"


def data_uri(svg: bytes) -> str:
    """A picture inside the page."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")
