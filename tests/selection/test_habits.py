"""What users of scikit-learn expect: sparse rows, frames with names, lines of progress."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kselect import KernelSelectClassifierCV, KernelSelectRegressorCV
from kselect.numerics.linalg import Array
from kselect.selection import sklearn_terms

pytestmark = pytest.mark.filterwarnings("ignore::kselect.EdgeWarning")
SMALL: dict[str, Any] = {"tau": "0.5,2,8", "lam": "0.001,0.1"}
NAMES = ["age", "size", "price"]
RNG = np.random.default_rng(0)
X = np.where(RNG.random((40, 3)) < 0.4, RNG.normal(size=(40, 3)), 0.0)
Y = np.stack([X[:, 0] + X[:, 1] ** 2, X[:, 2]], axis=1) + 0.1 * RNG.normal(size=(40, 2))


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array, sp.coo_matrix])
def test_sparse_rows_are_the_dense_ones(form: Any) -> None:
    for make, y in ((KernelSelectRegressorCV, Y), (KernelSelectClassifierCV, Y[:, 0] > 0)):
        plain, other = make(**SMALL).fit(X, y), make(**SMALL).fit(form(X), y)
        np.testing.assert_array_equal(plain.predict(X), other.predict(form(X)))
        assert plain.best_params_ == other.best_params_
    K = form(X @ X.T + np.eye(40))
    given = {"kernel": "precomputed", "lam": SMALL["lam"]}
    np.testing.assert_array_equal(
        KernelSelectRegressorCV(**given).fit(K, Y).predict(K),
        KernelSelectRegressorCV(**given).fit(K.toarray(), Y).predict(K.toarray()),
    )


def test_a_sparse_matrix_that_would_fill_the_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wide = sp.csr_matrix((4, 2**31 - 2))
    fitted = KernelSelectRegressorCV(**SMALL).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"its 4 rows of 2147483646 features need 64.0 GiB, more than 1.0 GiB"
    ):
        KernelSelectRegressorCV(**SMALL).fit(wide, Y[:4])
    monkeypatch.setattr(sklearn_terms, "DENSE", 119)
    with pytest.raises(ValueError, match="TruncatedSVD"):
        fitted.predict(sp.csr_matrix(X))
    fitted.predict(sp.csr_matrix(X[:39]))


def frame_of(kind: str, values: Array, names: list[str]) -> Any:
    """Return a frame of pandas or polars."""
    columns = dict(zip(names, values.T, strict=True))
    return (
        pd.DataFrame(columns)
        if kind == "pandas"
        else pytest.importorskip("polars").DataFrame(columns)
    )


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_keep_their_names(kind: str) -> None:
    frame, targets = frame_of(kind, X, NAMES), frame_of(kind, Y, ["rent", "cost"])
    model = KernelSelectRegressorCV(**SMALL).fit(frame, targets)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.target_names_.tolist() == ["rent", "cost"]
    np.testing.assert_allclose(
        model.predict(frame), KernelSelectRegressorCV(**SMALL).fit(X, Y).predict(X)
    )
    with pytest.raises(ValueError, match="same order as they were in fit"):
        model.predict(frame[NAMES[::-1]])
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(frame_of(kind, X, ["age", "width", "price"]))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)
    one = frame["price"]  # a column of a frame is one target
    again = model.fit(frame, one)
    assert not hasattr(again, "target_names_")
    assert again.predict(frame).shape == (40,)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_transformer_before_it_may_return_frames(kind: str) -> None:
    frame = frame_of(kind, X, NAMES)
    scaler = StandardScaler().set_output(transform=kind)
    model = make_pipeline(scaler, KernelSelectClassifierCV(**SMALL)).fit(frame, Y[:, 0] > 0)
    assert model[-1].feature_names_in_.tolist() == NAMES
    assert model.predict(frame).shape == (40,)


def test_verbose_prints_the_choice_and_the_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    KernelSelectRegressorCV(**SMALL).fit(X, Y)
    assert capsys.readouterr().out == ""
    KernelSelectRegressorCV(**SMALL, verbose=1).fit(X, Y)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("[kselect] chose {'tau': ")
    KernelSelectRegressorCV(**SMALL, verbose=2, criterion="ELOO").fit(X, Y)
    *lines, _ = capsys.readouterr().out.splitlines()
    assert lines == [f"[kselect] {i} of 3 kernels" for i in (1, 2, 3)]
    with pytest.raises(ValueError, match="verbose: -1; write 0, 1 or 2"):
        KernelSelectRegressorCV(verbose=-1).fit(X, Y)
