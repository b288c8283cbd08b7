"""Fonts for PDF files without the tables that a PDF does not use.

matplotlib embeds a subset of each font. To make the subset, fontTools reads the whole font, with its rules for
ligatures and kerning, and this takes longer than the rest of the file. A PDF needs no such rules: it states the
position of each glyph.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

UNUSED = ("GDEF", "GPOS", "GSUB", "MATH", "kern", "FFTM")


@cache
def plain_font(path: str, number: int) -> bytes:
    """Return a font file without its rules of layout, with one table of characters."""
    from fontTools.ttLib import TTFont

    stream = io.BytesIO()
    # No timestamp: the same figure is the same file at any time.
    with TTFont(path, fontNumber=number, lazy=True, recalcTimestamp=False) as font:
        for name in UNUSED:
            if name in font:
                del font[name]
        if best := font["cmap"].getBestCmap():  # a font of symbols has none
            font["cmap"].tables = [t for t in font["cmap"].tables if t.cmap == best][:1]
        font.save(stream, reorderTables=False)
    return stream.getvalue()


@contextmanager
def plain_fonts() -> Iterator[None]:
    """Let fontTools load plain fonts for its subsets; an unreadable one is loaded as it is."""
    from fontTools import subset
    from fontTools.ttLib import TTLibError

    load: Any = subset.load_font

    def load_plain(file: Any, options: Any, **more: Any) -> Any:
        try:
            content = plain_font(os.fspath(file), options.font_number)
        except (TTLibError, TypeError, KeyError):
            return load(file, options, **more)
        return load(io.BytesIO(content), options, **more)

    subset.load_font = load_plain
    try:
        yield
    finally:
        subset.load_font = load
