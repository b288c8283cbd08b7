"""A fitted model in one .npz file: plain arrays and one JSON text, no pickled code.

The members are stored uncompressed. ``model`` holds the JSON text as bytes, ``checksum`` the SHA-256 of all other
members. A file that is truncated, altered or of a newer format is refused, never misread.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from kselect.datasets.normal_scores import NAMES
from kselect.datasets.prepare import Preparation, text_of
from kselect.datasets.registry import Task
from kselect.errors import DataError, KselectError, brief
from kselect.files import write_named
from kselect.formats import MODEL
from kselect.kernels import KERNELS, Kernel
from kselect.kernels.weighted import Weighted
from kselect.learners import Fit
from kselect.selection.intervals import HeldOutErrors, IntervalModel
from kselect.selection.saved_model import SavedFit, SavedModel, checked

KIND = "kselect model"
MEMBERS = frozenset(
    {"alpha", "bias", "scales", "support", "medians", "shift", "divisor", "model", "checksum"}
)
# What a file with intervals has besides: the fits without each fold, the held-out errors and the folds of the rows.
INTERVALS = ("fold_alpha", "fold_bias", "held_out_errors", "fold_numbers")
OPTIONAL: tuple[set[str], ...] = (set(), {*INTERVALS}, {*NAMES}, {*INTERVALS, *NAMES})
# The fields of a model in the JSON text, in the order of the file.
PLAIN_FIELDS = (
    "kselect_version",
    "task",
    "classes",
    "learner",
    "learner_params",
    "choice",
    "slope",
)
UNREADABLE = (
    *(OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, MemoryError),
    *(zipfile.BadZipFile, NotImplementedError, OverflowError),
    RuntimeError,  # zipfile raises it for a member that is marked as encrypted
)


# --- writing and reading ----------------------------------------------------------------------------


def write_model(path: Path, model: SavedModel) -> None:
    """Write the file completely or not at all; equal models give equal bytes."""
    prepared = asdict(model.preparation)
    scales = scales_of(model)
    arrays = {
        "alpha": np.stack([one.alpha for one in model.fitted]),
        "bias": np.stack([one.bias for one in model.fitted]),
        "scales": np.array(scales).reshape(len(scales), model.support.shape[1]),
        "support": model.support,
    }
    if model.intervals:
        arrays |= interval_arrays(model.intervals)
    arrays |= {name: prepared.pop(name) for name in ("medians", "shift", "divisor")}
    del prepared["curves"]
    if curves := model.preparation.curves:
        arrays |= curves.members()
    plain = {name: getattr(model, name) for name in PLAIN_FIELDS}
    kernels = [kernel_facts(one, scales) for one in model.fitted]
    facts = {
        "kind": KIND,
        "format": MODEL.newest,
        **plain,
        "fits": kernels,
        "preparation": prepared,
    }
    text = json.dumps(facts, allow_nan=False, ensure_ascii=False)
    members: dict[str, NDArray[Any]] = {"model": np.frombuffer(text.encode(), dtype=np.uint8)}
    members |= {name: np.ascontiguousarray(v, dtype="<f8") for name, v in arrays.items()}
    content = io.BytesIO()
    sealed: dict[str, Any] = {"checksum": checksum(members), **members}
    np.savez(content, **sealed)
    write_named(path, content.getvalue())


def interval_arrays(found: IntervalModel) -> dict[str, NDArray[Any]]:
    """Return coefficients (fits, q, k, m) and biases (fits, q, k) without each fold, and the held-out errors."""
    every = [fits for _, fits in found.members]
    alpha = [[[fit.alpha[0] for fit in own] for own in fits] for fits in every]
    bias = [[[fit.bias[0] for fit in own] for own in fits] for fits in every]
    values = np.array(alpha), np.array(bias), found.errors.sizes, found.errors.numbers
    return dict(zip(INTERVALS, values, strict=True))


def read_intervals(
    fitted: Sequence[SavedFit], members: Mapping[str, NDArray[Any]]
) -> IntervalModel | None:
    """Return the fits without each fold; None if the file has none."""
    if INTERVALS[0] not in members:
        return None
    alpha, bias, sizes, numbers = (members[name] for name in INTERVALS)
    found = [
        (
            one.kernel,
            tuple(
                tuple(Fit(a[None], b[None]) for a, b in zip(*own, strict=True))
                for own in zip(alphas, biases, strict=True)
            ),
        )
        for one, alphas, biases in zip(fitted, alpha, bias, strict=True)
    ]
    return IntervalModel(tuple(found), HeldOutErrors(sizes, numbers.astype(np.intp)))


def scales_of(model: SavedModel) -> list[tuple[float, ...]]:
    """Return the different scales of the features that the kernels have."""
    kernels = (one.kernel for one in model.fitted)
    return list(dict.fromkeys(k.scale for k in kernels if isinstance(k, Weighted)))


def kernel_facts(one: SavedFit, scales: Sequence[tuple[float, ...]]) -> dict[str, Any]:
    """Return kernel and lam of a fit as JSON values; ``scale`` is the position of the kernel's scale."""
    kernel, facts = one.kernel, dict[str, Any]()
    if isinstance(kernel, Weighted):
        scale = scales.index(kernel.scale)
        facts = {"scale": scale, "power": kernel.power, "origin": kernel.origin}
        kernel = kernel.inner
    facts = {"kernel": kernel.name, "params": kernel.parameters, "lam": one.lam, **facts}
    if plugin := KERNELS.plugins.get(kernel.name):
        facts["plugin"] = {"file": plugin.name, "sha256": plugin.sha256}
    return facts


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
    MODEL.check(path, form, version)
    if not np.array_equal(members.pop("checksum"), checksum(members)):
        raise DataError(
            f"{path}: the checksum is wrong: the file was altered or damaged; fit the model again"
        )
    try:
        if form == 1:
            facts, members = of_one_fit(facts, members)
        for one in facts["fits"]:
            require_plugin(path, one)
        return checked(read_facts(facts, members))
    except PluginError:
        raise
    except (*UNREADABLE, KselectError) as error:
        what = str(error).partition("\n")[0]
        raise DataError(f"{path}: a model file with an invalid part: {what}") from None


def of_one_fit(
    facts: Mapping[str, Any], members: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the JSON values and arrays of a file of format 1 in the present form."""
    one = {
        "kernel": facts["kernel_name"],
        "params": facts["kernel_params"],
        "lam": facts["lam"],
        **({"plugin": facts["plugin"]} if "plugin" in facts else {}),
    }
    arrays = {name: members[name][None] for name in ("alpha", "bias")}
    scales = np.empty((0, members["support"].shape[1]))
    return {**facts, "fits": [one]}, {**members, **arrays, "scales": scales}


class PluginError(DataError):
    """A model needs a plug-in that is not loaded, or another version of it."""


def require_plugin(path: Path, fit: Mapping[str, Any]) -> None:
    """Refuse a model whose kernel comes from a plug-in that is not loaded, or from another version of it."""
    needed = fit.get("plugin")
    if not isinstance(needed, dict):
        return
    here = KERNELS.plugins.get(str(fit.get("kernel")))
    file, sha256 = brief(needed.get("file")), str(needed.get("sha256"))
    if here is None:
        raise PluginError(
            f"{path}: its kernel {brief(fit.get('kernel'))} comes from the plug-in {file}: "
            f"add --plugin {file}"
        )
    if here.sha256 != sha256:
        raise PluginError(
            f"{path}: it was fitted with another version of the plug-in {file} (sha256 {brief(sha256[:12])}..., "
            f"now {here.sha256[:12]}...): fit the model again, or load that version"
        )


def read_members(raw: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays; refuse compressed members, which could expand from a small file to fill the memory."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ValueError("compressed members")
    with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
        more = {*arrays.files, "scales"} - MEMBERS
        if not {*arrays.files, "scales"} >= MEMBERS or more not in OPTIONAL:
            raise ValueError("other members")
        return {name: arrays[name] for name in arrays.files}


def read_facts(facts: Mapping[str, Any], members: Mapping[str, NDArray[Any]]) -> SavedModel:
    """Build the model from its JSON values and arrays."""
    if facts["task"] not in get_args(Task):
        raise ValueError(f"unknown task {facts['task']!r}")
    slope, fitted = facts["slope"], tuple(read_fits(facts["fits"], members))
    return SavedModel(
        kselect_version=text_of(facts["kselect_version"]),
        task=facts["task"],
        classes=tuple(map(text_of, facts["classes"])),
        learner=text_of(facts["learner"]),
        learner_params=dict(facts["learner_params"]),
        fitted=fitted,
        choice=dict(facts["choice"]),
        preparation=Preparation.from_dict({**facts["preparation"], **members}),
        support=members["support"],
        slope=None if slope is None else float(slope),
        intervals=read_intervals(fitted, members),
    )


def read_fits(
    every: Sequence[Mapping[str, Any]], members: Mapping[str, NDArray[Any]]
) -> Iterator[SavedFit]:
    """Yield the fits of a model."""
    parts = zip(every, members["alpha"], members["bias"], strict=True)
    for facts, alpha, bias in parts:
        given = {text_of(k): float(v) for k, v in facts["params"].items()}
        kernel: Kernel = KERNELS.find(text_of(facts["kernel"])).of(given)
        if kernel.parameters != given:
            raise ValueError("parameters that the kernel does not have")
        if "scale" in facts:
            scale = tuple(members["scales"][int(facts["scale"])].tolist())
            power = facts["power"]
            kernel = Weighted(
                kernel, scale, None if power is None else float(power), text_of(facts["origin"])
            )
        yield SavedFit(kernel, float(facts["lam"]), alpha, bias)
