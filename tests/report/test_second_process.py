"""Figures are drawn by a second process while this one goes on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from kselect.report.elements import LATER, Passage
from kselect.report.page import Shown, in_order
from kselect.report.second_process import SecondProcess
from kselect.report.style import render_narrow, render_wide
from kselect.report.unchanged import DRAWN, Drawing, figures_kept_in


def test_both_processes_draw_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first figure is drawn here, the second one elsewhere; both are kept."""

    def line(numbers: list[float]) -> Any:
        def draw(width: float) -> Any:
            from matplotlib.figure import Figure

            canvas = Figure(figsize=(width, 1.0), layout="constrained")
            canvas.subplots().plot(numbers)
            return canvas

        return draw

    both = (render_wide, render_narrow)
    monkeypatch.setattr(SecondProcess, "LEAST", 2)
    monkeypatch.setattr("loky.cpu_count", lambda: 2)
    with figures_kept_in(tmp_path):
        here, there = (DRAWN.get().begin(line([0.0, end]), both) for end in (1.0, 2.0))
        assert not here.ahead
        assert len(there.ahead) == 2
        second = line([0.0, 2.0])
        assert [call.result() for call in there.ahead] == [render(second) for render in both]
        assert here.files() != there.files()
    with figures_kept_in(tmp_path, early=True):
        assert DRAWN.get().second.pool is not None
        for end, drawn in ((1.0, here), (2.0, there)):
            assert DRAWN.get().begin(line([0.0, end]), both).found == drawn.files()


@pytest.mark.parametrize("state", ["waiting", "done", "failed"])
def test_a_figure_is_drawn_here_if_not_there(state: str) -> None:
    """The second width has not been begun elsewhere, the first may have been."""
    ahead: list[Future[Any]] = [Future(), Future()]
    if state != "waiting":
        ahead[0].set_running_or_notify_cancel()
    if state == "done":
        ahead[0].set_result({"svg": b"there"})
    if state == "failed":
        ahead[0].set_exception(ImportError("a module of a plug-in"))
    renders = (lambda draw: {"svg": b"here"}, lambda draw: {"narrow.svg": b"here"})
    drawing = Drawing(lambda width: width, renders, ahead=ahead)
    first = b"there" if state == "done" else b"here"
    assert drawing.files() == {"svg": first, "narrow.svg": b"here"}


def test_figures_begin_first_and_parts_that_wait_are_finished_last() -> None:
    told: list[str] = []

    def part(name: str, waits: bool) -> Iterator[Shown]:
        told.append(name)
        yield Passage(name, ())
        if waits:
            yield LATER
            told.append(f"{name} again")
        yield Passage(name, (), "more")

    steps: list[tuple[int, int]] = []
    parts = [lambda name=name: part(name, name in "ac") for name in "abcd"]
    found = in_order(parts[:2], parts[2:], lambda done, total: steps.append((done, total)))
    assert [item.chapter for item in found if isinstance(item, Passage)] == [*"aabbccdd"]
    assert told == ["c", "d", "a", "b", "a again", "c again"]
    assert steps == [(done, 4) for done in (1, 2, 3, 4)]
