"""The target as classes or numbers, and values that cannot be a target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kselect.datasets.table.raw_table import FilePlace, Frame, Schema
from kselect.datasets.table.target import as_target, infer_task, one_against_rest
from kselect.datasets.table.written_values import is_number
from kselect.errors import DataError


def table(target: Any) -> Frame:
    """Return a frame of which only the target matters."""
    place = FilePlace(
        Path("f"), range(2, 2 + len(target or ())) if not isinstance(target, np.ndarray) else ()
    )
    targets = () if target is None else (target,)
    return Frame(Schema("columns", True, 2, ("y",), ()), (), targets, place, "", ())


WHOLE = [str(i % 4) for i in range(20)]


@pytest.mark.parametrize(
    ("target", "task", "classes", "why"),
    [
        (["b", "a", "b"], "classification", ("a", "b"), "the target is text with 2 values"),
        (["b", "a", "c"], "classification", ("a", "b", "c"), "the target is text with 3 values"),
        (["1.5", "-1", "1.5"], "classification", ("-1", "1.5"), "the target has two values"),
        (["10", "9", "10.0"], "classification", ("9", "10"), "the target has two values"),
        (WHOLE, "classification", ("0", "1", "2", "3"),
         "the target has 4 values, all whole numbers; --task regression takes them as numbers"),
        (WHOLE[:19], "regression", (), "the target has 4 values"),
        ([*WHOLE[:-1], "0.5"], "regression", (), "the target has 5 values"),
        ([str(i) for i in range(100)], "regression", (), "the target has 100 values"),
        (np.array([1.0, -1.0, 1.0]), "classification", ("-1", "1"), "the target has two values"),
    ],
)  # fmt: skip
def test_inference(target: Any, task: str, classes: tuple[str, ...], why: str) -> None:
    found = as_target(table(target), None)
    assert (found.task, found.classes, found.why) == (task, classes, why)
    assert found.values.shape == (len(classes) if len(classes) > 2 else 1, len(target))


def test_the_limit_of_classes() -> None:
    """At most ten whole numbers are classes, and each occurs in five rows on average; more are counts."""
    assert infer_task(np.arange(10.0), 10, 50)[0] == "classification"
    assert infer_task(np.arange(10.0), 10, 49) == ("regression", "the target has 10 values")
    task, why = infer_task(np.arange(11.0), 11, 1000)
    assert task == "regression"
    assert "11 values, all whole numbers" in why
    assert why.endswith("--task classification takes them as classes")
    few_rows = infer_task(
        np.arange(17.0), 17, 40
    )  # too many for classes, but --task may ask for them
    assert few_rows[1].endswith("--task classification takes them as classes")
    assert infer_task(np.arange(30.0), 30, 40) == ("regression", "the target has 30 values")
    assert infer_task(np.arange(11.0) / 2, 11, 1000) == ("regression", "the target has 11 values")
    counts = np.repeat(np.arange(12.0), 10)
    assert len(as_target(table(counts), "classification").classes) == 12


SCALE = ["<5", "5", "6", "7+"] * 6


def test_words_among_few_numbers_are_classes() -> None:
    """Words are classes if each occurs in several rows and there are few values for the number of rows."""
    found = as_target(table(SCALE), None)
    assert set(found.classes) == {"5", "6", "7+", "<5"}
    assert found.why == "the target is text with 4 values"
    for fields in ([*SCALE, "n.d."], SCALE[:12], ["5", "6", "inf", "x"] * 2):
        with pytest.raises(DataError, match="is not a number, but"):
            as_target(table(fields), None)
    with pytest.raises(DataError, match="the target '<5' is not a finite number"):
        as_target(table(SCALE), "regression")


def test_task_by_the_user() -> None:
    found = as_target(table(["1", "2", "1"]), "regression")
    assert (found.task, found.why) == ("regression", "as asked for")
    assert found.values.tolist() == [[1, 2, 1]]
    found = as_target(table(["0.5", "2", "3.5"]), "classification")
    assert found.classes == ("0.5", "2", "3.5")
    found = as_target(table(["1", "2", "3a"]), "classification")
    assert set(found.classes) == {"1", "2", "3a"}


def test_signs() -> None:
    """The second of two classes is +1; each of several classes has its own row of signs."""
    assert as_target(table(["b", "a", "b"]), None).values.tolist() == [[1, -1, 1]]
    assert one_against_rest(["a", "c", "b"], ["a", "b", "c"]).tolist() == [
        [1, -1, -1], [-1, -1, 1], [-1, 1, -1],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "task", "said"),
    [
        (["a", "a"], None, r"f: the target has only one value \(a\): nothing to learn"),
        (["1", "1.0"], None, r"only one value \(1\)"),
        (["1", "1"], "regression", "only one value"),
        (["a", "b"], "regression", "f:2: the target 'a' is not a finite number"),
        (["1", "b"], "regression", "f:3: the target 'b' is not a finite number"),
        (["1", "b", "2"], None, "f:3: the target 'b' is not a number, but '1' in line 2 is; "),
        (["a", "b", "nan"], None, "f:2: the target 'a' is not a number, but 'nan' in line 4 is; "),
        (["1", "inf", "3"], None, "f:3: the target 'inf' is not a finite number"),
        (["1", "nan", "3"], "regression", "f:3: the target 'nan' is not a finite number"),
        (None, None, "f: it has no target"),
        ([f"id{i}" for i in range(50)], None, "50 values in 50 rows: too many for classes"),
    ],
)
def test_bad_target(target: list[str] | None, task: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        as_target(table(target), task)


def test_numbers() -> None:
    assert all(map(is_number, ["1", "-.5", "1e-3", "nan", "inf", " 2 "]))
    assert not any(map(is_number, ["", "1_0", "x", "\u0661", "1,5", "0x1"]))
