"""The environment of a run: versions, processor, cores, memory, BLAS libraries and the commit."""

from __future__ import annotations

import json
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kselect.datasets.content import sha256_of
from kselect.numerics.memory import gib, total_memory

PACKAGES = ("kselect", "numpy", "scipy", "pandas", "scikit-learn", "loky", "threadpoolctl")
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
    """Return every BLAS of the process with its version, architecture and number of threads."""
    import numpy as np
    from threadpoolctl import threadpool_info

    np.linalg.eigh(np.eye(2))
    keep = ("internal_api", "version", "architecture", "num_threads")
    found = [
        {k: pool.get(k) for k in keep} for pool in threadpool_info() if pool["user_api"] == "blas"
    ]
    return sorted(found, key=str)


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
