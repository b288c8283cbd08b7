"""The default of a selection: families of kernels, relevances, averages, and grids that grow."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import oracles_defaults as oracles
import pytest
from click.testing import CliRunner
from sklearn.model_selection import cross_val_predict

import kselect.selection.candidates.agop as agop
import kselect.selection.candidates.families as families
import kselect.selection.compare as comparing
import kselect.selection.ensemble as ensemble
from kselect import KernelSelectClassifierCV, KernelSelectRegressorCV
from kselect.cli.main import cli
from kselect.datasets.prepare import fit_preparation
from kselect.datasets.table.raw_table import TableOptions
from kselect.errors import ConfigError
from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.relevances import relevances, scale_of
from kselect.kernels.weighted import Weighted
from kselect.learners import Fit
from kselect.numerics.folds import draw_folds, stream
from kselect.numerics.linalg import Array
from kselect.numerics.splits import as_folds
from kselect.search import pruned_gradients
from kselect.selection.candidates.agop import learned_scale
from kselect.selection.candidates.families import Rows, family_names, make_candidates
from kselect.selection.compare import outer_decisions
from kselect.selection.engine import select
from kselect.selection.held_out import HeldOut
from kselect.selection.model_file import checksum
from kselect.selection.own_data import OwnData, read_own
from kselect.selection.request import Request, make_folds, make_request
from kselect.selection.result import mean_values

pytestmark = pytest.mark.filterwarnings("ignore::kselect.EdgeWarning")
SMALL: dict[str, Any] = {"lam": "1e-4:1e0"}


def problem(n: int = 60, seed: int = 0) -> tuple[Array, Array]:
    """Return rows of which two of five features matter, and their target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.6 * rng.normal(size=n)


def request_for(X: Array, y: Array, kernel: str = "auto", **more: Any) -> Request:
    """Return the request of a regression."""
    found = make_candidates(family_names(kernel, {}), {}, Rows(X, y[None]))
    given: dict[str, Any] = {"task": "regression", "params": {}, "loss": None, "ensemble": "auto"}
    given |= {"relevances": found.relevances, "search": "pruned", **more}
    lam = given.pop("lam", "auto")
    return make_request("lssvm", "5-CV", kernel, found.kernels, lam, **given)


# --- relevances and kernels ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_relevances_against_their_definition(seed: int) -> None:
    """Columns of many and of few values, a category of three levels, two targets."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(50, 2)), rng.integers(5, size=50)])
    level = np.eye(3)[rng.integers(3, size=50)]
    X = np.hstack([X, level])
    Y = np.stack([X[:, 0] ** 2 + level @ [0, 1, 3], X[:, 2] + rng.normal(size=50)])
    columns = np.array([0, 1, 2, 3, 3, 3])
    folds = draw_folds(50, 5, stream(0, "relevances"))
    expected = oracles.relevances(X, Y, columns, [F.tolist() for F in folds.members])
    np.testing.assert_allclose(relevances(X, Y, columns), expected, atol=1e-12)
    assert len({*relevances(X, Y, columns)[3:]}) == 1
    assert len({*relevances(X, Y)[3:]}) == 3


def test_a_scale_has_mean_one_and_keeps_the_order() -> None:
    u = np.array(scale_of((0.0, 0.24, 0.99), 0.5))
    np.testing.assert_allclose(u, np.array([0.1, 0.5, 1.0]) / np.mean([0.1, 0.5, 1.0]))


def test_the_default_grids() -> None:
    """The 32 kernels of the study, around exact medians of the rows."""
    X, y = problem()
    found = make_candidates(("auto",), {}, Rows(X, y[None]))
    expected = oracles.default_kernels(X, found.relevances)
    assert len(found.kernels) == len(expected) == 32
    for kernel, (name, scale, values) in zip(found.kernels, expected, strict=True):
        assert kernel.name == name
        assert kernel.parameters == pytest.approx(values)
        if isinstance(kernel, Weighted):
            np.testing.assert_allclose(kernel.scale, scale)
    assert found.growing == {"tau", "width"}


def test_a_weighted_kernel_is_the_kernel_of_scaled_rows() -> None:
    X, _ = problem(20)
    scale = (0.5, 2.0, 0.0, 1.0, 1.5)
    kernel = Weighted(Gaussian(2.0), scale, 0.5)
    points = Points(X, X[:7])
    expected = Gaussian(2.0).gram(Points(X * scale, X[:7] * scale))
    np.testing.assert_array_equal(kernel.gram(points), expected)
    assert (kernel.name, kernel.text) == ("weighted-gaussian", "tau=2;power=0.5")
    assert kernel == Weighted(Gaussian(2.0), scale, 0.5) != Weighted(Gaussian(2.0), scale, 1.0)
    assert points.scaled(scale) is points.scaled(scale)
    with pytest.raises(ConfigError, match="a scale of 5 features for rows of 4"):
        kernel.gram(Points(X[:, :4]))


@pytest.mark.parametrize(
    ("kernel", "given", "names"),
    [
        ("auto", {}, ("auto",)),
        ("auto", {"tau": "1,2"}, ("gaussian",)),
        ("auto", {"degree": 2, "width": "auto"}, ("polynomial", "laplacian")),
        ("rbf, laplacian,rbf", {}, ("gaussian", "laplacian")),
        (["linear", "weighted-laplacian"], {"width": 1}, ("linear", "weighted-laplacian")),
    ],
)
def test_names_of_families(kernel: Any, given: dict[str, Any], names: tuple[str, ...]) -> None:
    assert family_names(kernel, given) == names


@pytest.mark.parametrize(
    ("kernel", "grids", "words"),
    [
        ("gaussain", {}, "did you mean 'gaussian'"),
        ("gaussian,ard", {}, "the kernel ard is learned: use it alone"),
        ("weighted-ard", {}, "use it alone, and not weighted"),
        ("gaussian,linear", {"width": 1}, "none of these kernels has a parameter 'width'"),
        ("weighted-gaussian", {"power": -1}, "power must be positive"),
    ],
)
def test_wrong_families(kernel: str, grids: dict[str, Any], words: str) -> None:
    X, y = problem(20)
    with pytest.raises(ConfigError, match=words):
        make_candidates(family_names(kernel, {}), grids, Rows(X, y[None]))


def test_a_grid_serves_every_family_that_has_it() -> None:
    X, y = problem(20)
    names = ("gaussian", "weighted-gaussian", "linear")
    found = make_candidates(names, {"tau": "1,4", "power": 1}, Rows(X, y[None]))
    assert [(k.name, k.text) for k in found.kernels] == [
        *(("gaussian", "tau=1"), ("gaussian", "tau=4")),
        *(("weighted-gaussian", "tau=1;power=1"), ("weighted-gaussian", "tau=4;power=1")),
        ("linear", ""),
    ]
    assert not found.growing


# --- averages -----------------------------------------------------------------------------------------


@pytest.fixture
def many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small tables go the way of large ones."""
    monkeypatch.setattr(pruned_gradients, "MANY", 0)
    monkeypatch.setattr(pruned_gradients, "FEWER", 0)


@pytest.mark.parametrize("way", ["grid", "pruned", "many rows"])
def test_the_average_against_its_definition(way: str, request: pytest.FixtureRequest) -> None:
    """Its members, its predictions and its held-out predictions, by retraining every candidate."""
    if way == "many rows":
        request.getfixturevalue("many_rows")
    compare_with_definition("grid" if way == "grid" else "pruned")


def compare_with_definition(search: str) -> None:
    """Compare the average of a search with its definition."""
    X, y = problem(40)
    request = request_for(X, y, "gaussian,laplacian", lam="1e-4:1e0", search=search)
    folds = make_folds(request.method, 40, 0, None)
    assert folds is not None
    found = select(X, y[None], request, folds)
    Z = np.random.default_rng(1).normal(size=(9, 5))
    members, values, held = oracles.average(
        *(X, y, Z, request.kernels, request.lams, [F.tolist() for F in folds.members]), most=10
    )
    assert 1 < len(members) == len(found.members)
    assert [(m.point.kernel, m.point.lam) for m in found.members] == members
    pairs = [(m.point.kernel, m.fits) for m in found.members]
    np.testing.assert_allclose(mean_values(pairs, X, Z)[:, 0], values, rtol=1e-6, atol=1e-8)
    known = HeldOut(found, X, y[None], folds)
    np.testing.assert_allclose(known.decisions[0], held, rtol=1e-6, atol=1e-8)


@pytest.mark.usefixtures("many_rows")
def test_members_take_the_predictions_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is trained again for them, even where a grid has grown."""
    X, y = problem(40)
    request = request_for(X, y, "gaussian,laplacian", lam="0.001,0.01", growing=frozenset({"lam"}))
    folds = make_folds(request.method, 40, 0, None)
    monkeypatch.setattr(ensemble, "held_out_of", None)
    found = select(X, y[None], request, folds)
    assert found.grown
    assert len(found.members) > 2


@pytest.mark.usefixtures("many_rows")
def test_an_average_of_many_rows_keeps_three_matrices() -> None:
    """The distances of one metric, one kernel, and one factor: with members of four metrics."""
    X, y = problem(1000)
    request = request_for(X, y, lam="1e-2:1e0")
    request = replace(request, kernels=request.kernels[3::4])
    folds = make_folds(request.method, len(X), 0, None)
    tracemalloc.start()
    try:
        found = select(X, y[None], request, folds)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len({one.point.kernel.metric for one in found.members}) > 1
    assert most / (8 * len(X) ** 2) < 3.4  # vectors of all ridges and folds take the rest


def test_the_size_of_an_average() -> None:
    X, y = problem()
    sizes = {
        n: len(KernelSelectRegressorCV(ensemble=n, **SMALL).fit(X, y).members_)
        for n in ("auto", 1, 3)
    }
    assert sizes[1] == 1
    assert sizes[3] == 3
    assert 3 < sizes["auto"] <= 10
    labels = y > 0
    assert len(KernelSelectClassifierCV(**SMALL).fit(X, labels).members_) == 1
    assert len(KernelSelectClassifierCV(ensemble=4, **SMALL).fit(X, labels).members_) > 1
    for wrong in (0, "all", 2.5, True):
        with pytest.raises(ValueError, match=r"ensemble: .* write auto, or a whole number"):
            KernelSelectRegressorCV(ensemble=wrong).fit(X, y)


def test_best_params_name_the_family() -> None:
    X, y = problem()
    model = KernelSelectRegressorCV(**SMALL).fit(X, y)
    chosen = model.best_params_
    assert chosen["kernel"] == model.kernel_.name
    results = model.cv_results_
    assert results["params"][model.best_index_] == chosen
    power = results["param_power"]
    weighted = [name.startswith("weighted") for name in results["param_kernel"]]
    assert (~np.ma.getmaskarray(power)).tolist() == weighted
    assert model.best_score_ == pytest.approx(np.nanmax(results["mean_test_score"]))
    assert model.feature_relevances_.argmax() in (0, 1)


# --- grids that grow ------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", ["grid", "pruned"])
def test_a_growing_grid_finds_what_a_wide_one_does(search: str) -> None:
    """Steps beyond both ends: the result is that of the whole grid, unless four steps are not enough."""
    X, y = problem()
    folds = draw_folds(60, 5, stream(0, "folds"))
    wide = [Gaussian(2.0**i) for i in range(-8, 12)]
    asked = request_for(X, y, "gaussian", ensemble=1, search=search, lam="1e-6:1e1")
    best = select(X, y[None], with_kernels(asked, wide), folds)
    for kept in (wide[3:7], wide[11:14]):
        narrow = with_kernels(asked, kept, growing=frozenset({"tau"}))
        found = select(X, y[None], narrow, folds)
        assert found.kernel == best.kernel
        assert found.score == pytest.approx(best.score)
        assert found.grown
        assert not found.edges
        fixed = select(X, y[None], with_kernels(asked, kept), folds)
        assert fixed.score > found.score
        assert fixed.edges
    far = with_kernels(asked, wide[3:5], growing=frozenset({"tau"}))
    found = select(X, y[None], far, folds)
    assert [k.parameters["tau"] for k in found.request.kernels] == [2.0**i for i in range(-5, 1)]
    assert found.edges


def with_kernels(request: Request, kernels: Any, **more: Any) -> Request:
    """Return the request with other kernels."""
    return replace(request, kernels=tuple(kernels), **more)


@pytest.mark.parametrize("search", ["grid", "pruned"])
def test_lam_grows_for_the_kernels_on_the_features_of_the_choice(search: str) -> None:
    """Four values at once; the Laplacian kernels have infinite scores there, in the surface as well."""
    X, y = problem()
    folds = draw_folds(60, 5, stream(0, "folds"))
    asked = request_for(X, y, "gaussian,laplacian", ensemble=1, search=search, lam="1e0:1e1")
    growing = with_kernels(asked, asked.kernels, growing=frozenset({"lam"}))
    found = select(X, y[None], growing, folds)
    assert found.kernel.name == "gaussian"
    assert found.lam < 1
    assert found.grown == ("lam down to 0.0001",)
    assert found.request.lams == tuple(10.0**i for i in range(-4, 2))
    given = {"ensemble": 1, "search": "grid", "lam": found.request.lams}
    whole = select(X, y[None], request_for(X, y, "gaussian", **given), folds)
    held = HeldOut(found, X, y[None], folds)
    candidates = np.isfinite(held.surface)
    names = np.array([k.name for k in found.request.kernels])
    np.testing.assert_allclose(held.surface[names == "gaussian"], whole.scores, rtol=1e-6)
    expected = (names == "gaussian")[:, None] | (np.array(found.request.lams) >= 1)
    np.testing.assert_array_equal(candidates, expected)
    assert held.by_fold is not None
    np.testing.assert_array_equal(np.isfinite(held.by_fold).all(axis=-1), expected)
    assert found.best.point == whole.best.point
    assert found.size == expected.sum()


# --- no leak, and the same predictions elsewhere --------------------------------------------------------


def table(folder: Path) -> tuple[Path, OwnData]:
    """Return a file with numbers, a category and a number to predict, and how it is read."""
    rng = np.random.default_rng(5)
    X, y = problem(50, 3)
    sizes = np.array(["S", "M", "L"])[rng.integers(3, size=50)]
    lines = [
        ",".join([*(f"{v:.6f}" for v in row), size, f"{t:.6f}"])
        for row, size, t in zip(X, sizes, y, strict=True)
    ]
    path = folder / "t.csv"
    path.write_text("\n".join(["a,b,c,d,e,size,y", *lines]) + "\n")
    return path, read_own(path, None, TableOptions(), "zscore", 1)


FOLD = 2  # its average has several members
Plant = Callable[[pytest.MonkeyPatch, OwnData], None]


def nothing(patch: pytest.MonkeyPatch, data: OwnData) -> None:
    """Plant nothing."""


def relevances_of_all_rows(patch: pytest.MonkeyPatch, data: OwnData) -> None:
    """Let the relevances come from all rows."""
    real, rows = relevances, data.rows
    patch.setattr(families, "relevances", lambda *_: real(rows.X, rows.targets, rows.columns))


def average_corrected_on_all_rows(patch: pytest.MonkeyPatch, data: OwnData) -> None:
    """Shift the members of the average by their mean error on all rows."""
    real = comparing.completed

    def completed(context: Any, X: Any, found: Any, folds: Any) -> Any:
        done = real(context, X, found, folds)

        def corrected(member: Any) -> Any:
            (fit,) = member.fits
            values = mean_values([(member.point.kernel, member.fits)], X, data.X)
            error = float(np.mean(data.target.values[0] - values[:, 0]))
            return replace(member, fits=(replace(fit, bias=fit.bias + error),))

        return replace(done, others=tuple(map(corrected, done.others)))

    patch.setattr(comparing, "completed", completed)


def metric_of_all_rows(patch: pytest.MonkeyPatch, data: OwnData) -> None:
    """Let the learned metric come from a fit on all rows."""
    y = data.target.values[0]

    def scale(X: Array, kernel: Any, fits: Any) -> tuple[float, ...]:
        alpha = np.linalg.solve(kernel.gram(Points(data.X)) + np.eye(len(y)), y)
        return learned_scale(data.X, kernel, [Fit(alpha[None], np.zeros(1))])

    patch.setattr(agop, "learned_scale", scale)


def ranks_of_all_rows(patch: pytest.MonkeyPatch, data: OwnData) -> None:
    """Let the ranks of a value come from all rows."""
    patch.setattr(
        comparing, "fit_preparation", lambda frame, scale, _: fit_preparation(frame, scale)
    )


def one_fold(
    patch: pytest.MonkeyPatch,
    data: OwnData,
    plant: Plant,
    names: tuple[str, ...] = ("auto",),
    **more: Any,
) -> Array:
    """Return the decisions for one outer fold by what was found without it."""

    def ask(some: Rows) -> Request:
        found = make_candidates(names, {}, some)
        how = {"task": "regression", "params": {}, "loss": None, "ensemble": 8, **more}
        return make_request("lssvm", "5-CV", names[0], found.kernels, "1e-4:1e0", **how)

    F = draw_folds(50, 5, stream(0, "outer folds")).members[FOLD]
    one = as_folds([(np.setdiff1d(np.arange(50), F), F)], 50)
    with patch.context() as planted:
        plant(planted, data)
        (found,) = outer_decisions(data, ask, [ask(data.rows).method], one)
    return np.asarray(found[0])


@pytest.mark.parametrize(
    ("plant", "leaks"),
    [(nothing, False), (relevances_of_all_rows, True), (average_corrected_on_all_rows, True)],
)
def test_outer_rows_do_not_change_their_predictions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant, leaks: bool
) -> None:
    """Other targets in the outer fold change its predictions only if a leak is planted."""
    _, data = table(tmp_path)
    before = one_fold(monkeypatch, data, plant)
    F = draw_folds(50, 5, stream(0, "outer folds")).members[FOLD]
    values = data.target.values.copy()
    values[0, F] *= -3.0
    other = replace(data, target=replace(data.target, values=values))
    assert np.array_equal(before, one_fold(monkeypatch, other, plant)) is not leaks


@pytest.mark.parametrize(("plant", "leaks"), [(nothing, False), (metric_of_all_rows, True)])
def test_the_metric_is_learned_from_the_training_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant, leaks: bool
) -> None:
    _, data = table(tmp_path)
    F = draw_folds(50, 5, stream(0, "outer folds")).members[FOLD]
    values = data.target.values.copy()
    values[0, F] *= -3.0
    other = replace(data, target=replace(data.target, values=values))
    how: dict[str, Any] = {"names": ("laplacian",), "metric": "agop", "ensemble": 4}
    one, two = (one_fold(monkeypatch, each, plant, **how) for each in (data, other))
    assert np.array_equal(one, two) is not leaks


@pytest.mark.parametrize(("plant", "leaks"), [(nothing, False), (ranks_of_all_rows, True)])
def test_ranks_come_from_the_training_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant, leaks: bool
) -> None:
    """Other features in one row of the outer fold change no prediction of its other rows."""
    path, _ = table(tmp_path)
    F = draw_folds(50, 5, stream(0, "outer folds")).members[FOLD]
    found = []
    for shift in (0.0, -9.0):
        data = read_own(path, None, TableOptions(), "quantile", 1)
        columns = tuple(v.copy() for v in data.frame.data)
        columns[0][F[0]] += shift
        data = replace(data, frame=replace(data.frame, data=columns))
        found.append(one_fold(monkeypatch, data, plant, ("gaussian",))[1:])
    assert np.array_equal(*found) is not leaks


@pytest.mark.parametrize("leaks", [False, True])
def test_cross_validating_an_estimator_leaks_nothing(
    monkeypatch: pytest.MonkeyPatch, leaks: bool
) -> None:
    """Relevances, grids and the average see the training rows of scikit-learn's folds only."""
    X, y = problem(40)
    tested = np.arange(8)
    if leaks:
        monkeypatch.setattr(families, "relevances", lambda *_: relevances(X, seen[None], None))
    found = []
    for seen in (y, np.where(np.arange(40) < 8, -3.0 * y, y)):
        model = KernelSelectRegressorCV(kernel="weighted-laplacian", ensemble=3, lam="1e-3:1e0")
        pairs = [(np.setdiff1d(np.arange(40), F), F) for F in (tested, np.arange(8, 40))]
        found.append(cross_val_predict(model, X, seen, cv=pairs)[tested])
    assert np.array_equal(*found) is not leaks


PREDICT = """
import sys
from pathlib import Path
import numpy as np
from kselect.datasets.table.further_files import read_like
from kselect.selection.model_file import read_model
from kselect.selection.saved_model import decision
for file, name in zip(sys.argv[1::2], sys.argv[2::2]):
    model = read_model(Path(name))
    X, _ = model.preparation.transform(read_like(Path(file), model.preparation.schema))
    print(decision(model, X).tobytes().hex())
"""


def test_another_process_predicts_as_the_selection(tmp_path: Path) -> None:
    """``fit`` and a new process give the estimator's own average, of a regression and of three classes.

    The files hold the rows once, and a coefficient per member, target and row, for all rows and without each fold.
    """
    path, data = table(tmp_path)
    classes, other = tmp_path / "c.csv", data.X[:45, :3]
    names = np.array(["a", "b", "c"])[np.digitize(other[:, 0], [-0.4, 0.4])].tolist()
    rows = (
        ",".join([*map(repr, row), name]) for row, name in zip(other.tolist(), names, strict=True)
    )
    classes.write_text("\n".join(["u,v,w,y", *rows]) + "\n")
    how: dict[str, Any] = {"kernel": "gaussian", "ensemble": 3, "lam": "1e-3:1e0"}
    typed = [f"--{name}={value}" for name, value in how.items()]
    pairs = []
    for file, flags in ((path, []), (classes, typed)):
        model = file.with_suffix(".npz")
        ran = CliRunner().invoke(cli, ["fit", str(file), *flags, "-o", str(model)])
        assert "average: the mean of" in ran.output
        pairs += [str(file), str(model)]
    line = [sys.executable, "-c", PREDICT, *pairs]
    lines = subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()
    values = [np.frombuffer(bytes.fromhex(one)) for one in lines]
    columns = data.preparation.column_of_feature
    own = KernelSelectRegressorCV(feature_columns=columns).fit(data.X, data.y)
    np.testing.assert_allclose(values[0], own.predict(data.X), rtol=1e-12, atol=1e-12)
    again = read_own(classes, None, TableOptions(), "zscore", 1)
    three = KernelSelectClassifierCV(**how).fit(again.X, again.y)
    expected = three.decision_function(again.X).ravel()
    np.testing.assert_allclose(values[1], expected, rtol=1e-12, atol=1e-12)
    for name, X, members, targets, folds in (  # Jackknife+ has a fold per row
        (pairs[1], data.X, len(own.members_), 1, 50),
        (pairs[3], again.X, len(three.members_), 3, 0),
    ):
        with np.load(name) as found:
            sizes = {member: found[member].size for member in found.files}
        assert sizes.pop("support") == X.size
        coefficients = sizes.pop("alpha") + sizes.pop("fold_alpha", 0)
        assert coefficients <= members * targets * (folds + 1) * len(X)
        del sizes["model"]
        assert sum(sizes.values()) <= 4 * X.shape[1] + (members + 2) * targets * (folds + 1) + 200


def test_models_of_the_first_format_are_read(tmp_path: Path) -> None:
    """A file of a single fit, as kselect wrote it before averages."""
    path, _ = table(tmp_path)
    model = tmp_path / "m.npz"
    typed = ["fit", str(path), "-o", str(model), "--tau", "4", "--lam", "0.01"]
    CliRunner().invoke(cli, typed, catch_exceptions=False)
    before = CliRunner().invoke(cli, ["predict", str(model), str(path)]).output
    with np.load(model) as found:
        arrays = {k: found[k] for k in found.files if k not in ("checksum", "scales")}
    facts = json.loads(arrays["model"].tobytes())
    (one,) = facts.pop("fits")
    facts |= {"format": 1, "kernel_name": one["kernel"], "kernel_params": one["params"]}
    facts["lam"] = one["lam"]
    arrays |= {"alpha": arrays["alpha"][0], "bias": arrays["bias"][0]}
    arrays["model"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    np.savez(model, checksum=checksum(arrays), **arrays)
    assert CliRunner().invoke(cli, ["predict", str(model), str(path)]).output == before
