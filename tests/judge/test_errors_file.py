"""Reading a table of errors: metrics, splits, what may be dropped, and one line per mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from kselect.errors import DataError, KselectError
from kselect.judge.error_table import ErrorTable, read_errors

HEADER = "dataset,split,method,error"
SIZED = f"{HEADER},n_train,n_test"
NAMED = f"{HEADER},metric"
DROP = "--drop-incomplete"


def write(folder: Path, header: str, *rows: str) -> Path:
    """Write a file of errors."""
    path = folder / "errors.csv"
    path.write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    return path


def read(folder: Path, header: str, *rows: str, **options: bool) -> ErrorTable:
    """Read what is written."""
    return read_errors(write(folder, header, *rows), **options)


TWO = ("a,1,m,0.25", "a,1,n,0.5", "a,2,m,0.75", "a,2,n,1")


def test_shares_are_shown_in_percent(tmp_path: Path) -> None:
    table = read(tmp_path, HEADER, *TWO)
    assert (table.datasets, table.methods, table.higher, table.overlap) == (
        ("a",),
        ("m", "n"),
        False,
        False,
    )
    assert list(table.samples["a", "m"].errors.values()) == [25.0, 75.0]
    assert (table.percent, table.relative) == ({"a"}, frozenset())
    assert "shares" in table.notes[0]


def test_other_numbers_are_kept_and_relative(tmp_path: Path) -> None:
    table = read(tmp_path, HEADER, "a,1,m,2.5", *TWO[1:])
    assert list(table.samples["a", "m"].errors.values()) == [2.5, 0.75]
    assert (table.percent, table.relative) == (frozenset(), {"a"})


def test_higher_is_better_changes_the_sign(tmp_path: Path) -> None:
    table = read(tmp_path, HEADER, *TWO, higher=True)
    assert table.higher
    assert table.samples["a", "m"].mean == -50.0
    named = read(tmp_path, NAMED, *(f"{row},Accuracy" for row in TWO))
    assert named.higher
    assert named.samples["a", "m"].mean == -50.0
    percent = read(tmp_path, NAMED, *(f"{row},error%" for row in TWO))
    assert percent.samples["a", "m"].mean == 0.5
    assert percent.percent == {"a"}


def test_sizes_correct_the_t_tests(tmp_path: Path) -> None:
    rows = [f"{row},8,4" for row in TWO]
    table = read(tmp_path, SIZED, *rows)
    assert table.overlap
    assert list(table.samples["a", "m"].ratios.values()) == [0.5, 0.5]
    apart = read(tmp_path, SIZED, *rows, overlap=False)
    assert not apart.overlap
    assert list(apart.samples["a", "m"].ratios.values()) == [0.0, 0.0]


def test_columns_in_any_order_and_names_of_splits(tmp_path: Path) -> None:
    rows = (f"0.{i},{m},fold {s},a,9" for i, (m, s) in enumerate(PAIRS))
    table = read(tmp_path, "\ufefferror,method,split,dataset,seconds", *rows)
    assert table.samples["a", "n"].errors == {0: 20.0, 1: 30.0}
    assert table.notes[0] == "The column seconds was ignored."


PAIRS = [("m", "one"), ("m", "two"), ("n", "one"), ("n", "two")]


def test_incomplete_splits_are_dropped(tmp_path: Path) -> None:
    rows = (*TWO, "a,3,m,0.5", "b,1,m,0.5")
    table = read(tmp_path, HEADER, *rows, drop=True)
    assert table.datasets == ("a",)
    assert table.samples["a", "m"].runs == 2
    assert table.notes[:2] == (
        "a: 1 of 3 splits dropped, as some method has no number there.",
        "b: all splits dropped, as some method has no number there.",
    )


MISTAKES = [
    ((HEADER,), "1: there are no rows below the columns"),
    (("dataset;split;method;error", "a;1;m;1"), "1: *; separate the columns by commas"),
    (
        ("dataset,split,method,eror", "a,1,m,1"),
        "1: there is no column 'error'; did you mean 'eror'?",
    ),
    (
        ("dataset,svm,mine", "a,1,2"),
        f"1: *; write one row per data set, split and method, * {HEADER}",
    ),
    ((f"{HEADER},error", "a,1,m,1,1"), "1: there are two columns 'error'; remove one"),
    (
        (f"{HEADER},n_train", "a,1,m,1,1"),
        "1: n_train and n_test belong together; add the other column",
    ),
    ((HEADER, *TWO, "a,1"), "6: has 2 fields, but there are 4 columns"),
    ((HEADER, *TWO, ",3,m,0.5"), "6: dataset: is empty; write its name"),
    ((HEADER, *TWO, "a,3,m,nan"), f"6: error: 'nan' is not a finite number; * {DROP}"),
    ((HEADER, *TWO, "a,3,m,"), f"6: error: is empty; correct it, or remove the row and use {DROP}"),
    ((HEADER, *TWO, "a,1,m,0.3"), "6: a, split 1, m: repeats line 2; keep one of them"),
    ((HEADER, "a,1,m,1", "a,2,m,1"), "2: the only method is m; a comparison needs two or more"),
    ((HEADER, *TWO[:2]), "2: one split of one data set cannot be tested; add splits or data sets"),
    (
        (HEADER, *TWO, "b,1,m,0.5"),
        f"6: b: n has no number for any split; add the rows, or use {DROP}",
    ),
    (
        (HEADER, *TWO, "a,3,m,0.5"),
        f"2: a: n has no number for split 3; add the rows, or use {DROP}",
    ),
    (
        (SIZED, *(f"{row},8,4" for row in TWO), "a,3,m,0.5,8.5,4"),
        "6: n_train: must be a whole number*",
    ),
    (
        (SIZED, *(f"{r},8,4" for r in TWO[:3]), "a,2,n,1,8,5"),
        "5: a, split 2: 8 + 5 rows, but 8 + 4 on line 4*",
    ),
    (
        (NAMED, *(f"{r},acuracy" for r in TWO)),
        "2: metric: unknown metric 'acuracy'; did you mean 'accuracy'?",
    ),
    (
        (NAMED, *(f"{r},error" for r in TWO[:3]), "a,2,n,1,mse"),
        "5: a: metric: mse on line 5, error on line 2*",
    ),
    (
        (NAMED, *(f"{r},error" for r in TWO), "b,1,m,1,auc", "b,1,n,1,auc"),
        "6: metric: higher is better for auc*",
    ),
    (
        (NAMED, "a,1,m,25,error", *(f"{r},error" for r in TWO[1:])),
        "2: error: 25 is not a share*metric is error%",
    ),
]


@pytest.mark.parametrize(("lines", "message"), MISTAKES)
def test_every_mistake_is_one_line(lines: tuple[str, ...], message: str, tmp_path: Path) -> None:
    path = write(tmp_path, *lines)
    with pytest.raises(KselectError) as caught:
        read_errors(path)
    text = str(caught.value).split("\n")[0]
    start, _, end = f"{path}:{message}".partition("*")
    assert text.startswith(start)
    assert text.endswith(end.rpartition("*")[2])


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "errors.csv"
    for content, message in ((b"\xff\xfe", "not UTF-8"), (b"", "is empty"), (b'a,"b', "not CSV")):
        path.write_bytes(content)
        with pytest.raises(DataError, match=message):
            read_errors(path)
    with pytest.raises(DataError, match="No such file"):
        read_errors(tmp_path / "nothing.csv")
    flagged = [f"{row},mse" for row in TWO]
    with pytest.raises(KselectError, match="--higher-is-better contradicts the metric mse"):
        read(tmp_path, NAMED, *flagged, higher=True)
    with pytest.raises(KselectError, match="no split has a number of every method"):
        read(tmp_path, HEADER, "a,1,m,1", "a,2,n,1", drop=True)
