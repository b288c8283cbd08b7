"""Sums of kernels in the estimators and on the command line: the choice, its output, the model file, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from oracles_flkl import Array, held_out_errors
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from kselect import KernelSelectClassifierCV, KernelSelectRegressorCV
from kselect.cli.main import cli

# The single kernels of a small grid lie at its edges.
pytestmark = pytest.mark.filterwarnings("ignore::kselect.EdgeWarning")
SUM = "sum:gaussian(tau=1,8),linear"


def table(n: int = 60) -> tuple[Array, Array]:
    """Return rows whose target is a line plus a wave."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.sin(3.0 * X[:, 1]) + 0.2 * rng.normal(size=n)


def run(*told: object) -> str:
    result = CliRunner().invoke(cli, list(map(str, told)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    X, y = table()
    path = tmp_path / "table.csv"
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y}).to_csv(path, index=False)
    return path


def test_the_model_is_the_sum_of_its_kernels() -> None:
    """The score is that of retraining on ``sum mu_j K_j``, and below those of the kernels."""
    X, y = table()
    numbers = np.arange(60) % 5
    model = KernelSelectRegressorCV(kernel=SUM, cv=numbers).fit(X, y)
    grams = {
        "gaussian(tau=1)": rbf_kernel(X, gamma=0.5),
        "gaussian(tau=8)": rbf_kernel(X, gamma=1 / 16),
        "linear": linear_kernel(X),
    }
    K = sum(mu * grams[name] for name, mu in model.kernel_weights_.items())
    assert sum(model.kernel_weights_.values()) == pytest.approx(1.0, abs=1e-7)
    members = [np.flatnonzero(numbers == k) for k in range(5)]
    errors = held_out_errors(np.asarray(K), y, 60 * model.best_params_["lam"], members)
    assert -model.best_score_ == pytest.approx(np.mean(errors**2), rel=1e-7)
    for one in ("gaussian", "linear"):
        grid = {"tau": "1,8"} if one == "gaussian" else {}
        alone = KernelSelectRegressorCV(kernel=one, cv=numbers, **grid).fit(X, y)
        assert model.best_score_ > alone.best_score_
    assert model.score(X, y) > 0.9


def test_the_norm_is_a_parameter() -> None:
    """``p`` is the norm of the weights, and ``steps`` limits the search."""
    X, y = table()
    how: dict[str, Any] = {"kernel": SUM, "criterion": "5-KS"}
    one, two = (KernelSelectRegressorCV(**how, params={"p": p}).fit(X, y) for p in (1, 2))
    assert np.sum(np.square(list(two.kernel_weights_.values()))) == pytest.approx(1.0, abs=1e-6)
    assert one.best_score_ != two.best_score_
    short = KernelSelectRegressorCV(**how, params={"steps": 1}).fit(X, y)
    assert short.best_score_ < one.best_score_


def test_families_take_the_grids_that_are_given() -> None:
    """A family without brackets has the grid of its parameter, or one around the scale of the data."""
    X, y = table()
    given = KernelSelectRegressorCV(kernel="sum:gaussian,linear", tau="1,8").fit(X, y)
    same = KernelSelectRegressorCV(kernel=SUM).fit(X, y)
    assert given.kernel_weights_ == same.kernel_weights_
    around = KernelSelectRegressorCV(kernel="sum:gaussian,linear").fit(100.0 * X, y)
    taus = [float(n[13:-1]) for n in around.kernel_weights_ if n.startswith("gaussian")]
    assert min(taus) > 100.0


def test_three_classes_share_the_weights() -> None:
    X, y = table()
    labels = np.digitize(y, [-0.7, 0.7])
    model = KernelSelectClassifierCV(kernel=SUM).fit(X, labels)
    assert len(model.members_[0].fits) == 3
    assert model.predict_proba(X).shape == (60, 3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kernel": "sum:gausian"}, "unknown kernel 'gausian'; did you mean 'gaussian'"),
        ({"kernel": "sum:linear", "degree": 2}, "no family without brackets with the parameter"),
        ({"learner": "krr"}, "is learned with the learner lssvm, not with krr"),
        ({"criterion": "GCV"}, "minimises k-CV or ELOO or BR or k-KS, not GCV"),
        ({"criterion": "BR"}, "BR regularises widths, which a sum of kernels does not have"),
        ({"criterion": "FLKL"}, "flkl moves the kernel gaussian or laplacian"),
        ({"params": {"p": 3}}, "p, the norm of the weights of a sum, is 1 or 2, not 3"),
        ({"kernel": "ard", "params": {"p": 2}}, "p is the norm of the weights of a sum"),
        ({"ridge": "per-fold"}, "ridge must be fixed"),
        ({"nystrom": 10}, "on all rows: leave out nystrom"),
        ({"lam": 0.1}, "leave lam out"),
    ],
)
def test_refused(given: dict[str, Any], words: str) -> None:
    """A sum that cannot be learned is refused in one line."""
    X, y = table()
    with pytest.raises(ValueError, match=words) as refused:
        KernelSelectRegressorCV(**{"kernel": SUM, **given}).fit(X, y)
    assert "\n" not in str(refused.value)


def test_printed_python_repeats_the_choice(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``select`` prints the weights, and Python that prints the same score."""
    monkeypatch.chdir(file.parent)
    shown = run("select", file.name, "--kernel", "sum:gaussian,linear", "--param", "p=2")
    assert "kernels have a weight" in shown
    assert "weight of" in shown
    code = shown.partition("fit it:\n")[2]
    score = code.rpartition("# ")[2].strip()
    printed: list[str] = []
    lines = "\n".join(line[2:] for line in code.splitlines() if line.strip())
    exec(lines, {"print": lambda value: printed.append(f"{value:.6g}")})
    assert printed == [score]


def test_fit_predict_and_show(file: Path, tmp_path: Path) -> None:
    """The model file holds the sum: its predictions are the estimator's, and ``show`` lists the weights."""
    model, out = tmp_path / "model.npz", tmp_path / "out.csv"
    run("fit", file, "--kernel", SUM, "-o", model)
    run("predict", model, file, "-o", out)
    from kselect import read_table

    data = read_table(str(file))
    same = KernelSelectRegressorCV(kernel=SUM).fit(data.X, data.y)
    np.testing.assert_allclose(
        pd.read_csv(out)["prediction"], same.predict(data.X), rtol=1e-12, atol=1e-12
    )
    shown = run("show", model)
    assert "weights:" in shown
    for name in same.kernel_weights_:
        assert name in shown


def test_json_and_plot(file: Path, tmp_path: Path) -> None:
    """``--json`` has the weights, the heaviest first; ``--plot`` draws them as bars."""
    found = json.loads(run("select", file, "--kernel", SUM, "--json"))
    weights = [one["weight"] for one in found["weights"]]
    assert weights == sorted(weights, reverse=True)
    assert found["kernel"] == "sum"
    assert {one["kernel"] for one in found["weights"]} < set(found["best"])
    plot = tmp_path / "weights.svg"
    run("select", file, "--kernel", SUM, "--plot", plot)
    assert plot.stat().st_size > 1000


def test_compare_refuses_learned_kernels(file: Path) -> None:
    result = CliRunner().invoke(cli, ["select", str(file), "--kernel", SUM, "--compare"])
    assert result.exit_code != 0
    assert "is learned by each: leave out --compare" in str(result.exception)
