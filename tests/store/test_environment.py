"""The environment in a manifest suffices for a bug report and has no user or host name."""

from __future__ import annotations

import getpass
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from kselect.store import environment
from kselect.store.environment import (
    blas_libraries,
    describe_environment,
    digest,
    faster_blas,
    git_state,
)


def git(folder: Path, *arguments: str) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *author, *arguments], check=True, capture_output=True)


def test_facts() -> None:
    found = describe_environment()
    assert found["python"] == platform.python_version()
    assert found["cpu"]
    assert found["cores"] >= 1
    assert float(found["memory"].removesuffix(" GiB")) > 0
    assert found["packages"]["numpy"]
    assert all(pool["num_threads"] >= 1 for pool in found["blas"])
    text = json.dumps(found)
    assert str(Path.home()) not in text
    assert len(platform.node()) < 5 or platform.node() not in text
    user = getpass.getuser()
    assert len(user) < 5 or user not in text


def test_a_digest_is_short_and_covers_all_facts() -> None:
    facts = {"a": 1, "b": {"c": 2}}
    assert digest(facts) == digest({"b": {"c": 2}, "a": 1})
    assert digest(facts) != digest({"a": 1, "b": {"c": 3}})
    assert len(digest(facts)) == 12


def test_git_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(variable, raising=False)
    package = tmp_path / "kselect"
    package.mkdir()
    monkeypatch.setattr(environment, "HERE", package)
    assert git_state() is None
    git(tmp_path, "init", "-q")
    assert git_state() is None, "no commit yet"
    (package / "a.py").write_text("")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    state = git_state()
    assert state is not None
    assert len(state["commit"]) == 40
    assert state["dirty"] is False
    (tmp_path / "results").mkdir()
    (tmp_path / "results/records.csv").write_text("")
    assert git_state() == state, "results do not change what the code computes"
    (package / "a.py").write_text("1")
    assert git_state() == {**state, "dirty": True}


def test_without_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(environment, "HERE", tmp_path / "kselect")
    monkeypatch.setenv("PATH", "")
    assert git_state() is None


def test_cores_and_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cores are those that the process may use; a container's limit of the memory counts."""
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert describe_environment()["cores"] == 1
    monkeypatch.setattr("kselect.numerics.memory.CONTROL_GROUP", tmp_path)
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for text, size in (("max\n", whole), (f"{2**29}\n", 2**29), (f"{2**70}\n", whole)):
        (tmp_path / "memory.max").write_text(text)
        assert describe_environment()["memory"] == f"{size / 2**30:.1f} GiB"


AVX2 = {"sse2", "avx", "avx2", "fma"}
AVX512 = AVX2 | {"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"}
PICKS = (
    "import kselect.store.environment as e; print(*[b['architecture'] for b in e.blas_libraries()])"
)


@pytest.mark.parametrize(
    ("architecture", "flags", "better"),
    [
        ("Haswell", AVX512, "SKYLAKEX"),
        ("Zen", AVX512, "SKYLAKEX"),
        ("Prescott", AVX512, "SKYLAKEX"),
        ("Prescott", AVX2, "HASWELL"),
        ("SkylakeX", AVX512, ""),
        ("Cooperlake", AVX512, ""),
        ("Haswell", AVX2, ""),
        ("Haswell", AVX512 - {"avx512vl"}, ""),
        ("Prescott", set(), ""),
        ("neoversen1", set(), ""),
    ],
)
def test_a_faster_kernel(
    architecture: str, flags: set[str], better: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flags are invented; the libraries are those of this process with another architecture."""
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    found = [{**one, "architecture": architecture} for one in blas_libraries()]
    if all(one["internal_api"] != "openblas" for one in found):
        pytest.skip("numpy and scipy do not use OpenBLAS here")
    hint = faster_blas(found, flags)
    assert hint.startswith(f"OpenBLAS uses its kernel for {architecture}, ") if better else not hint
    assert f"OPENBLAS_CORETYPE={better} " in hint or not better
    other = [{**one, "internal_api": "mkl"} for one in found]
    assert faster_blas(other, flags) == ""
    monkeypatch.setenv("OPENBLAS_CORETYPE", "HASWELL")
    assert faster_blas(found, flags) == ""
    asked = f"{architecture} (OPENBLAS_CORETYPE=HASWELL), and" if better else ""
    assert asked in faster_blas(found, flags, question=True)


def test_every_copy_is_named() -> None:
    """scipy brings its own BLAS, which is loaded on purpose; the variable of the hint sets the kernel of both."""
    env = {**os.environ, "OPENBLAS_CORETYPE": "NEHALEM"}
    run = subprocess.run(
        [sys.executable, "-c", PICKS],
        env=env,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found = [one for one in blas_libraries() if one["internal_api"] == "openblas"]
    if platform.machine() != "x86_64" or len(found) < 2:
        pytest.skip("numpy and scipy do not bring two copies of OpenBLAS for x86 here")
    assert run.stdout.split() == ["Nehalem", "Nehalem"]
