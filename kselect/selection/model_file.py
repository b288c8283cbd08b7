"""A fitted model in one .npz file: plain arrays and one JSON text, nothing that runs when it is loaded.

The members are stored, not packed. ``model`` is the JSON text as bytes, ``checksum`` the SHA-256 of all the
rest: a file that is cut, altered or of a newer format is refused, never misread.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from kselect import __version__
from kselect.datasets.preparation import Preparation, text_of
from kselect.datasets.tables.raw import Task
from kselect.datasets.targets import Target
from kselect.errors import DataError, KselectError
from kselect.files import write_whole
from kselect.kernels import Kernel, Points, find_kernel
from kselect.learners import Fit
from kselect.numerics.linalg import Array
from kselect.selection.calibration import probabilities
from kselect.selection.engine import Selection

KIND = "kselect model"
FORMAT = 1
ROWS_AT_ONCE = 4096
ENTRIES_AT_ONCE = 2**25  # of a block's Gram matrix: a quarter of a gigabyte
UNREADABLE = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, MemoryError),
    *(zipfile.BadZipFile, NotImplementedError, OverflowError, RecursionError),
)


@dataclass(frozen=True, eq=False)
class SavedModel:
    """All that a prediction needs, as plain values.

    ``alpha`` (q, m) and ``bias`` (q,) are the dual coefficients of each target on the ``support`` (m, d),
    which are prepared rows; ``slope`` turns decisions into probabilities; ``choice`` holds
    what a report of the selection says, as JSON values.
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
        """The kernel of the name with its parameters."""
        return find_kernel(self.kernel_name).of(self.kernel_params)


def model_of(
    found: Selection,
    X: Array,
    goal: Target,
    preparation: Preparation,
    choice: Mapping[str, Any],
    slope: float | None = None,
) -> SavedModel:
    """The fit of a selection on the prepared rows X; rows with a coefficient of 0 are left out."""
    support = X if found.landmarks is None else X[found.landmarks]
    alpha = np.stack([dual.alpha[0] for dual in found.fits])
    used = np.any(alpha != 0, axis=0)
    used[:1] |= not used.any()  # a kernel needs a row, even where the bias is all there is
    return SavedModel(
        kselect_version=__version__,
        task=goal.task,
        classes=goal.classes,
        learner=found.request.learner.name,
        learner_params=dict(found.request.learner.params),
        kernel_name=found.kernel.name,
        kernel_params=found.kernel.parameters,
        lam=found.lam,
        choice=choice,
        preparation=preparation,
        alpha=alpha[:, used],
        bias=np.array([dual.bias[0] for dual in found.fits]),
        support=support[used],
        slope=slope,
    )


def decision(model: SavedModel, X: Array) -> Array:
    """(rows, q) decision values of prepared rows, a block at a time: memory does not grow with them."""
    kernel, block = model.kernel, min(ROWS_AT_ONCE, max(1, ENTRIES_AT_ONCE // len(model.support)))
    duals = [Fit(a[None], b[None]) for a, b in zip(model.alpha, model.bias, strict=True)]
    found = [np.empty((0, len(duals)))]
    for start in range(0, len(X), block):
        K = kernel.gram(Points(X[start : start + block], model.support))
        found.append(np.stack([dual.decision(0, K) for dual in duals], axis=1))
    return np.concatenate(found)


def predicted_classes(model: SavedModel, decisions: Array) -> list[str]:
    """The class of the largest decision; of two classes the second where it is positive."""
    two = len(model.classes) == 2
    codes = (decisions[:, 0] > 0).astype(np.intp) if two else decisions.argmax(axis=1)
    return [model.classes[code] for code in codes]


def predicted_probabilities(model: SavedModel, decisions: Array) -> Array | None:
    """(rows, classes), None where the model has none."""
    return None if model.slope is None else probabilities(model.slope, decisions)


def write_model(path: Path, model: SavedModel) -> None:
    """Write the file whole or not at all; equal models give equal bytes."""
    prepared = model.preparation.to_dict()
    arrays = {"alpha": model.alpha, "bias": model.bias, "support": model.support}
    arrays |= {name: prepared.pop(name) for name in ("medians", "shift", "divisor")}
    facts = {
        "kind": KIND,
        "format": FORMAT,
        "kselect_version": model.kselect_version,
        "task": model.task,
        "classes": list(model.classes),
        "learner": model.learner,
        "learner_params": dict(model.learner_params),
        "kernel_name": model.kernel_name,
        "kernel_params": dict(model.kernel_params),
        "lam": model.lam,
        "choice": dict(model.choice),
        "slope": model.slope,
        "preparation": prepared,
    }
    text = json.dumps(facts, allow_nan=False, ensure_ascii=False)
    members: dict[str, NDArray[Any]] = {"model": np.frombuffer(text.encode(), dtype=np.uint8)}
    members |= {name: np.ascontiguousarray(v, dtype="<f8") for name, v in arrays.items()}
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, checksum=checksum(members), **members)
    try:
        write_whole(path, content.getvalue())
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None


def checksum(members: Mapping[str, NDArray[Any]]) -> NDArray[np.uint8]:
    """The SHA-256 of names, types, shapes and contents."""
    digest = hashlib.sha256()
    for name in sorted(members):
        array = members[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def read_model(path: Path) -> SavedModel:
    """The model in a file; a DataError of one line where there is none that can be trusted."""
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
        raise DataError(f"{path}: not a whole model file of kselect") from None
    if not known:
        raise DataError(f"{path}: not a model file of kselect")
    if form != FORMAT:
        raise DataError(
            f"{path}: a model file of format {str(form)[:20]!r}, written by kselect {version[:20]!r}; "
            f"kselect {__version__} reads format {FORMAT}"
        )
    if not np.array_equal(members.pop("checksum"), checksum(members)):
        raise DataError(f"{path}: the checksum is wrong: the file has been altered or damaged")
    try:
        return checked(read_facts(facts, members))
    except (*UNREADABLE, KselectError) as error:
        what = str(error).partition("\n")[0]
        raise DataError(f"{path}: a model file with a part that cannot be: {what}") from None


NAMES = frozenset({"alpha", "bias", "support", "medians", "shift", "divisor", "model", "checksum"})


def read_members(raw: bytes) -> dict[str, NDArray[Any]]:
    """The arrays; packed members are refused, as a small file could then fill the memory."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ValueError("packed")
    with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
        if set(arrays.files) != NAMES:
            raise ValueError("other members")
        return {name: arrays[name] for name in arrays.files}


def read_facts(facts: Mapping[str, Any], members: Mapping[str, NDArray[Any]]) -> SavedModel:
    """The model of JSON values and arrays."""
    if facts["task"] not in get_args(Task):
        raise ValueError(f"no task {facts['task']!r}")
    model = SavedModel(
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
    )
    slope = facts["slope"]
    return model if slope is None else replace(model, slope=float(slope))


def checked(model: SavedModel) -> SavedModel:
    """The model if its parts fit together."""
    q = len(model.classes) if len(model.classes) > 2 else 1
    if len(model.classes) == 1 or bool(model.classes) != (model.task == "classification"):
        raise ValueError(f"{len(model.classes)} classes for {model.task}")
    m, d = model.support.shape
    if model.alpha.shape != (q, m) or model.bias.shape != (q,) or not m:
        raise ValueError(f"{model.alpha.shape} coefficients of {m} rows for {q} targets")
    if d != len(model.preparation.names):
        raise ValueError(f"rows of {d} features, {len(model.preparation.names)} are prepared")
    if model.slope is not None and not (model.classes and 0 < model.slope < np.inf):
        raise ValueError(f"a slope of {model.slope} for {model.task}")
    if not all(np.isfinite(part).all() for part in (model.alpha, model.bias, model.support)):
        raise ValueError("a coefficient is not finite")
    if not model.kernel.parameters == dict(model.kernel_params):
        raise ValueError("other parameters than the kernel's")
    return model
