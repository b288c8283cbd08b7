"""Model files: a model is read back unchanged, and any other file is refused."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kselect.selection.result as result
from kselect.core.method import Choice
from kselect.datasets.prepare import fit_preparation
from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.further_files import read_like
from kselect.datasets.table.target import as_target
from kselect.errors import DataError
from kselect.formats import MODEL, OtherFormat
from kselect.kernels import Points
from kselect.numerics.sigmoid import fit_slope
from kselect.selection.engine import select
from kselect.selection.model_file import checksum, read_model, write_model
from kselect.selection.request import Request, make_folds, make_kernels, make_lams, make_method
from kselect.selection.result import Selection
from kselect.selection.saved_model import (
    SavedModel,
    decision,
    model_of,
    predict,
    predicted_classes,
)

GRIDS: dict[str, Any] = {"gaussian": {"tau": "1,4"}, "polynomial": {"degree": "1,2"}}


def table(classes: int, n: int = 40) -> str:
    """Return a CSV text with a gap, a category, and a target of classes or numbers."""
    rng = np.random.default_rng(classes)
    lines = ["x,size,y"]
    for i in range(n):
        x, size = rng.normal(), ("S", "M", "L")[rng.integers(3)]
        y = f"{x:.4f}" if not classes else "class " + "uvw"[int(3 * i / n) % classes]
        lines.append(f"{'' if i == 5 else f'{x:.6f}'},{size},{y}")
    return "\n".join(lines) + "\n"


def fitted(folder: Path, classes: int = 2, **more: Any) -> tuple[SavedModel, Any, Selection]:
    """Return a model selected on a file, the prepared rows, and the selection."""
    path = folder / f"{classes}.csv"
    path.write_text(table(classes))
    frame = read_frame(path, None)
    target = as_target(frame, None)
    preparation = fit_preparation(frame, "zscore")
    X, _ = preparation.transform(frame)
    method = make_method("5-CV", None, {}, classes > 0)
    name = more.pop("kernel", "gaussian")
    kernels = make_kernels(name, GRIDS.get(name, {}))
    request = Request(Choice("lssvm"), kernels, make_lams("0.01,0.1"), method, **more)
    folds = make_folds(method, len(X), 0, None)
    found = select(X, target.values, request, folds)
    support = X if found.support is None else found.support
    K = found.kernel.gram(Points(X, support))
    held_out = np.array([fit.decision(0, K) for fit in found.best.fits])
    slope = fit_slope(held_out, target.values) if classes else None
    facts = {"criterion": "5-CV", "score": found.score, "warnings": found.edges, "nothing": None}
    return model_of(found, X, target, preparation, facts, slope), X, found


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, SavedModel]:
    """Return a model of two classes and its file."""
    model, _, _ = fitted(tmp_path)
    path = tmp_path / "model.npz"
    write_model(path, model)
    return path, model


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize(
    "more", [{}, {"kernel": "linear"}, {"kernel": "polynomial"}, {"nystrom": 8}], ids=str
)
def test_a_saved_model_is_read_back_unchanged(
    tmp_path: Path, classes: int, more: dict[str, Any]
) -> None:
    model, X, found = fitted(tmp_path, classes, **more)
    path = tmp_path / "model.npz"
    write_model(path, model)
    back = read_model(path)
    for name in SavedModel.__dataclass_fields__:
        if name == "support":
            assert back.support.tobytes() == model.support.tobytes()
        elif name == "fitted":
            for mine, other in zip(back.fitted, model.fitted, strict=True):
                assert (mine.kernel, mine.lam) == (other.kernel, other.lam)
                assert mine.alpha.tobytes() == other.alpha.tobytes()
                assert mine.bias.tobytes() == other.bias.tobytes()
        elif name != "preparation":
            assert getattr(back, name) == getattr(model, name)
    assert decision(back, X).tobytes() == decision(model, X).tobytes()
    # The decisions of the selection's own fit, on the rows of the file.
    support = X if found.support is None else found.support
    K = found.kernel.gram(Points(X, support))
    values = np.stack([fit.decision(0, K) for fit in found.best.fits], axis=1)
    np.testing.assert_allclose(decision(back, X), values, rtol=1e-12, atol=1e-12)
    prepared, _ = back.preparation.transform(
        read_like(tmp_path / f"{classes}.csv", back.preparation.schema)
    )
    assert prepared.tobytes() == X.tobytes()


def test_equal_models_are_equal_bytes(saved: tuple[Path, SavedModel], tmp_path: Path) -> None:
    path, model = saved
    write_model(tmp_path / "again.npz", model)
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()
    write_model(tmp_path / "back.npz", read_model(path))
    assert (tmp_path / "back.npz").read_bytes() == path.read_bytes()


def test_block_size_does_not_change_predictions(
    saved: tuple[Path, SavedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, model = saved
    X = np.random.default_rng(1).normal(size=(23, 4))
    whole = decision(model, X)
    for entries in (1, 90):
        monkeypatch.setattr(result, "ENTRIES_AT_ONCE", entries)
        np.testing.assert_allclose(decision(model, X), whole, rtol=1e-12, atol=1e-13)
    assert decision(model, X[:0]).shape == (0, 1)


def test_classes_and_probabilities(tmp_path: Path) -> None:
    two, X, _ = fitted(tmp_path, 2)
    values = decision(two, X)
    names = predicted_classes(two, values)
    assert names == ["class v" if v > 0 else "class u" for v in values[:, 0]]
    frame = read_frame(tmp_path / "2.csv", None)
    p = predict(two, frame).probabilities
    assert p is not None
    assert p.shape == (len(X), 2)
    assert predict(replace(two, slope=None), frame).probabilities is None
    three, X, _ = fitted(tmp_path, 3)
    values = decision(three, X)
    assert predicted_classes(three, values) == [three.classes[i] for i in values.argmax(axis=1)]


def test_rows_without_a_coefficient_are_left_out(tmp_path: Path) -> None:
    model, X, found = fitted(tmp_path)
    (fit,) = found.best.fits
    for kept in (3, 0):
        alpha = np.where(np.arange(len(X)) < kept, fit.alpha, 0.0)
        best = replace(found.best, fits=(replace(fit, alpha=alpha),))
        sparse = replace(found, best=best)
        target = as_target(read_frame(tmp_path / "2.csv", None), None)
        small = model_of(sparse, X, target, model.preparation, {})
        assert len(small.support) == max(kept, 1)
        K = found.kernel.gram(Points(X))
        np.testing.assert_allclose(decision(small, X)[:, 0], K @ alpha[0] + fit.bias[0], atol=1e-12)
        write_model(tmp_path / "small.npz", small)
        assert read_model(tmp_path / "small.npz").support.shape == small.support.shape


def one_line(path: Path) -> str:
    """Return the single line that refuses a file."""
    with pytest.raises((DataError, OtherFormat)) as error:
        read_model(path)
    text = str(error.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


@given(data=st.data())
def test_a_changed_byte_is_never_misread(data: st.DataObject) -> None:
    """A file with a changed byte gives the same model or is refused."""
    path, raw, X, expected = planted()
    position = data.draw(st.integers(0, len(raw) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda b: b != raw[position]))
    path.write_bytes(raw[:position] + bytes([value]) + raw[position + 1 :])
    found = attempt(path)
    if found is not None:  # an irrelevant byte of the archive, such as a date
        assert decision(found, X).tobytes() == expected


def attempt(path: Path) -> SavedModel | None:
    """Return the model, or None if the file is refused."""
    try:
        return read_model(path)
    except DataError:
        return None


KEPT: list[Any] = []


def planted() -> tuple[Path, bytes, Any, bytes]:
    """Return one model for many examples."""
    if not KEPT:
        import tempfile

        folder = Path(tempfile.mkdtemp())
        model, X, _ = fitted(folder)
        write_model(folder / "m.npz", model)
        raw = (folder / "m.npz").read_bytes()
        KEPT.append((folder / "m.npz", raw, X, decision(model, X).tobytes()))
    found: tuple[Path, bytes, Any, bytes] = KEPT[0]
    return found


def test_cut_files(saved: tuple[Path, SavedModel]) -> None:
    path, _ = saved
    raw = path.read_bytes()
    for length in [*range(0, len(raw), 97), len(raw) - 1]:
        path.write_bytes(raw[:length])
        assert one_line(path) == "not a complete model file of kselect"


def test_missing_and_foreign_files_are_refused(tmp_path: Path) -> None:
    assert one_line(tmp_path / "nowhere") == "No such file or directory"
    assert one_line(tmp_path) == "Is a directory"
    path = tmp_path / "other"
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    content = io.BytesIO()
    np.save(content, np.zeros(3))
    others = (
        b"", b"x,y\n1,2\n", pickle.dumps({"a": 1}), content.getvalue(), (tmp_path / "other.npz").read_bytes(),
    )  # fmt: skip
    for raw in others:
        path.write_bytes(raw)
        assert one_line(path) == "not a complete model file of kselect"


Change = Callable[[dict[str, Any]], None]


def altered(path: Path, change: Change, seal: bool = True, **arrays: Any) -> None:
    """Write the file with other facts or arrays; if ``seal``, with a matching checksum."""
    with np.load(path) as found:
        members = {name: found[name] for name in found.files if name != "checksum"}
        old = found["checksum"]
    facts = json.loads(members["model"].tobytes())
    change(facts)
    members |= {"model": np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8), **arrays}
    np.savez(path, checksum=checksum(members) if seal else old, **members)


def nothing(facts: dict[str, Any]) -> None:
    """Change nothing."""


def test_a_newer_format_is_refused_by_its_version(saved: tuple[Path, SavedModel]) -> None:
    path, _ = saved
    altered(path, lambda facts: facts.update(format=MODEL.newest + 1, kselect_version="9.9"))
    assert one_line(path).startswith(
        f"a model file of format {MODEL.newest + 1}, written by kselect 9.9; kselect "
    )
    altered(path, lambda facts: facts.update(kind="another model"))
    assert one_line(path) == "not a model file of kselect"


def test_a_file_of_format_2_has_one_target(saved: tuple[Path, SavedModel]) -> None:
    path, model = saved

    def older(facts: dict[str, Any]) -> None:
        (facts["preparation"]["schema"]["target"],) = facts["preparation"]["schema"].pop("targets")
        facts["format"] = 2

    altered(path, older)
    assert read_model(path).preparation.schema == model.preparation.schema
    altered(path, lambda facts: facts["preparation"]["schema"].update(target=""))  # svmlight
    assert read_model(path).preparation.schema.targets == ()


def test_the_checksum_covers_all(saved: tuple[Path, SavedModel]) -> None:
    path, model = saved
    whole = path.read_bytes()
    changes: list[tuple[Change, dict[str, Any]]] = [
        (lambda facts: facts["fits"][0].update(lam=2.0), {}),
        (lambda facts: facts["fits"][0]["params"].update(tau=2.0), {}),
        (nothing, {"alpha": model.fitted[0].alpha[None] + 1e-300 + 1e-3}),
        (nothing, {"bias": -model.fitted[0].bias[None]}),
        (nothing, {"support": model.support[:, ::-1].copy()}),
        (nothing, {"shift": model.preparation.shift + 1}),
    ]
    for change, arrays in changes:
        path.write_bytes(whole)
        altered(path, change, seal=False, **arrays)
        assert (
            one_line(path)
            == "the checksum is wrong: the file was altered or damaged; fit the model again"
        )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.update(task="ranking"), "unknown task 'ranking'"),
        (lambda f: f["fits"][0].update(kernel="os.system"), "unknown kernel 'os.system'"),
        (lambda f: f["fits"][0].update(params={"tau": -1.0}), "tau must be positive, not -1"),
        (lambda f: f["fits"][0].update(params={"tau": "red"}), "could not convert"),
        (lambda f: f["fits"][0].update(params={"sigma": 1.0}), "unexpected keyword"),
        (lambda f: f.update(classes=["u"]), "1 classes in a classification"),
        (lambda f: f.update(classes=[]), "0 classes in a classification"),
        (lambda f: f.update(classes=["u", "v", "w"]), "coefficients of 40 rows for 3 targets"),
        (lambda f: f.update(classes=[1, 2]), "1 is not a text"),
        (lambda f: f.update(slope=-1.0), "a slope of -1.0 in a classification"),
        (lambda f: f.update(slope="steep"), "could not convert"),
        (lambda f: f["fits"][0].pop("lam"), "'lam'"),
        (lambda f: f["fits"].clear(), "is longer than"),
        (lambda f: f["fits"][0].update(scale=0, power=1.0, origin="weighted"), "out of bounds"),
        (lambda f: f["fits"][0].update(lam=-1.0), "a regularisation parameter of -1.0"),
        (lambda f: f["preparation"].update(scale="log"), "no scale 'log'"),
        (lambda f: f["preparation"].update(levels=[[], ["S", "M"]]), "not one shift"),
        (lambda f: f["preparation"]["schema"]["columns"].pop(), "not one median"),
    ],
)
def test_inconsistent_facts_are_refused(
    saved: tuple[Path, SavedModel], change: Change, said: str
) -> None:
    path, _ = saved
    altered(path, change)
    assert said in one_line(path)
    assert one_line(path).startswith("a model file with an invalid part: ")


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"alpha": np.zeros((1, 1, 7))}, "(1, 7) coefficients of 40 rows for 1 targets"),
        ({"bias": np.zeros((1, 2))}, "coefficients of 40 rows"),
        ({"support": np.zeros((40, 3))}, "rows of 3 features; the preparation makes 4"),
        ({"support": np.zeros(40)}, "not enough values"),
        ({"bias": np.array([[np.nan]])}, "a coefficient is not finite"),
        ({"shift": np.zeros(3)}, "not one shift and one divisor per feature"),
        ({"shift": np.array([0, np.inf, 0, 0])}, "a shift that is not finite"),
        ({"divisor": np.zeros(4)}, "a divisor that is not positive"),
        ({"divisor": np.full(4, np.nan)}, "a divisor that is not positive"),
        ({"medians": np.full(2, np.inf)}, "a median that is not finite"),
    ],
)
def test_inconsistent_arrays_are_refused(
    saved: tuple[Path, SavedModel], arrays: dict[str, Any], said: str
) -> None:
    path, _ = saved
    altered(path, nothing, **arrays)
    assert said in one_line(path)


def test_nothing_runs_when_a_model_is_read(saved: tuple[Path, SavedModel], tmp_path: Path) -> None:
    """A pickle in the place of an array is not loaded."""

    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "sprung",)

    path, _ = saved
    with np.load(path) as found:
        members = {name: found[name] for name in found.files}
    members["alpha"] = np.array([Trap()], dtype=object)
    np.savez(path, allow_pickle=True, **members)
    assert one_line(path) == "not a complete model file of kselect"
    assert not (tmp_path / "sprung").exists()


def test_packed_members_are_refused(saved: tuple[Path, SavedModel]) -> None:
    """Compressed members are refused, since a few bytes could unpack to more than the memory."""
    path, _ = saved
    with np.load(path) as found:
        np.savez_compressed(path, **{name: found[name] for name in found.files})
    assert one_line(path) == "not a complete model file of kselect"


def test_a_member_that_is_marked_as_encrypted(saved: tuple[Path, SavedModel]) -> None:
    """One bit of the central directory; zipfile then asks for a password."""
    path, _ = saved
    raw = bytearray(path.read_bytes())
    flags = raw.index(b"PK\1\2") + 8
    raw[flags] |= 1
    path.write_bytes(raw)
    assert one_line(path) == "not a complete model file of kselect"


def test_an_array_that_claims_to_be_huge(saved: tuple[Path, SavedModel]) -> None:
    path, _ = saved
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (2**50,)}
    )
    with np.load(path) as found:
        names = [name for name in found.files if name != "alpha"]
        members = {name: found[name] for name in names}
    np.savez(path, **members)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("alpha.npy", header.getvalue() + bytes(80))
    assert one_line(path) == "not a complete model file of kselect"


def test_unwritable_files_are_reported(saved: tuple[Path, SavedModel], tmp_path: Path) -> None:
    path, model = saved
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_model(path, replace(model, choice={"score": float("nan")}))
    assert path.read_bytes() == before
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"file/m\.npz: "):
        write_model(tmp_path / "file" / "m.npz", model)


PREDICT = """
import sys
from pathlib import Path
import numpy as np
from kselect.datasets.table.further_files import read_like
from kselect.selection.model_file import read_model
from kselect.selection.saved_model import decision
model = read_model(Path(sys.argv[1]))
X, _ = model.preparation.transform(read_like(Path(sys.argv[2]), model.preparation.schema))
print(decision(model, X).tobytes().hex())
print([m for m in ("sklearn", "pandas", "pickle5") if m in sys.modules])
"""


def test_another_process_predicts_the_same(saved: tuple[Path, SavedModel], tmp_path: Path) -> None:
    """Another process predicts the same to 1e-12 without importing scikit-learn or pandas."""
    path, model = saved
    run = subprocess.run(
        [sys.executable, "-c", PREDICT, str(path), str(tmp_path / "2.csv")],
        capture_output=True,
        text=True,
        check=True,
    )
    values, loaded = run.stdout.splitlines()
    X, _ = model.preparation.transform(read_frame(tmp_path / "2.csv", None))
    theirs = np.frombuffer(bytes.fromhex(values)).reshape(-1, 1)
    np.testing.assert_allclose(theirs, decision(model, X), rtol=1e-12, atol=1e-12)
    assert loaded == "[]"


def test_the_slope_comes_back_to_the_last_bit(saved: tuple[Path, SavedModel]) -> None:
    path, model = saved
    odd = 0.1 + 0.2
    write_model(path, replace(model, slope=odd))
    assert read_model(path).slope == odd
