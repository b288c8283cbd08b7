"""What a practitioner types about a table of one's own: names, formats, ids, test rows, and what a model is."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from kselect import __version__
from kselect.cli.main import cli
from kselect.datasets.table import more_formats
from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.target import as_target
from kselect.errors import KselectError
from kselect.grids import show_number
from kselect.selection.model_file import read_model, write_model

N = 60
GRID = ("--tau", "1,4", "--lam", "1e-2:1e-1")


def write(path: Path, n: int = N, seed: int = 0, delimiter: str = ",") -> Path:
    """Write a regression with an id per row and a group of five rows each."""
    rng = np.random.default_rng(seed)
    lines = [delimiter.join(("key", "x", "z", "y"))]
    for i in range(n):
        x, z = rng.normal(size=2)
        lines.append(delimiter.join((f"k{i}", f"{x:.6f}", f"{z:.6f}", f"{np.sin(x) + z:.5f}")))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "my.csv")


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    """Run a command that succeeds."""
    result = CliRunner().invoke(cli, list(arguments), input=stdin)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def refusal(*arguments: str, stdin: bytes | None = None) -> str:
    """Return the message of a command that fails, which is one line."""
    result = CliRunner().invoke(cli, list(arguments), input=stdin)
    assert isinstance(result.exception, KselectError), (result.output, result.exception)
    assert "\n" not in str(result.exception)
    return str(result.exception)


def selected(*arguments: str) -> Any:
    """Return the object of ``select --json`` without its times."""
    found = json.loads(run("select", *arguments, *GRID, "--json").stdout)
    return {k: v for k, v in found.items() if not k.startswith("seconds")}


def test_rbf_is_the_gaussian_kernel() -> None:
    named = selected("my.csv", "--kernel", "rbf")
    assert named == selected("my.csv", "--kernel", "gaussian")
    assert named["kernel"] == "gaussian"


def test_a_grid_by_decades() -> None:
    scores = json.loads(run("select", "my.csv", "--tau", "1", "--lam", "1e-3:1e0", "--json").stdout)
    assert [s["lam"] for s in scores["scores"]] == [1e-3, 1e-2, 0.1, 1.0]


# --- formats ------------------------------------------------------------------------------------------


def rows_of(path: str) -> list[list[str]]:
    """Return the rows of a CSV file."""
    return [line.split(",") for line in Path(path).read_text().split()]


def test_every_format_gives_the_same_choice() -> None:
    """JSON lines, a sheet of Excel and the standard input hold the same table as the CSV file."""
    head, *rows = rows_of("my.csv")
    objects = [
        {k: v if k == "key" else float(v) for k, v in zip(head, r, strict=True)} for r in rows
    ]
    lines = "".join(json.dumps(o) + "\n" for o in objects)
    Path("my.jsonl").write_text(lines)
    book = openpyxl.Workbook()
    book.active.append(head)
    for row in objects:
        book.active.append(list(row.values()))
    book.create_sheet("notes")
    book.save("my.xlsx")
    found = selected("my.csv")
    for form in ("my.jsonl", "my.xlsx"):
        other = selected(form)
        assert (other["best"], other["scores"]) == (found["best"], found["scores"])
    assert "read the first of 2 sheets: Sheet" in selected("my.xlsx")["decisions"]
    for stdin in (Path("my.csv").read_bytes(), lines.encode(), Path("my.xlsx").read_bytes()):
        text = run("select", "-", *GRID, "--json", stdin=stdin).stdout
        assert json.loads(text)["scores"] == found["scores"]


@pytest.mark.parametrize("write", ["to_feather", "to_parquet"])
def test_text_of_a_file_with_types_may_be_amounts(write: str) -> None:
    """Dates, times of day and numbers with a unit are read as in CSV; text such as 0017 stays text."""
    table = pd.DataFrame(
        {
            "area": [f"{50 + i % 7}.5 m2" for i in range(40)],
            "opens": [f"{8 + i % 5:02d}:15" for i in range(40)],
            "day": [f"2024-02-{1 + i % 28:02d}" for i in range(40)],
            "code": ["0017", "0018"] * 20,
            "kind": ["5 x", "7 y"] * 20,
            "rent": np.arange(40) + 0.5,
        }
    )
    getattr(table, write)("typed")
    frame = read_frame(Path("typed"), "rent")
    found = {s.name: (s.kind, s.form) for s in frame.columns}
    assert found == {
        "area": ("number", "m2"),
        "opens": ("date", "time of day"),
        "day": ("date", "ISO"),
        "code": ("category", ""),
        "kind": ("category", ""),
    }
    assert frame.data[0][:2].tolist() == [50.5, 51.5]
    table.to_csv("plain.csv", index=False)
    run("fit", "typed", "--target", "rent", *GRID, "-o", "m.npz")
    assert "R2" in run("predict", "m.npz", "typed").stderr
    assert "R2" in run("predict", "m.npz", "plain.csv").stderr


def test_decimal_commas_with_three_digits() -> None:
    """0,126 is no thousand, and tells how the other numbers of the file are written."""
    lines = [f"{x:.3f};{3 * x:.3f}".replace(".", ",") for x in np.linspace(0.1, 4, 30)]
    Path("comma.csv").write_text("\n".join(["x;y", *lines, ""]))
    frame = read_frame(Path("comma.csv"), None)
    np.testing.assert_allclose(frame.data[0], np.round(np.linspace(0.1, 4, 30), 3))
    target = as_target(frame, None).values[0]
    np.testing.assert_allclose(target, 3 * np.linspace(0.1, 4, 30), atol=1e-3)


def test_a_target_of_words_is_not_compared() -> None:
    run("fit", "my.csv", *GRID, "-o", "m.npz")
    Path("new.csv").write_text("x,z,y\n1,2,unknown\n")
    found = run("predict", "m.npz", "new.csv")
    assert "not compared with the target y: 'unknown' is not a number" in found.stderr


def test_formulas_without_results_are_named() -> None:
    book = openpyxl.Workbook()
    book.active.append(["a", "b", "y"])
    for i in range(12):
        book.active.append([f"=B{i + 2} * 2", i % 5, i * 1.5])
    book.save("formula.xlsx")
    frame = read_frame(Path("formula.xlsx"), "y")
    assert "formulas without results, such as =B2 * 2: open the file" in str(frame.decisions[0])


def test_targets_with_a_comma_are_flags() -> None:
    found = refusal("select", "my.csv", "--target", "x, z")
    assert found == "my.csv: no column 'x, z' for the target; write --target x --target z"


def test_json_values() -> None:
    """An absent key and null are missing, true and false are two values, and later keys are columns."""
    text = '{"a": 1, "b": true, "y": 1.5}\n\n{"a": null, "b": false, "y": 2e0}\n{"b": true, "c": 3, "y": 7}\n'
    Path("few.jsonl").write_text(text)
    frame = read_frame(Path("few.jsonl"), "y")
    values = {s.name: v.tolist() for s, v in zip(frame.columns, frame.data, strict=True)}
    assert values["b"] == ["true", "false", "true"]
    np.testing.assert_array_equal(values["a"], [1, np.nan, np.nan])
    np.testing.assert_array_equal(values["c"], [np.nan, np.nan, 3])
    assert as_target(frame, None).values.tolist() == [[1.5, 2.0, 7.0]]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b'{"a": 1}\n{"a": [1]}\n', ":2: a holds a list or an object; a table needs one value"),
        (b'{"a": 1}\n{"a": \n', ":2: not a JSON object on one line"),
        (b'{"a": 1}\n5\n', ":2: not a JSON object on one line"),
        (b'{"a": 1, "a": 2}\n', ":1: two columns are named 'a'"),
        (b'[{"a": 1}]', ": a JSON list: write one object per line (JSON lines)"),
        (b"\x89HDF\r\n", ": an HDF5 file: save the table as CSV, Parquet, Feather"),
        (b"\xd0\xcf\x11\xe0", ": an old Excel file: save the table as CSV"),
        (b"@RELATION x\n", ": an ARFF file: save the table as CSV"),
    ],
)
def test_formats_refused_by_name(content: bytes, what: str) -> None:
    assert refusal("select", "-", stdin=content).startswith(f"-{what}")


def test_excel_without_openpyxl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(more_formats, "find_spec", lambda name: None)
    openpyxl.Workbook().save("my.xlsx")
    said = "my.xlsx: Excel needs openpyxl (pip install 'kselect[excel]'), or save the sheet as CSV"
    assert refusal("select", "my.xlsx") == said


def test_an_experiment_does_not_read_the_standard_input() -> None:
    said = refusal("init", "-", stdin=Path("my.csv").read_bytes())
    assert said == "-: an experiment reads its file again: name a file"


# --- identifiers of rows ------------------------------------------------------------------------------


def test_predictions_with_a_column_of_the_file() -> None:
    """The column comes first, row for row; the predictions do not change, also from the standard input."""
    run("fit", "my.csv", "--target", "y", *GRID, "-o", "model.npz")
    plain = run("predict", "model.npz", "my.csv").stdout.splitlines()
    keys = [row[0] for row in rows_of("my.csv")]
    found = run("predict", "model.npz", "my.csv", "--id", "key").stdout.splitlines()
    assert found == [f"{key},{line}" for key, line in zip(keys, plain, strict=True)]
    piped = run("predict", "model.npz", "-", "--id", "1", stdin=Path("my.csv").read_bytes())
    assert piped.stdout.splitlines()[1:] == found[1:]
    said = refusal("predict", "model.npz", "my.csv", "--id", "kex")
    assert said == "my.csv: no column 'kex' for --id; did you mean 'key'?"


def test_an_id_that_a_spreadsheet_would_run() -> None:
    run("fit", "my.csv", *GRID, "-o", "model.npz")
    Path("new.csv").write_text("key,x,z\n=A1,1,2\n-7,1,2\n")
    found = run("predict", "model.npz", "new.csv", "--id", "key").stdout.splitlines()
    assert [line.partition(",")[0] for line in found] == ["key", "'=A1", "-7"]


def test_svmlight_has_no_column_of_ids() -> None:
    Path("my.svm").write_text("".join(f"{i % 7}.5 1:{i} 2:{i * i % 11}\n" for i in range(30)))
    run("fit", "my.svm", *GRID, "-o", "model.npz")
    assert refusal("predict", "model.npz", "my.svm", "--id", "a").endswith(
        "svmlight has no column 'a'"
    )


# --- what a model is ----------------------------------------------------------------------------------


def test_show_prints_the_model() -> None:
    """Every line equals what ``fit`` has printed or what the file holds."""
    fitted = run("fit", "my.csv", *GRID, "-o", "model.npz").stdout
    saved = read_model(Path("model.npz"))
    text = run("show", "model.npz").stdout
    lines = text.splitlines()
    assert lines[:2] == [f"regression, written by kselect {__version__}", "target: y"]
    assert f"data: 60 rows, sha256 {saved.choice['data_sha256']}" in lines
    tau = f"tau = {show_number(saved.kernel.parameters['tau'])}, lam = {show_number(saved.lam)}"
    assert f"model: lssvm, gaussian kernel, {tau}" in lines
    assert f"score {saved.choice['best']['score']:.6g}" in text
    assert next(s for s in lines if s.startswith("quality: R2 ")).split(";")[0] in fitted
    assert lines[lines.index("columns (2), as 2 features:") + 1 :][:2] == [
        "  x: number",
        "  z: number",
    ]
    assert "read: column key" in text


def test_show_prints_classes_units_and_relevances() -> None:
    rows = [f"{i % 9}.5 min,{i * i % 7},{'no' if i % 9 < 4 else 'yes'}" for i in range(40)]
    Path("two.csv").write_text("\n".join(["a,b,c", *rows]) + "\n")
    run("fit", "two.csv", "--kernel", "ard", "--criterion", "ELOO", "-o", "model.npz")
    text = run("show", "model.npz").stdout
    assert "classes: no, yes\n" in text
    assert "  a: number (min)\n" in text
    shares = text.split("relevances:\n")[1].splitlines()[:2]
    assert [line.split()[-1] for line in shares] == ["a", "b"]


def test_show_refuses_what_is_no_model() -> None:
    assert refusal("show", "my.csv") == "my.csv: not a complete model file of kselect"
    run("fit", "my.csv", *GRID, "-o", "model.npz")
    saved = read_model(Path("model.npz"))
    write_model(Path("model.npz"), replace(saved, choice={"n": 60}))
    said = "model.npz: a model file without the facts of its choice: fit the model again"
    assert refusal("show", "model.npz") == said


def sheet(path: str, above: list[list[Any]], rows: list[list[Any]] | None = None) -> None:
    """Write a sheet of Excel with rows above the table."""
    book = openpyxl.Workbook()
    for row in [
        *above,
        *(rows or [["a", "b", "y"], *([i % 7, i / 3, i * 1.5] for i in range(30))]),
    ]:
        book.active.append(row)
    book.save(path)


@pytest.mark.parametrize(
    ("above", "said"),
    [
        ([["Sales"]], "skipped Sales above the table"),
        ([["Sales"], []], "skipped Sales above the table"),
        ([[None, "Sales"], ["All regions"], []], "skipped Sales and 1 more above the table"),
    ],
)
def test_titles_above_a_sheet_are_skipped(above: list[list[Any]], said: str) -> None:
    sheet("titled.xlsx", above)
    frame = read_frame(Path("titled.xlsx"), "y")
    assert [spec.name for spec in frame.columns] == ["a", "b"]
    assert frame.n == 30
    assert said in [decision.text for decision in frame.decisions]
    sheet("wrong.xlsx", above, [["a", "y"], [1, 2], [2, "word"], [3, 4], [4, 5]])
    assert refusal("select", "wrong.xlsx").startswith(f"wrong.xlsx:{len(above) + 3}: ")


@pytest.mark.parametrize(
    "rows",
    [
        [["y"], *([i * 1.5] for i in range(9))],  # a single column has no title
        [[3], *([i, i * 1.5] for i in range(9))],  # a number is no title
        [["a", "y"], *([i % 4, i * 1.5] for i in range(9))],
    ],
)
def test_a_sheet_without_title_is_read_from_its_first_row(rows: list[list[Any]]) -> None:
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    before = [row.copy() for row in cells]
    assert more_formats.blank_titles(cells) == ""
    assert cells == before


@pytest.mark.parametrize("above", [["Region", "North"], ["Made", None, "by"]])
def test_a_second_header_is_refused(above: list[Any]) -> None:
    """Two filled cells above the header could be names: a person must say."""
    sheet("two.xlsx", [above])
    said = (
        "two.xlsx:1: empty cells above 'a' and 'b': if row 2 holds the names of the columns, delete"
    )
    assert refusal("select", "two.xlsx").startswith(said)


def test_a_gap_in_the_header_of_a_sheet_is_no_second_header() -> None:
    sheet("gap.xlsx", [], [["a", None, "y"], *([i % 5, "uvw"[i % 3], i * 1.5] for i in range(30))])
    frame = read_frame(Path("gap.xlsx"), "y")
    assert [spec.name for spec in frame.columns] == ["a", "Unnamed: 1"]


def test_strings_of_digits_in_json_lines_are_read_as_in_csv() -> None:
    """A string and a number of the same digits are the same; leading zeros make categories."""
    n = 40
    columns = {
        "digits": [str(i % 9) for i in range(n)],
        "zeros": [f"{i % 4:03d}" for i in range(n)],
        "large": [f"{10**17 + i * i}" for i in range(n)],
        "grouped": [f"{1000 + 7 * i:,}" for i in range(n)],
        "signed": [f"+{i % 6}" for i in range(n)],
        "y": [str(1.5 * i) for i in range(n)],
    }
    rows = list(zip(*columns.values(), strict=True))
    with Path("strings.csv").open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    lines = (json.dumps(dict(zip(columns, row, strict=True))) for row in rows)
    Path("strings.jsonl").write_text("\n".join(lines))
    one, other = (read_frame(Path(f"strings.{form}"), "y") for form in ("csv", "jsonl"))
    assert one.columns == other.columns
    assert one.decisions == other.decisions
    for mine, others in zip(one.data, other.data, strict=True):
        np.testing.assert_array_equal(mine, others)
    assert {s.name for s in one.columns if not s.numeric} == {"zeros"}
