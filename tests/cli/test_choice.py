"""The Python that ``select`` prints runs as it is, for any flags, and gives the same score."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from kselect.cli.main import cli
from kselect.cli.selecting import select_command
from kselect.selection.model_file import read_model
from kselect.selection.saved_model import decision

# The lines of an average repeat the search, with its warning that the choice lies on the boundary of a grid.
pytestmark = pytest.mark.filterwarnings("ignore::kselect.EdgeWarning")
N = 45
GRID = ("--lam", "0.01,0.1")
TAU = ("--tau", "1,4")
NOT_PRINTED = {
    *(
        "plot",
        "report",
        "time_limit",
        "as_json",
        "n_jobs",
        "file",
        "compare",
        "contenders",
        "backend",
        "scheduler",
        "plugin",
    ),
    # Those about rows, which test_row_flags.py tests.
    *("weights", "class_weight", "groups", "time", "repeats", "stratify", "test_file"),
}

FLAGS = [
    "",
    "--target b",
    "--target b --task regression",
    "--target a",
    "--drop a",
    "--drop b --drop size",
    "--categorical code",
    "--categorical code --numeric size2",
    "--missing drop",
    "--scale minmax",
    "--scale none",
    "--learner krr",
    "--learner quadratic-svr --target a --param eps=0.2",
    "--criterion ELOO --param form=error",
    "--criterion 5-KS --param eta=0.5",
    "--criterion 7-CV --param average=folds",
    "--loss zero-one",
    "--scoring f1_macro",
    "--target a --scoring neg_mean_absolute_error",
    "--ridge per-fold",
    "--learner krr --search pruned",
    "--learner svm --target code --drop y --task classification",
    "--learner smooth-hinge --search grid --param h=0.1",
    "--folds folds.txt",
    "--nystrom 8 --seed 4",
    "--nystrom 8 --columns rpcholesky",
    "--seed 3",
    "--ensemble 3",
    "--kernel gaussian,weighted-laplacian --target b --metric agop",
    "--ensemble 1 --target b",
    "--kernel gaussian,weighted-gaussian --power 1 --target b",
]
KERNELS = {
    "polynomial": "--degree 1,2",
    "laplacian": "--width 2,8",
    "linear": "",
    "auto": "",
    "auto --target a --ensemble 4": "",
    "weighted-laplacian": "--width 3 --power 0.5,1",
}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    lines = ["a,b,code,size,size2,y"]
    for i in range(N):
        a, b = rng.normal(), "" if i % 9 == 4 else f"{rng.normal():.4f}"
        code, size = 10 + i % 3, ("S", "M", "L")[rng.integers(3)]
        y = "uvw"[int(np.clip(a + 0.3 * rng.normal() + 1.5, 0, 2))]
        lines.append(f"{a:.4f},{b},{code},{size},0{i % 4},{y}")
    (tmp_path / "my.csv").write_text("\n".join(lines))
    (tmp_path / "folds.txt").write_text("\ufeff" + "\n".join(str(1 + i % 5) for i in range(N)))


def printed(*arguments: str) -> str:
    """Return the output of ``select``."""
    run = CliRunner().invoke(cli, ["select", "my.csv", *GRID, *arguments])
    assert run.exit_code == 0, run.output
    return str(run.stdout)


def run_lines(text: str) -> tuple[float, dict[str, Any]]:
    """Run the lines below "fit it:" as a script; return the score that it prints, and its variables."""
    script = "\n".join(line[2:] for line in text.partition("fit it:\n")[2].splitlines())
    out, left = io.StringIO(), dict[str, Any]()
    with contextlib.redirect_stdout(out):
        exec(script, left)
    return float(out.getvalue()), left


def score_of_lines(text: str) -> float:
    """Return the score that the lines print."""
    return run_lines(text)[0]


@pytest.mark.parametrize("typed", FLAGS)
def test_the_printed_lines_give_the_same_score(typed: str) -> None:
    arguments = (*typed.split(), *TAU)
    expected = json.loads(printed(*arguments, "--json"))["best"]["score"]
    assert score_of_lines(printed(*arguments)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_printed_lines_give_the_same_score_for_every_kernel(kernel: str) -> None:
    arguments = ("--kernel", *kernel.split(), *KERNELS[kernel].split())
    expected = json.loads(printed(*arguments, "--json"))["best"]["score"]
    assert score_of_lines(printed(*arguments)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("typed", ["", "--target b", "--nystrom 8", "--learner krr --target a"])
def test_the_same_fit(typed: str) -> None:
    """The model of ``fit`` and that of the printed lines agree, even where a tiny ridge magnifies rounding."""
    flags = ["--drop", "b", "--lam", "1e-9,1e-8,1e-7", "--tau", "16,64", *typed.split()]
    if "b" in typed.split():
        flags = [*flags[2:], "--drop", "a"]
    _, left = run_lines(printed(*flags))
    X, model = left["table"].X, left["model"]
    assert CliRunner().invoke(cli, ["fit", "my.csv", "-o", "m.npz", *flags]).exit_code == 0
    found = read_model(Path("m.npz"))
    expected = getattr(model, "decision_function", model.predict)(X)
    mine = decision(found, X)
    np.testing.assert_allclose(mine, expected.reshape(mine.shape), rtol=0, atol=1e-12)


def test_every_flag_of_select_is_tested_here() -> None:
    typed = " ".join([*FLAGS, *KERNELS, *KERNELS.values(), *GRID, *TAU, "--kernel"])
    for parameter in select_command.params:
        if parameter.name not in NOT_PRINTED:
            assert any(flag in typed for flag in parameter.opts), parameter.name


def test_few_rows() -> None:
    """With three rows, where 5-CV is impossible, the lines use the criterion that was used."""
    Path("my.csv").write_text("a,b,y\n1,2,1\n3,5,2.5\n4,1,2\n")
    text = printed("--criterion", "3-CV", "--tau", "1")
    assert "2 candidates," in text
    assert np.isfinite(score_of_lines(text))


def test_the_metric_that_chose_is_named() -> None:
    """Scores are those of the scorer, greater is better; the estimator has the same."""
    text = printed("--scoring", "f1_macro", *TAU)
    found = json.loads(printed("--scoring", "f1_macro", *TAU, "--json"))
    _, left = run_lines(text)
    assert found["scoring"] == "f1_macro"
    assert found["best"]["score"] == pytest.approx(left["model"].best_score_)
    assert found["best"]["score"] == max(one["score"] for one in found["scores"])
    assert f"f1_macro {found['best']['score']:.6g} (mean over 5 folds)" in text
    assert "(squared loss)" in printed(*TAU)
    typed = ["fit", "my.csv", "-o", "m.npz", *GRID, *TAU, "--scoring", "f1_macro"]
    assert "f1_macro" in CliRunner().invoke(cli, typed).stdout
    shown = CliRunner().invoke(cli, ["show", "m.npz"]).stdout
    assert (
        f"chosen by 5-CV average=folds loss=f1_macro, score {found['best']['score']:.6g}" in shown
    )
