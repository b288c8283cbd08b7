"""The environment of a run: versions, processor, cores, memory, BLAS libraries and the commit."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kselect.datasets.content import sha256_of
from kselect.errors import printable
from kselect.numerics.memory import gib, total_memory

PACKAGES = ("kselect", "numpy", "scipy", "pandas", "scikit-learn", "loky", "threadpoolctl")
# Kernels of OpenBLAS for x86, fastest first: the value of OPENBLAS_CORETYPE, the architectures that are as fast,
# and the instruction sets that they need. Any other architecture is older.
KERNELS: tuple[tuple[str, frozenset[str], frozenset[str]], ...] = (
    (
        "SKYLAKEX",
        frozenset({"skylakex", "cooperlake", "sapphirerapids"}),
        frozenset({"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"}),
    ),
    ("HASWELL", frozenset({"haswell", "zen"}), frozenset({"avx2", "fma"})),
)
HERE = Path(__file__).resolve().parents[1]


def describe_environment() -> dict[str, Any]:
    """Return the facts for a bug report and a manifest, without host name, path or user."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu_name(),
        "cores": core_count(),
        "memory": gib(total_memory()),
        "packages": {name: version(name) for name in PACKAGES},
        "blas": blas_libraries(),
        "git": git_state(),
    }


def cpu_name() -> str:
    """Return the name of the processor, if the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def core_count() -> int:
    """Return the number of cores that this process may use: of the machine, in the container, by its affinity."""
    from loky import cpu_count

    return int(cpu_count())


def blas_libraries() -> list[dict[str, Any]]:
    """Return every BLAS of the process, numpy's and scipy's: version, kernel (architecture) and threads."""
    import numpy as np
    import scipy.linalg  # noqa: F401 - loads its own BLAS
    from threadpoolctl import threadpool_info

    np.linalg.eigh(np.eye(2))
    keep = ("internal_api", "version", "architecture", "num_threads")
    found = [
        {k: pool.get(k) for k in keep} for pool in threadpool_info() if pool["user_api"] == "blas"
    ]
    return sorted(found, key=str)


def cpu_flags() -> frozenset[str]:
    """Return the instruction sets of an x86 processor; none on other machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    found = (line.partition(":")[2].split() for line in lines if line.startswith("flags"))
    return frozenset(next(found, ()))


def faster_blas(
    libraries: Iterable[Mapping[str, Any]], flags: Collection[str], question: bool = False
) -> str:
    """Return one line if OpenBLAS has a slower kernel than the processor can run, else nothing.

    OpenBLAS picks one on processors that are newer than itself. A kernel that OPENBLAS_CORETYPE sets counts only if
    the caller wants to ``question`` it.
    """
    asked = os.environ.get("OPENBLAS_CORETYPE")
    if asked is not None and not question:
        return ""
    best = next((i for i, (_, _, needs) in enumerate(KERNELS) if needs <= {*flags}), len(KERNELS))
    for library in libraries:
        name = str(library.get("architecture") or "").lower()
        rank = next((i for i, (_, names, _) in enumerate(KERNELS) if name in names), len(KERNELS))
        if library.get("internal_api") == "openblas" and name and best < rank:
            why = "" if asked is None else f" (OPENBLAS_CORETYPE={printable(asked)})"
            return (
                f"OpenBLAS uses its kernel for {library['architecture']}{why}, and this processor can run a faster "
                f"one: set OPENBLAS_CORETYPE={KERNELS[best][0]} (the last digits of results may change)"
            )
    return ""


def git_state() -> dict[str, Any] | None:
    """Return the current commit and whether files were changed since; None outside a clone."""
    root = HERE.parent
    if not (root / ".git").exists():
        return None
    commit = git(root, "rev-parse", "--verify", "--quiet", "HEAD")
    # Results and caches do not change what the code computes.
    changed = git(
        root, "status", "--porcelain", "--", "kselect", "configs", "data", "pyproject.toml"
    )
    return {"commit": commit, "dirty": bool(changed)} if commit else None


def git(root: Path, *arguments: str) -> str:
    """Return the output of a git command, empty without git."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def digest(environment: dict[str, Any]) -> str:
    """Return a short name for an environment; jobs contain the name, the manifest the facts."""
    return sha256_of(json.dumps(environment, sort_keys=True).encode())[:12]
