"""The style of figures: colours for dark pages, even rows of panels, files without a date."""

from __future__ import annotations

import re
import zlib
from io import BytesIO
from pathlib import Path

import pytest
from fontTools import subset
from fontTools.ttLib import TTFont
from matplotlib import get_data_path
from matplotlib.figure import Figure
from synthetic import full_experiment, full_records, study

from kselect.core.method import Setting
from kselect.report import style
from kselect.report.elements import Details, Passage, Picture
from kselect.report.sections import FIGURES, SECTIONS
from kselect.report.style import (
    DARK,
    LINE,
    METADATA,
    NARROW,
    PAPER,
    WIDE,
    label_canvas,
    lay_out,
    render,
)
from kselect.stats.sources import Published

THEIRS = tuple(
    Published("1", "heart", label, Setting(value=0.001), mean, 2.0, "sd")
    for label, mean in (("5-CV", 17.0), ("5-KS", 2.0), ("EP", 22.0))
)


def pictures() -> list[Picture]:
    """Return every picture of a small experiment."""
    spec = full_experiment(datasets=("heart", "sonar"), splits=(0, 1))
    found = study(spec, full_records(spec), published=THEIRS)
    shown = [*(show(found) for show in SECTIONS.values())]
    shown += [FIGURES[figure.kind].show(figure, found) for figure in spec.figures]
    passages = [item for one in shown for item in one if isinstance(item, Passage)]
    elements = [e for passage in passages for e in passage.elements]
    opened = [i for e in elements for i in (e.elements if isinstance(e, Details) else (e,))]
    return [e for e in opened if isinstance(e, Picture)]


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_colour_has_a_dark_counterpart() -> None:
    found = pictures()
    assert len(found) == 5
    for picture in found:
        for svg, inches in ((picture.wide, WIDE), (picture.narrow, NARROW)):
            sheet, _, drawing = svg.decode().partition("</style>")
            drawn = set(re.findall(r"(fill|stroke): (#[0-9a-f]{6})", drawing))
            assert {colour for _, colour in drawn} <= set(DARK), picture.alt
            for kind, colour in drawn:
                assert f'[style*="{kind}: {colour}"]{{{kind}:{DARK[colour]}!important}}' in sheet
            assert "@media (prefers-color-scheme:dark)" in sheet
            assert f'width="{72 * inches:g}pt"' in sheet
            assert "#ffffff" not in drawing.split('id="axes_1"')[0], (
                "the background stays white on dark pages"
            )


def test_colours_contrast_with_light_and_dark_backgrounds() -> None:
    for light, dark in DARK.items():
        if light not in (PAPER, LINE):
            assert contrast(light, PAPER) > 2
            assert contrast(dark, DARK[PAPER]) > 4.5


def test_coordinates_are_shortened_and_scales_are_not() -> None:
    def draw() -> Figure:
        canvas = Figure(figsize=(1, 1))
        canvas.add_axes((0.1, 0.1, 0.8, 0.8)).plot([1 / 3, 2 / 3], [1 / 7, 5 / 7])
        return canvas

    svg = render(draw, ("svg",))["svg"]
    assert re.search(rb'transform="[^"]*scale\(0\.\d{3,}', svg)
    assert re.search(rb' d="[^"]*\.\d\d[ "]', svg)
    assert not re.search(rb' (d|x|y)="[^"]*\.\d{3}', svg)


def test_rows_of_panels_are_as_even_as_possible() -> None:
    def across(width: float, count: int, **more: int) -> int:
        axes = lay_out(count, width, 1.7, 1.0, **more)[0].axes
        return len({round(ax.get_position().x0, 6) for ax in axes})

    assert [across(9.6, n) for n in (0, 1, 5, 6, 9, 10)] == [1, 1, 5, 3, 5, 5]
    assert (across(1.0, 4), across(9.6, 9, most=4), across(9.6, 6, abreast=2)) == (1, 3, 2)


def labelled(width: float = 4.0) -> Figure:
    """Return a figure with all that takes room: titles, labels, powers, and a legend."""
    canvas, axes = lay_out(2, width, 1.0, 1.5)
    for ax in axes:
        ax.plot([1.0, 10.0], [3.0, 4e-3])
        ax.set_xscale("log")
        ax.set_title("office $\\lambda$")
    axes[0].set_xlabel("across")
    label_canvas(canvas, "all", "up", [{}], ["one"])
    return canvas


def test_a_figure_is_saved_without_a_date() -> None:
    """The fonts of a PDF have the outlines of its letters, and neither rules of layout nor a new date."""
    files = render(labelled, METADATA)
    assert files.keys() == {"pdf", "png", "svg"}
    assert b"CreationDate" not in files["pdf"]
    assert b"<dc:date>" not in files["svg"]
    streams = re.findall(rb"/FontFile2 (\d+) 0 R", files["pdf"])
    assert streams
    for number in streams:
        head = re.search(rb"\n%s 0 obj.*?stream\r?\n" % number, files["pdf"], re.S)
        assert head
        content = zlib.decompressobj().decompress(files["pdf"][head.end() :])
        with TTFont(BytesIO(content)) as font:
            path = Path(get_data_path(), "fonts/ttf", f"{font['name'].getDebugName(6)}.ttf")
            with TTFont(path) as whole:
                assert {"glyf", "hmtx", "loca"} <= set(font.keys())
                assert not {"GSUB", "GPOS"} & set(font.keys())
                assert font["head"].modified == whole["head"].modified
                for glyph in font.getGlyphOrder()[1:]:
                    assert font["glyf"][glyph] == whole["glyf"][glyph]
    assert subset.load_font.__module__ == subset.__name__


def test_a_figure_is_arranged_as_matplotlib_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaving out the room for empty labels and the first drawing changes no place."""
    quick = render(labelled, ("svg",))
    monkeypatch.setattr(style, "arrange", Figure.draw_without_rendering)
    monkeypatch.delitem(style.STYLE, "axes.titley")
    assert render(labelled, ("svg",)) == quick
