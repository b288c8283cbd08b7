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
from kselect.report.style import render_figure
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

    monkeypatch.setattr(SecondProcess, "LEAST", 2)
    monkeypatch.setattr("loky.cpu_count", lambda: 2)
    with figures_kept_in(tmp_path):
        here, there = (DRAWN.get().begin(line([0.0, end]), render_figure) for end in (1.0, 2.0))
        assert here.ahead is None
        assert there.ahead is not None
        assert there.ahead.result() == render_figure(line([0.0, 2.0]))
        assert here.files() != there.files()
    with figures_kept_in(tmp_path):
        for end, drawn in ((1.0, here), (2.0, there)):
            assert DRAWN.get().begin(line([0.0, end]), render_figure).found == drawn.files()


@pytest.mark.parametrize("state", ["waiting", "done", "failed"])
def test_a_figure_is_drawn_here_if_not_there(state: str) -> None:
    ahead: Future[Any] = Future()
    if state != "waiting":
        ahead.set_running_or_notify_cancel()
    if state == "done":
        ahead.set_result({"svg": b"there"})
    if state == "failed":
        ahead.set_exception(ImportError("a module of a plug-in"))
    drawing = Drawing(lambda width: width, lambda draw: {"svg": b"here"}, ahead=ahead)
    assert drawing.files() == {"svg": b"there" if state == "done" else b"here"}


def test_parts_that_wait_are_finished_last_and_keep_their_places() -> None:
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
    found = in_order(parts, lambda done, total: steps.append((done, total)))
    assert [item.chapter for item in found if isinstance(item, Passage)] == [*"aabbccdd"]
    assert told == ["a", "b", "c", "d", "c again", "a again"]
    assert steps == [(done, 4) for done in (1, 2, 3, 4)]
