"""Imputation, encoding and scaling equal scikit-learn's, use training rows only, and repeat exactly."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import EPS
from oracles_tables import prepared_by_sklearn
from problems import scale_rows

from kselect.datasets.prepare import Preparation, Scale, fit_preparation, fit_scale
from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.raw_table import ColumnSpec, FilePlace, Frame, Schema, decision_lines
from kselect.errors import DataError
from kselect.numerics.linalg import Array

SCALES = get_args(Scale)


def frame_of(columns: dict[str, list[Any]]) -> Frame:
    """Return a frame; floats and None are numbers, texts are categories."""
    specs, data = [], []
    for name, values in columns.items():
        texts = any(isinstance(v, str) for v in values)
        specs.append(ColumnSpec(name, "category" if texts else "number"))
        array = np.empty(len(values), dtype=object if texts else float)
        array[:] = values if texts else [np.nan if v is None else v for v in values]
        data.append(array)
    schema = Schema("columns", True, len(specs) + 1, ("y",), tuple(specs))
    return Frame(schema, tuple(data), (), FilePlace(Path("f")), "", ())


@st.composite
def frames(draw: st.DrawFn) -> tuple[Frame, np.ndarray]:
    """Draw numbers and categories, with gaps and constants, and the training rows."""
    n = draw(st.integers(6, 24))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    some = rng.normal(size=n).round(3).tolist()
    gaps = [None if rng.random() < 0.3 else float(v) for v in rng.normal(50, 9, size=n).round(2)]
    frame = frame_of(
        {
            "a": some,
            "b": gaps,
            "c": rng.choice(["no", "yes"], n).tolist(),
            "d": rng.choice(["u", "v", "w", ""], n).tolist(),
            "e": ["k"] * n,
            "f": [7.0] * n,
        }
    )
    train = np.sort(rng.permutation(n)[: draw(st.integers(3, n))])
    return frame, train.astype(np.intp)


@settings(max_examples=30)
@given(frames(), st.sampled_from(SCALES))
def test_the_numbers_equal_those_of_scikit_learn(
    drawn: tuple[Frame, np.ndarray], scale: Scale
) -> None:
    frame, train = drawn
    part = frame.take(train)
    if np.isnan(part.data[1]).all():
        return  # scikit-learn uses 0 there; see below
    X, _ = fit_preparation(frame, scale, train).transform(frame)
    expected = prepared_by_sklearn(part, frame, scale)
    varies = np.ptp(X[train], axis=0) > 0
    if scale != "none":  # a constant becomes 0; scikit-learn gives 0 or -1
        assert not X[train][:, ~varies].any()
        X, expected = X[:, varies], expected[:, varies]
    np.testing.assert_allclose(X, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=30)
@given(frames(), st.sampled_from(SCALES))
def test_held_out_rows_have_no_influence(drawn: tuple[Frame, np.ndarray], scale: Scale) -> None:
    """Leak test: the values of held-out rows do not change a single bit of the preparation."""
    frame, train = drawn
    others = np.setdiff1d(np.arange(frame.n), train)
    data = tuple(values.copy() for values in frame.data)
    for values in data:
        values[others] = "planted" if values.dtype == object else 1e6
    planted = Frame(frame.schema, data, (), frame.place, "", ())
    one, two = (fit_preparation(f, scale, train) for f in (frame, planted))
    assert one.levels == two.levels
    for name in ("medians", "shift", "divisor"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
    X, _ = one.transform(frame)
    Z, _ = two.transform(frame)
    assert X.tobytes() == Z.tobytes()


def test_a_leak_would_be_detected() -> None:
    """Preparing from all rows instead of the training rows changes what the leak test compares."""
    frame = frame_of({"a": [1.0, None, 3.0, 1000.0], "c": ["u", "v", "u", "w"]})
    train = np.array([0, 1, 2])
    leak, right = fit_preparation(frame, "zscore"), fit_preparation(frame, "zscore", train)
    assert (leak.medians[0], right.medians[0]) == (3, 2)
    assert (leak.levels[1], right.levels[1]) == (("u", "v", "w"), ("u", "v"))
    assert not np.array_equal(leak.shift[:1], right.shift[:1])


@given(frames(), st.sampled_from(SCALES))
def test_a_preparation_reads_back_to_the_bit(drawn: tuple[Frame, np.ndarray], scale: Scale) -> None:
    frame, train = drawn
    made = fit_preparation(frame, scale, train)
    plain = asdict(made)
    arrays = {k: np.frombuffer(plain.pop(k).tobytes()) for k in ("medians", "shift", "divisor")}
    again = Preparation.from_dict({**json.loads(json.dumps(plain)), **arrays})
    assert again.transform(frame)[0].tobytes() == made.transform(frame)[0].tobytes()
    assert (again.schema, again.names) == (made.schema, made.names)


@pytest.mark.parametrize("scale", SCALES)
def test_numeric_columns_equal_scale_rows(scale: Scale, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numeric columns give the bits of ``scale_rows``, without scikit-learn."""
    monkeypatch.setitem(sys.modules, "sklearn.compose", None)
    X = np.random.default_rng(0).normal(size=(20, 3)) * [1, 1e9, 0]
    frame = frame_of({name: X[:, i].tolist() for i, name in enumerate("abc")})
    made = fit_preparation(frame, scale, np.arange(12))
    assert made.transform(frame)[0].tobytes() == scale_rows(X, scale, X[:12]).tobytes()
    np.testing.assert_array_equal(made.medians, np.median(X[:12], axis=0))


def test_names() -> None:
    frame = frame_of(
        {"a": [1.0, 2, 3], "b": ["no", "yes", "no"], "c": ["u", "", "v"], "d": ["k"] * 3}
    )
    names = fit_preparation(frame, "none").names
    assert names == ("a", "b=yes", "c=(missing)", "c=u", "c=v", "d=k")
    X, _ = fit_preparation(frame, "none").transform(frame)
    assert X.tolist() == [[1, 0, 0, 1, 0, 1], [2, 1, 1, 0, 0, 1], [3, 0, 0, 0, 1, 1]]


def test_levels_absent_from_training_are_reported() -> None:
    frame = frame_of(
        {"a": ["u", "v", "w", "x", "", "y", "z"], "b": ["no", "yes", "no", "maybe", "no", "", "no"]}
    )
    made = fit_preparation(frame, "none", np.arange(3))
    X, decisions = made.transform(frame)
    assert X[3:].tolist() == [[0, 0, 0, 0]] * 4
    assert [str(d) for d in decisions] == [
        "column a (4 rows): missing, 'x', 'y' and 1 more not in the training rows: read as none of the values",
        "column b (2 rows): missing, 'maybe' not in the training rows: read as 'no'",
    ]
    assert made.transform(frame.take(np.arange(3)))[1] == ()


def test_a_column_without_training_values_becomes_zero() -> None:
    """A column without any training value becomes 0, because 1e6 against zeros would have no scale."""
    frame = frame_of({"a": [None, None, 1e6], "b": [1.0, 2, 3]})
    for scale in SCALES:
        X, _ = fit_preparation(frame, scale, np.arange(2)).transform(frame)
        assert X[:, 0].tolist() == [0, 0, 0]
        assert np.isfinite(X).all()


def test_levels_are_not_scaled() -> None:
    """Levels are not scaled: the z-score of a level with one row would be sqrt(n)."""
    frame = frame_of({"c": ["u"] * 50 + ["v"] * 49 + ["w"]})
    for scale in SCALES:
        X, _ = fit_preparation(frame, scale).transform(frame)
        assert set(X.ravel()) == {0.0, 1.0}


def test_another_frame_is_refused() -> None:
    made = fit_preparation(frame_of({"a": [1.0, 2]}), "none")
    with pytest.raises(DataError, match="f: its columns are not those that the preparation was"):
        made.transform(frame_of({"b": [1.0, 2]}))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"scale": "log"}, ValueError),
        ({"levels": [[]]}, ValueError),
        ({"levels": [[], [1, 2]]}, TypeError),
        ({"levels": [[], ["u", "v", "w"]]}, ValueError),
        ({"medians": np.zeros(1)}, ValueError),
        ({"shift": np.zeros(1)}, ValueError),
        ({"schema": {"form": "columns", "columns": []}}, ValueError),
        ({"schema": {"form": "columns", "columns": [{"name": "a", "kind": "code()", "form": ""}]}}, ValueError),
        ({"schema": {}}, KeyError),
    ],
)  # fmt: skip
def test_invalid_stored_preparations(change: dict[str, Any], error: type[Exception]) -> None:
    plain = asdict(fit_preparation(frame_of({"a": [1.0, 2], "c": ["u", "v"]}), "zscore"))
    assert Preparation.from_dict(plain).names == ("a", "c=v")
    with pytest.raises(error):
        Preparation.from_dict({**plain, **change})


def test_from_a_file_to_a_matrix(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,sex,port,y\n20,m,S,0\n,f,C,1\n40,m,,1\n60,f,S,0\n")
    frame = read_frame(path, None)
    made = fit_preparation(frame, "none")
    assert made.names == ("age", "sex=m", "port=(missing)", "port=C", "port=S")
    assert made.transform(frame)[0].tolist() == [
        [20, 1, 0, 0, 1], [40, 0, 0, 1, 0], [40, 1, 1, 0, 0], [60, 0, 0, 0, 1],
    ]  # fmt: skip


@pytest.mark.parametrize("scale", ["zscore", "minmax", "none"])
def test_columns_at_once_equal_columns_one_by_one(
    scale: Scale, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All columns at once and column by column give the same decisions, preparation and result, to the bit."""
    rng = np.random.default_rng(4)
    y = np.arange(12) % 3
    columns = [
        rng.normal(size=12),
        2.0 * y,
        np.full(12, 7.0),
        np.arange(12.0),
        np.arange(1.0, 13.0),
    ]
    columns += [np.round(rng.normal(size=12)), np.r_[np.zeros(11), 1.0], y[::-1] * 1.0]
    path = tmp_path / "a.svm"
    lines = zip(y.tolist(), np.transpose(columns).tolist(), strict=True)
    path.write_text(
        "".join(
            f"{c} " + " ".join(f"{i}:{v!r}" for i, v in enumerate(x, 1)) + "\n" for c, x in lines
        )
    )
    found = []
    for one_by_one in (False, True):
        if one_by_one:
            monkeypatch.setattr(Frame, "numbers", None)
        frame = read_frame(path, None)
        assert (frame.numbers is None) is one_by_one
        fitted = [fit_preparation(frame, scale, rows) for rows in (None, np.arange(2, 9))]
        arrays = [(p.medians, p.shift, p.divisor, p.transform(frame)[0]) for p in fitted]
        found.append((decision_lines(frame.decisions), fitted[1].levels, arrays))
    fast, slow = found
    assert fast[0] == slow[0]
    assert len(fast[0]) == 3
    assert fast[1] == slow[1]
    for pair in zip(fast[2], slow[2], strict=True):
        for mine, theirs in zip(*pair, strict=True):
            np.testing.assert_array_equal(mine, theirs)
            assert mine.flags.c_contiguous


# --- scaling ----------------------------------------------------------------------------------------

EVERY_SCALE = pytest.mark.parametrize("scale", ["zscore", "minmax", "none"])


def random_rows(seed: int, n: int = 20) -> Array:
    """Return columns of different location and width."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)) * [1.0, 100.0, 1e-3, 5.0] + [0.0, 50.0, 3.0, -7.0]


@given(st.integers(0, 2**32 - 1))
def test_zscore(seed: int) -> None:
    """The mean is 0 and the population's standard deviation 1; a shift costs eps |mean| / sd."""
    X = random_rows(seed)
    Z = scale_rows(X, "zscore", X)
    bound = 20 * EPS * (1 + np.abs(X).max(axis=0) / X.std(axis=0)) * 4
    assert (np.abs(Z.mean(axis=0)) <= bound).all()
    assert (np.abs(np.sqrt((Z**2).sum(axis=0) / 20) - 1) <= bound).all()


@given(st.integers(0, 2**32 - 1))
def test_minmax(seed: int) -> None:
    """The columns fill [-1, 1] up to both ends."""
    X = random_rows(seed)
    Z = scale_rows(X, "minmax", X)
    bound = 4 * EPS * (1 + np.abs(X).max(axis=0) / np.ptp(X, axis=0)) * 4
    assert (np.abs(Z.min(axis=0) + 1) <= bound).all()
    assert (np.abs(Z.max(axis=0) - 1) <= bound).all()


def test_none_changes_nothing() -> None:
    """The numbers are unchanged, in a new array."""
    X = random_rows(0)
    Z = scale_rows(X, "none", X)
    np.testing.assert_array_equal(Z, X)
    assert not np.shares_memory(Z, X)


@pytest.mark.parametrize("scale", ["zscore", "minmax"])
def test_fitted_on_the_given_rows(scale: Any) -> None:
    """Training rows are scaled, and other rows get the same shift and divisor."""
    X = random_rows(1)
    on_train, on_all = scale_rows(X, scale, X[:12]), scale_rows(X, scale, X)
    np.testing.assert_array_equal(on_train[:12], scale_rows(X[:12], scale, X[:12]))
    assert np.abs(on_train - on_all).max() > 1e-3
    moved = X.copy()
    moved[12:] += 1000.0
    np.testing.assert_array_equal(scale_rows(moved, scale, X[:12])[:12], on_train[:12])
    assert np.abs(scale_rows(moved, scale, moved)[:12] - on_all[:12]).max() > 1e-3


@pytest.mark.parametrize("scale", ["zscore", "minmax"])
@pytest.mark.parametrize("value", [0.0, 0.1, -3.0, 1e308, 5e-324])
def test_constant_column_is_exactly_zero(scale: Any, value: float) -> None:
    """A constant column becomes 0, without division by zero or inflated rounding errors of the mean."""
    X = random_rows(2)
    X[:, 1] = value
    Z = scale_rows(X, scale, X)
    np.testing.assert_array_equal(Z[:, 1], 0.0)
    assert np.isfinite(Z).all()


@pytest.mark.parametrize("scale", ["zscore", "minmax"])
def test_constant_in_training_only(scale: Any) -> None:
    """A column that varies only in the test rows is shifted but not stretched."""
    X = np.array([[2.0], [2.0], [5.0]])
    np.testing.assert_array_equal(scale_rows(X, scale, X[:2]), [[0.0], [0.0], [3.0]])


@EVERY_SCALE
@pytest.mark.parametrize("power", [-1000, -500, 500, 1000])
def test_units_do_not_matter(scale: Any, power: int) -> None:
    """A power of two as the unit gives the same scaled rows to the last bits, without overflow or warning."""
    X = np.random.default_rng(3).normal(size=(20, 2))
    Z, expected = (scale_rows(A, scale, A) for A in (np.ldexp(X, power), X))
    if scale != "none":
        np.testing.assert_allclose(Z, expected, rtol=1e-12)


@EVERY_SCALE
def test_huge_values(scale: Any) -> None:
    """Values of 1e308 of both signs stay finite and keep their order."""
    X = np.array([[1.7e308, 1.0], [-1.7e308, 2.0], [1e308, 3.0], [0.0, 4.0]])
    Z = scale_rows(X, scale, X)
    assert np.isfinite(Z).all()
    np.testing.assert_array_equal(np.argsort(Z[:, 0]), np.argsort(X[:, 0]))
    if scale == "zscore":
        np.testing.assert_allclose(
            Z, scale_rows(X * [1e-300, 1.0], scale, X * [1e-300, 1.0]), rtol=1e-12
        )


@pytest.mark.parametrize("scale", ["zscore", "minmax"])
@pytest.mark.parametrize("base", [2.0**53 - 20, 2.0**53 + 40, -(2.0**60), 2.0**40, 1e9, 1e6, 3.0])
def test_a_narrow_column_far_from_zero(base: float, scale: Any) -> None:
    """Compare with fractions: the middle of such a column is not a floating-point number."""
    step = max(float(np.spacing(abs(base))), 1.0)
    X = base + step * np.random.default_rng(7).integers(0, 11, size=(12, 2))
    X[:, 1] /= 3.0
    for column, found in zip(X.T, scale_rows(X, scale, X).T, strict=True):
        exact = [Fraction(v) for v in column.tolist()]
        middle = sum(exact, Fraction()) / 12 if scale == "zscore" else (min(exact) + max(exact)) / 2
        square = sum((v - middle) ** 2 for v in exact) / 12
        spread = float(square) ** 0.5 if scale == "zscore" else float(max(exact) - min(exact)) / 2
        want = [float(v - middle) / spread for v in exact]
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-8)
    frame = frame_of({"a": X[:, 0].tolist(), "b": X[:, 1].tolist(), "c": list("uvw") * 4})
    made = fit_preparation(frame, scale)
    again = Preparation.from_dict(asdict(made))
    np.testing.assert_array_equal(made.transform(frame)[0][:, :2], scale_rows(X, scale, X))
    np.testing.assert_array_equal(again.transform(frame)[0], made.transform(frame)[0])


@pytest.mark.parametrize("scale", ["zscore", "minmax"])
def test_shift_and_divisor(scale: Any) -> None:
    """scale_rows applies the shift and divisor of fit_scale."""
    X = random_rows(4)
    shift, divisor = fit_scale(X, scale)
    np.testing.assert_allclose(scale_rows(X, scale, X), (X - shift) / divisor, rtol=1e-15)
