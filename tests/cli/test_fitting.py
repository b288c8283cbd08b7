"""``kselect fit`` writes the selected model to a file, and ``kselect predict`` applies it in another process."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from experiments import kselect_in

from kselect.cli.choosing import choose
from kselect.cli.fitting import fit_command
from kselect.cli.main import cli
from kselect.kernels import Points
from kselect.selection.model_file import read_model
from kselect.selection.own_data import read_table

N = 60
GRID = ("--tau", "1,4", "--lam", "0.01,0.1")
KINDS = {2: "uv", 3: "uvw"}


def write(path: Path, classes: int) -> Path:
    """Write a table with a missing value, a category and an index; the target has classes or numbers."""
    rng = np.random.default_rng(classes)
    lines = [",x,size,y"]
    for i in range(N):
        x, size = rng.normal(), ("S", "M", "L")[rng.integers(3)]
        level = int(np.clip((x + 1.5) * classes / 3, 0, max(classes - 1, 0)))
        y = KINDS[classes][level] if classes else f"{np.sin(x):.5f}"
        lines.append(f"{i},{'' if i == 5 else f'{x:.6f}'},{size},{y}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    """Run a command that succeeds."""
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def table_of(text: str) -> list[dict[str, str]]:
    """Return the rows of a CSV text."""
    return list(csv.DictReader(io.StringIO(text)))


def flags_of(*arguments: str) -> dict[str, Any]:
    """Return the flags as click parses them."""
    context = fit_command.make_context("fit", ["my.csv", "-o", "m.npz", *arguments])
    return {k: v for k, v in context.params.items() if k not in ("file", "output")}


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize(
    "more", [(), ("--nystrom", "20"), ("--learner", "krr", "--scale", "minmax")]
)
def test_predict_gives_the_decisions_of_the_selected_fit(
    tmp_path: Path, classes: int, more: tuple[str, ...]
) -> None:
    path = write(tmp_path / "my.csv", classes)
    run("fit", "my.csv", "-o", "m.npz", *GRID, *more)
    found = table_of(run("predict", "m.npz", "my.csv").stdout)
    chosen = choose(path, flags_of(*GRID, *more))
    X, choice = chosen.data.X, chosen.found
    support = X if choice.support is None else choice.support
    K = choice.kernel.gram(Points(X, support))
    expected = np.array([fit.decision(0, K) for fit in choice.best.fits])
    names = {0: ["prediction"], 2: ["decision"], 3: ["decision u", "decision v", "decision w"]}
    mine = np.array([[float(row[name]) for row in found] for name in names[classes]])
    np.testing.assert_allclose(mine, expected, rtol=0, atol=1e-12)


def test_a_kernel_with_a_width_per_feature(tmp_path: Path) -> None:
    """The model of a kernel with one width per feature contains all widths."""
    path = write(tmp_path / "my.csv", 2)
    more = ("--kernel", "ard", "--criterion", "FLKL")
    run("fit", "my.csv", "-o", "m.npz", *more)
    found = [float(row["decision"]) for row in table_of(run("predict", "m.npz", "my.csv").stdout)]
    chosen = choose(path, flags_of(*more))
    K = chosen.found.kernel.gram(Points(chosen.data.X))
    expected = chosen.found.best.fits[0].decision(0, K)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_fit_and_predict_in_separate_processes(tmp_path: Path) -> None:
    write(tmp_path / "my.csv", 3)
    fitted = kselect_in(tmp_path, "fit", "my.csv", "-o", "m.npz", *GRID)
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert "written: m.npz" in fitted.stdout
    said = kselect_in(tmp_path, "predict", "m.npz", "my.csv")
    assert said.returncode == 0
    assert said.stdout == run("predict", "m.npz", "my.csv").stdout
    assert "accuracy 0." in said.stderr


def test_probabilities_and_classes(tmp_path: Path) -> None:
    for classes, names in KINDS.items():
        path = write(tmp_path / "my.csv", classes)
        run("fit", "my.csv", "-o", "m.npz", *GRID)
        found = table_of(run("predict", "m.npz", "my.csv").stdout)
        likely = np.array([[float(row[f"probability {c}"]) for c in names] for row in found])
        np.testing.assert_allclose(likely.sum(axis=1), 1, rtol=1e-12)
        assert {row["prediction"] for row in found} == set(names)
        truth = read_table(path).y
        assert np.mean([row["prediction"] == y for row, y in zip(found, truth, strict=True)]) > 0.7


def test_rows_that_do_not_fit_the_model_are_reported(tmp_path: Path) -> None:
    write(tmp_path / "my.csv", 2)
    run("fit", "my.csv", "-o", "m.npz", *GRID)
    (tmp_path / "new.csv").write_text("size,x,more\nXL,0.5,1\nS,,2\n")
    result = run("predict", "m.npz", "new.csv", "-o", "out.csv")
    assert result.stdout == "2 predictions written: out.csv\n"
    assert "note: column x (1 missing): missing values become the median" in result.stderr
    assert "'XL' not in the training rows: read as none of the values" in result.stderr
    assert "target" not in result.stderr
    assert len(table_of((tmp_path / "out.csv").read_text())) == 2


def test_class_names_that_a_spreadsheet_would_run(tmp_path: Path) -> None:
    """They get an apostrophe; numbers with a sign stay numbers."""
    for u, v, cells in (("=1+1", "@x", {"'=1+1", "'@x"}), ("-1", "1.5", {"-1", "1.5"})):
        path = write(tmp_path / "my.csv", 2)
        path.write_text(path.read_text().replace(",u\n", f",{u}\n").replace(",v\n", f",{v}\n"))
        run("fit", "my.csv", "-o", "m.npz", *GRID, "--task", "classification")
        result = run("predict", "m.npz", "my.csv")
        assert {row["prediction"] for row in table_of(result.stdout)} == cells
        assert "accuracy" in result.stderr


def test_predict_reports_the_agreement_with_a_target(tmp_path: Path) -> None:
    write(tmp_path / "my.csv", 0)
    run("fit", "my.csv", "-o", "m.npz", *GRID)
    result = run("predict", "m.npz", "my.csv")
    predicted = np.array([float(row["prediction"]) for row in table_of(result.stdout)])
    y = np.array(read_table(tmp_path / "my.csv").y, dtype=float)
    r2 = 1 - np.square(y - predicted).mean() / y.var()
    assert f"R2 {r2:.4g}, " in result.stderr
    assert f"on {N} rows with a target" in result.stderr


def test_the_model_file_holds_the_choice(tmp_path: Path) -> None:
    write(tmp_path / "my.csv", 2)
    text = run("fit", "my.csv", "-o", "m.npz", *GRID).stdout
    model = read_model(tmp_path / "m.npz")
    assert "column Unnamed: 0: dropped: it numbers the rows" in text
    assert model.choice["criterion"] == "5-CV"
    assert f"score {model.choice['best']['score']:.6g}" in text
    assert f"accuracy {model.choice['held_out']['value']:.4g} held out" in text


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("fit my.csv", "missing option '-o' / '--output'"),
        ("fit my.csv -o no/m.npz", "--output no/m.npz: there is no folder no"),
        ("fit my.csv -o .", "--output .: that is a folder"),
        (
            "fit my.csv -o t.onnx",
            "--output t.onnx: a model is written as .npz; let the name end so",
        ),
        (
            "predict m.npz my.csv -o p.parquet",
            "--output p.parquet: predictions are written as .csv",
        ),
        ("predict my.csv my.csv", "my.csv: not a complete model file of kselect"),
        ("predict no.npz my.csv", "no.npz: No such file or directory"),
        ("predict m.npz no.csv", "no.csv: No such file or directory"),
        ("predict m.npz other.csv", "other.csv: without the column 'x', which the model needs"),
        ("predict m.npz my.csv -o no/a.csv", "--output no/a.csv: there is no folder no"),
    ],
)
def test_one_line_for_a_mistake(tmp_path: Path, typed: str, said: str) -> None:
    write(tmp_path / "my.csv", 2)
    (tmp_path / "other.csv").write_text("size\nS\n")
    run("fit", "my.csv", "-o", "m.npz", *GRID)
    result = CliRunner().invoke(cli, typed.split())
    shown = str(result.exception) if result.exit_code == 1 else result.stderr
    assert said.lower() in shown.lower()
