"""A fitted model in one .npz file, and the predictions it makes: plain arrays and one JSON text, no pickled code.

The members are stored uncompressed. ``model`` holds the JSON text as bytes, ``checksum`` the SHA-256 of all other
members. A file that is truncated, altered or of a newer format is refused, never misread.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from kselect import __version__
from kselect.datasets.prepare import Preparation, text_of
from kselect.datasets.registry import Task
from kselect.datasets.table.column_inference import canonical
from kselect.datasets.table.raw_table import Frame, ReadingDecision
from kselect.datasets.table.target import Target
from kselect.datasets.table.written_values import MISSING, is_finite
from kselect.errors import DataError, KselectError, brief
from kselect.files import write_named
from kselect.grids import show_number
from kselect.kernels import KERNELS, Kernel
from kselect.learners import Fit
from kselect.numerics.linalg import Array
from kselect.numerics.sigmoid import codes, probabilities
from kselect.selection.engine import Selection, decision_values

KIND = "kselect model"
FORMAT = 1
MEMBERS = frozenset(
    {"alpha", "bias", "support", "medians", "shift", "divisor", "model", "checksum"}
)
# The fields of a model in the JSON text, in the order of the file.
PLAIN_FIELDS = (
    *("kselect_version", "task", "classes", "learner", "learner_params", "kernel_name"),
    *("kernel_params", "lam", "choice", "slope"),
)
UNREADABLE = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, MemoryError),
    *(zipfile.BadZipFile, NotImplementedError, OverflowError),
    RuntimeError,  # zipfile raises it for a member that is marked as encrypted
)


@dataclass(frozen=True, eq=False)
class SavedModel:
    """Everything that a prediction needs, as plain values, but for a kernel of a plug-in: that file is needed too.

    ``alpha`` (q, m) and ``bias`` (q,) are the coefficients of each target on the prepared rows ``support`` (m, d).
    ``slope`` turns decision values into probabilities. ``choice`` holds the facts of the selection as JSON values.
    """

    kselect_version: str
    task: Task
    classes: tuple[str, ...]
    learner: str
    learner_params: Mapping[str, Any]
    kernel_name: str
    kernel_params: Mapping[str, float]
    lam: float
    choice: Mapping[str, Any]
    preparation: Preparation
    alpha: Array
    bias: Array
    support: Array
    slope: float | None = None

    @property
    def kernel(self) -> Kernel:
        """The kernel with its parameters."""
        return KERNELS.find(self.kernel_name).of(self.kernel_params)


def model_of(
    selection: Selection,
    X: Array,
    target: Target,
    preparation: Preparation,
    choice: Mapping[str, Any],
    slope: float | None = None,
) -> SavedModel:
    """Return the fit of a selection on the prepared rows X, without rows whose coefficients are all zero."""
    support = X if selection.support is None else selection.support
    alpha = np.stack([fit.alpha[0] for fit in selection.best.fits])
    used = np.any(alpha != 0, axis=0)
    used[:1] |= not used.any()  # a kernel needs a row, even if the fit is only a bias
    return SavedModel(
        kselect_version=__version__,
        task=target.task,
        classes=target.classes,
        learner=selection.request.learner.name,
        learner_params=dict(selection.request.learner.params),
        kernel_name=selection.kernel.name,
        kernel_params=selection.kernel.parameters,
        lam=selection.lam,
        choice=choice,
        preparation=preparation,
        alpha=alpha[:, used],
        bias=np.array([fit.bias[0] for fit in selection.best.fits]),
        support=support[used],
        slope=slope,
    )


# --- prediction -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Prediction:
    """A class name or a number per row, the (rows, q) decision values, and notes on the columns of the file."""

    predictions: Sequence[str] | Sequence[float]
    values: Array
    probabilities: Array | None
    notes: tuple[ReadingDecision, ...]


def decision(model: SavedModel, X: Array) -> Array:
    """Return the (rows, q) decision values of prepared rows."""
    fits = [Fit(a[None], b[None]) for a, b in zip(model.alpha, model.bias, strict=True)]
    return decision_values(model.kernel, fits, model.support, X)


def predict(model: SavedModel, frame: Frame) -> Prediction:
    """Prepare every row as the training rows were prepared, and predict it."""
    X, notes = model.preparation.transform(frame)
    values = decision(model, X)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise frame.place.error("its prediction is not a finite number", row)
    if model.task == "regression":
        return Prediction(values[:, 0].tolist(), values, None, notes)
    likely = None if model.slope is None else probabilities(model.slope, values)
    return Prediction(predicted_classes(model, values), values, likely, notes)


def predicted_classes(model: SavedModel, decisions: Array) -> list[str]:
    """Return the class of the largest decision value; of two classes, the second if the value is positive."""
    return [model.classes[code] for code in codes(decisions.T)]


def agreement(model: SavedModel, frame: Frame, predicted: Prediction) -> str:
    """Return the accuracy, or R2 and the error, on rows whose target is known; empty without such rows."""
    truth: list[str] = []  # as classes are named; empty text if a target is missing
    if isinstance(frame.target, np.ndarray):
        truth = ["" if np.isnan(v) else show_number(v) for v in frame.target.tolist()]
    elif frame.target is not None:
        truth = ["" if field in MISSING else canonical(field) for field in frame.target]
    rows = [i for i, value in enumerate(truth) if value]
    if not rows:
        return ""
    count = f"{len(rows)} row{'' if len(rows) == 1 else 's'} with a target"
    if model.task == "classification":
        right = sum(truth[i] == predicted.predictions[i] for i in rows)
        return f"accuracy {right / len(rows):.4g} on {count}"
    if not all(is_finite(truth[i]) for i in rows):
        return ""
    y = np.array([float(truth[i]) for i in rows])
    errors = y - np.array([predicted.predictions[i] for i in rows], dtype=np.float64)
    rmse = float(np.sqrt(np.mean(np.square(errors))))
    spread = float(y.std())
    r2 = f"R2 {1 - (rmse / spread) ** 2:.4g}, " if spread > 0 else ""
    return f"{r2}root mean square error {rmse:.4g} on {count}"


# --- writing and reading ----------------------------------------------------------------------------


def write_model(path: Path, model: SavedModel) -> None:
    """Write the file completely or not at all; equal models give equal bytes."""
    prepared = asdict(model.preparation)
    arrays = {"alpha": model.alpha, "bias": model.bias, "support": model.support}
    arrays |= {name: prepared.pop(name) for name in ("medians", "shift", "divisor")}
    plain = {name: getattr(model, name) for name in PLAIN_FIELDS}
    facts = {"kind": KIND, "format": FORMAT, **plain, "preparation": prepared}
    if plugin := KERNELS.plugins.get(model.kernel_name):
        facts["plugin"] = {"file": plugin.name, "sha256": plugin.sha256}
    text = json.dumps(facts, allow_nan=False, ensure_ascii=False)
    members: dict[str, NDArray[Any]] = {"model": np.frombuffer(text.encode(), dtype=np.uint8)}
    members |= {name: np.ascontiguousarray(v, dtype="<f8") for name, v in arrays.items()}
    content = io.BytesIO()
    sealed: dict[str, Any] = {"checksum": checksum(members), **members}
    np.savez(content, **sealed)
    write_named(path, content.getvalue())


def checksum(members: Mapping[str, NDArray[Any]]) -> NDArray[np.uint8]:
    """Return the SHA-256 of the names, types, shapes and contents of the members."""
    digest = hashlib.sha256()
    for name in sorted(members):
        array = members[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def read_model(path: Path) -> SavedModel:
    """Return the model in a file; raise a one-line DataError if the file cannot be trusted."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
    try:
        members = read_members(raw)
        facts = json.loads(members["model"].tobytes().decode())
        known = facts["kind"] == KIND
        form, version = facts["format"], text_of(facts["kselect_version"])
    except UNREADABLE:
        raise DataError(f"{path}: not a complete model file of kselect") from None
    if not known:
        raise DataError(f"{path}: not a model file of kselect")
    if form != FORMAT:
        raise DataError(
            f"{path}: a model file of format {str(form)[:20]!r}, written by kselect {version[:20]!r}; "
            f"kselect {__version__} reads format {FORMAT}: fit the model again"
        )
    if not np.array_equal(members.pop("checksum"), checksum(members)):
        raise DataError(
            f"{path}: the checksum is wrong: the file was altered or damaged; fit the model again"
        )
    require_plugin(path, facts)
    try:
        return checked(read_facts(facts, members))
    except (*UNREADABLE, KselectError) as error:
        what = str(error).partition("\n")[0]
        raise DataError(f"{path}: a model file with an invalid part: {what}") from None


def require_plugin(path: Path, facts: Mapping[str, Any]) -> None:
    """Refuse a model whose kernel comes from a plug-in that is not loaded, or from another version of it."""
    needed = facts.get("plugin")
    if not isinstance(needed, dict):
        return
    here = KERNELS.plugins.get(str(facts.get("kernel_name")))
    file, sha256 = brief(needed.get("file")), str(needed.get("sha256"))
    if here is None:
        raise DataError(
            f"{path}: its kernel {brief(facts.get('kernel_name'))} comes from the plug-in {file}: "
            f"add --plugin {file}"
        )
    if here.sha256 != sha256:
        raise DataError(
            f"{path}: it was fitted with another version of the plug-in {file} (sha256 {brief(sha256[:12])}..., "
            f"now {here.sha256[:12]}...): fit the model again, or load that version"
        )


def read_members(raw: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays; refuse compressed members, which could expand from a small file to fill the memory."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ValueError("compressed members")
    with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
        if set(arrays.files) != MEMBERS:
            raise ValueError("other members")
        return {name: arrays[name] for name in arrays.files}


def read_facts(facts: Mapping[str, Any], members: Mapping[str, NDArray[Any]]) -> SavedModel:
    """Build the model from its JSON values and arrays."""
    if facts["task"] not in get_args(Task):
        raise ValueError(f"unknown task {facts['task']!r}")
    slope = facts["slope"]
    return SavedModel(
        kselect_version=text_of(facts["kselect_version"]),
        task=facts["task"],
        classes=tuple(map(text_of, facts["classes"])),
        learner=text_of(facts["learner"]),
        learner_params=dict(facts["learner_params"]),
        kernel_name=text_of(facts["kernel_name"]),
        kernel_params={text_of(k): float(v) for k, v in facts["kernel_params"].items()},
        lam=float(facts["lam"]),
        choice=dict(facts["choice"]),
        preparation=Preparation.from_dict({**facts["preparation"], **members}),
        alpha=members["alpha"],
        bias=members["bias"],
        support=members["support"],
        slope=None if slope is None else float(slope),
    )


def checked(model: SavedModel) -> SavedModel:
    """Return the model if its parts fit together."""
    q = len(model.classes) if len(model.classes) > 2 else 1
    if len(model.classes) == 1 or bool(model.classes) != (model.task == "classification"):
        raise ValueError(f"{len(model.classes)} classes in a {model.task}")
    m, d = model.support.shape
    if model.alpha.shape != (q, m) or model.bias.shape != (q,) or not m:
        raise ValueError(f"{model.alpha.shape} coefficients of {m} rows for {q} targets")
    if d != len(model.preparation.names):
        raise ValueError(
            f"rows of {d} features; the preparation makes {len(model.preparation.names)}"
        )
    if not 0 < model.lam < np.inf:
        raise ValueError(f"a regularisation parameter of {model.lam}")
    if model.slope is not None and not (model.classes and 0 < model.slope < np.inf):
        raise ValueError(f"a slope of {model.slope} in a {model.task}")
    if not all(np.isfinite(part).all() for part in (model.alpha, model.bias, model.support)):
        raise ValueError("a coefficient is not finite")
    if model.kernel.parameters != dict(model.kernel_params):
        raise ValueError("parameters that the kernel does not have")
    return model
