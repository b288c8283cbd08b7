"""The SVM's compiled loops agree with plain linear algebra and with each other."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest

from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.learners.svm import compilation, ladder, smo_fallback, working_set
from kselect.learners.svm.active_set import follow_path
from kselect.learners.svm.bias_interval import statuses
from kselect.learners.svm.free_rows import (
    ALL,
    KNOWN,
    NEW,
    OUT,
    FreeRows,
    find_free,
    newton,
    no_free_rows,
)
from kselect.learners.svm.path import EqualRows
from kselect.learners.svm.quadratic import (
    ISOLATED,
    BoxQP,
    Status,
    allowance,
    balance,
    kernel_matrix,
    read_status,
    refresh,
    residual,
    subtract,
    wrongs,
)
from kselect.learners.svm.stride import search, space_for, stride
from kselect.learners.svm.working_set import (
    ROWS,
    WorkingSet,
    descend,
    gather,
    no_working_set,
    pairs,
    singles,
)
from kselect.numerics import compiled
from kselect.numerics.linalg import Array

N = 150
CS = 2.0 ** np.arange(-6, 11, 2)


def made(tau: float, bias: bool = True, seed: int = 0) -> BoxQP:
    """Return the dual of noisy labels in the plane."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(N, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=N) > 0, 1.0, -1.0)
    kernel = kernel_matrix(Gaussian(tau).gram(Points(X)))
    return ladder.hinge_dual(kernel, y, np.ones(N), bias)


def solved(q: BoxQP, free: FreeRows, right: Array) -> tuple[Array, float, Array, float]:
    """Return x and b from the factor, and from the bordered system."""
    F = free.F[: free.sizes[ALL]]
    f = len(F)
    both = np.concatenate([right[F], np.ones(f)])
    b = newton(q, free, both, 0.3)
    system = np.zeros((f + 1, f + 1))
    system[:f, :f] = q.K[np.ix_(F, F)] + np.diag(q.ridge[F])
    system[:f, f] = system[f, :f] = 1.0
    expected = np.linalg.solve(system, np.append(right[F], -0.3))
    return both[:f], b, expected[:f], float(expected[f])


@pytest.mark.parametrize(("out", "added"), [(0, 0), (5, 0), (0, 6), (4, 7)])
def test_an_updated_factor_solves_like_a_new_one(out: int, added: int) -> None:
    """A factor with rows removed and added solves the system of the new free rows."""
    q, rng = made(2.0**-6), np.random.default_rng(3)
    free, status = no_free_rows(N), np.where(np.arange(N) < 100, 0, 1).astype(np.int8)
    rng.shuffle(status)
    assert find_free(q, free, status)
    status[rng.choice(np.flatnonzero(status == 0), out, replace=False)] = -1
    status[rng.choice(np.flatnonzero(status == 1), added, replace=False)] = 0
    assert find_free(q, free, status)
    assert (free.sizes[OUT], free.sizes[NEW]) == (out, added)
    x, b, expected, expected_b = solved(q, free, rng.normal(size=N))
    np.testing.assert_allclose(x, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(b, expected_b, rtol=1e-7)


def test_too_many_changes_are_factorised_again() -> None:
    """After too many changes the factor is computed from scratch."""
    q, free = made(2.0**-6), no_free_rows(N)
    assert find_free(q, free, np.where(np.arange(N) < 75, 0, 1).astype(np.int8))
    assert find_free(q, free, np.where(np.arange(N) < 75, 1, 0).astype(np.int8))
    assert (free.sizes[OUT], free.sizes[NEW]) == (0, 0)
    x, _, expected, _ = solved(q, free, np.arange(N) * 0.1)
    np.testing.assert_allclose(x, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())


def test_a_singular_block_is_reported() -> None:
    """A kernel that is far from positive definite has no factor."""
    q = made(1.0)._replace(K=-np.eye(N))
    free = no_free_rows(N)
    assert not find_free(q, free, np.zeros(N, dtype=np.int8))
    assert not free.sizes[KNOWN]


def test_isolated_rows() -> None:
    """Rows of a narrow kernel are isolated, with an error bounded by ISOLATED."""
    q = made(2.0**-12)
    K = q.K - np.diag(np.diagonal(q.K))
    np.testing.assert_array_equal(q.isolated, (np.abs(K) <= ISOLATED).all(axis=1))
    assert q.isolated.any()
    assert not q.isolated.all()
    free = no_free_rows(N)
    assert find_free(q, free, np.zeros(N, dtype=np.int8))
    x, b, expected, expected_b = solved(q, free, np.arange(N) * 0.1)
    np.testing.assert_allclose(x, expected, atol=ISOLATED * N * np.abs(expected).max())
    np.testing.assert_allclose(b, expected_b, atol=ISOLATED * N * np.abs(expected).max())


@pytest.mark.parametrize("count", [1, 6, 149])
def test_rows_subtracted_one_by_one_and_by_a_product(count: int) -> None:
    """Few rows are subtracted one by one, many by one product, with the same result."""
    q, rng = made(1.0), np.random.default_rng(1)
    rows, moves, h = rng.permutation(N)[:count], rng.normal(size=count), rng.normal(size=N)
    expected = h - q.K[:, rows] @ moves
    subtract(q, rows, moves, count, h)
    np.testing.assert_allclose(h, expected, atol=1e-12)


def climbed(q: BoxQP, Cs: Array) -> tuple[Array, Array, Array]:
    """Return beta, bias and slack at every C."""
    beta, bias, slack = np.zeros((len(Cs), N)), np.zeros(len(Cs)), np.zeros((len(Cs), N))
    assert stride(q, space_for(N), Cs, 0, np.zeros(N), beta, bias, slack) == len(Cs)
    return beta, bias, slack


def at(q: BoxQP, beta: Array, C: float) -> tuple[Status, Array]:
    """Return the statuses and h of a solution."""
    status, h = np.empty(N, dtype=np.int8), np.empty(N)
    read_status(q, beta, C, status)
    refresh(q, beta, h)
    return status, h


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("tau", [2.0**-3, 2.0**2, 2.0**6])
def test_following_the_path_ends_at_the_same_solution(tau: float, bias: bool) -> None:
    """Following the path from one C to the next gives the solution of the ladder."""
    q = made(tau, bias)
    beta, biases, slack = climbed(q, CS)
    events = 0
    for k in range(len(CS) - 1):
        status, h = at(q, beta[k], CS[k])
        if not (status == 0).any():
            continue
        x, free = beta[k].copy(), no_free_rows(N)
        b = follow_path(
            q, free, status, x, h, float(biases[k]), CS[k], CS[k + 1], 1000, np.empty((5, N))
        )
        allowed = 10 * allowance(q, x, CS[k + 1])
        assert residual(status, h, b) <= allowed
        assert wrongs(q, status, x, h, b, CS[k + 1], allowed) == 0
        np.testing.assert_allclose(h - b, slack[k + 1], atol=1e-6)
        events += int((status != at(q, beta[k], CS[k])[0]).sum())
    assert events > 20


def test_too_many_events_give_nan() -> None:
    """After too many events the result is NaN."""
    q = made(1.0)
    beta, biases, _ = climbed(q, CS)
    status, h = at(q, beta[0], CS[0])
    first = beta[0], h, float(biases[0])
    b = follow_path(q, no_free_rows(N), status, *first, CS[0], CS[-1], 3, np.empty((5, N)))
    assert np.isnan(b)


def whole(q: BoxQP, C: float) -> WorkingSet:
    """Return a working set of all rows, at zero."""
    block = no_working_set(N)
    block.sizes[ROWS], block.W[:] = N, np.arange(N)
    gather(q, block, np.zeros(N), q.target.copy(), C, 1e-12)
    return block


@pytest.mark.parametrize("bias", [True, False])
def test_a_block_is_brought_to_its_optimum(bias: bool) -> None:
    """With all rows in one working set, the descent from zero finds the ladder's solution."""
    q, C = made(2.0**4, bias), 1.0
    expected = climbed(q, np.array([C]))[2][0]
    block = whole(q, C)
    for _ in range(10):
        descend(q, block, 1e-10)
    status, found = at(q, block.beta[:N].copy(), C)
    F = status == 0
    b = float(found[F].mean()) if bias else 0.0
    np.testing.assert_allclose(found - b, expected, atol=1e-7)
    np.testing.assert_allclose(block.h[:N], found, atol=1e-8)


@pytest.mark.parametrize("bias", [True, False])
def test_steps_within_a_block_end_near_its_optimum(bias: bool) -> None:
    """Pairs (with a bias) or single rows reach the optimum, and stop at once there."""
    q, C = made(2.0**-4, bias), 1.0
    expected = climbed(q, np.array([C]))[2][0]
    block, steps = whole(q, C), pairs if bias else singles
    assert 0 < steps(block, 1e-9, 100_000) < 100_000
    assert steps(block, 1e-9, 100_000) == 0
    status, found = at(q, block.beta[:N].copy(), C)
    b = float(found[status == 0].mean()) if bias else 0.0
    np.testing.assert_allclose(found - b, expected, atol=1e-7)


@pytest.mark.parametrize("bias", [True, False])
def test_a_search_from_zero(bias: bool) -> None:
    """For K near I most rows are free, no status is wrong and free slacks are zero."""
    q, C = made(2.0**-9, bias), 2.0
    status, beta, h = np.zeros(N, np.int8), np.zeros(N), q.target.copy()
    b = search(q, space_for(N), status, beta, h, C, 10 * N)
    allowed = allowance(q, beta, C)
    assert (status == 0).sum() > 0.8 * N
    assert wrongs(q, status, beta, h, b, C, allowed) == 0
    assert residual(status, h, b) <= allowed


def test_a_step_of_C_does_not_depend_on_the_ladder() -> None:
    """A solution from zero equals the solution of the path."""
    q = made(2.0**-1)
    _, _, slack = climbed(q, CS)
    for k in range(len(CS)):
        np.testing.assert_allclose(climbed(q, CS[k : k + 1])[2][0], slack[k], atol=1e-7)


def test_balancing_ignores_rounding_errors() -> None:
    """A start that is balanced up to rounding is not changed."""
    q, moved = made(1.0), 0
    ends = q.low + q.high
    larger = ends > 0 if ends.sum() > 0 else ends < 0
    for C in CS:
        share = -ends[~larger].sum() / ends[larger].sum()
        beta = C * np.where(larger, share * ends, ends)
        start = beta.copy()
        moved += beta.sum() != 0.0
        balance(q, beta, C)
        np.testing.assert_array_equal(beta, start)
    assert moved


def test_balancing_shrinks_the_heavier_sign() -> None:
    """Free rows of the heavier sign shrink first, then all its rows."""
    q = made(1.0)
    for part in (0.25, 1.0):
        beta = np.where(q.high > 0, part * q.high, 0.5 * q.low)
        balance(q, beta, 1.0)
        assert abs(beta.sum()) < 1e-12
        assert (beta >= q.low).all()
        assert (beta <= q.high).all()


def test_many_free_rows_are_searched_in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a limit, the working set holds only violating rows."""
    q = made(1.0)
    beta, h = 0.5 * (q.low + q.high), np.random.default_rng(0).normal(size=N)

    def chosen() -> list[int]:
        block = no_working_set(N)
        bounds = h.max(), h.min()
        working_set.choose.py_func(q, block, beta, h, 1.0, *bounds)  # type: ignore[attr-defined]
        return block.W[: block.sizes[ROWS]].tolist()

    assert len(chosen()) == N
    monkeypatch.setattr(working_set, "MOST_FREE", 10)
    monkeypatch.setattr(working_set, "SIDE", 8)
    few = chosen()
    assert h.argmax() in few
    assert h.argmin() in few
    assert len(few) <= 4 * 8


def test_equal_rows_are_found() -> None:
    """Equal rows have equal labels, too; zeros of either sign are equal."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(-1, 2, size=(60, 2)) * 1.0, rng.choice([-1.0, 1.0], size=60)
    X[0] *= -1.0
    first = EqualRows.find(X, y).first
    for i in range(60):
        same = [j for j in range(60) if (X[j] == X[i]).all() and y[j] == y[i]]
        assert first[i] == same[0]


def test_the_stamp_covers_all_sources() -> None:
    """A change of any module recompiles every function."""
    kept = compiled.with_cache(newton.py_func, wrapped=False)  # type: ignore[attr-defined]
    folder = Path(ladder.__file__).parent
    sources = [*sorted(folder.glob("*.py")), Path(compiled.__file__)]
    expected = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    assert kept._cache._cache_file._source_stamp == expected  # type: ignore[attr-defined]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("tau", [2.0**-12, 1.0, 2.0**12])
def test_the_fallback_finds_the_solutions_of_the_path(tau: float, bias: bool) -> None:
    """From zero at every C, also for kernels near the identity or near a constant."""
    q = made(tau, bias)
    _, _, slack = climbed(q, CS)
    for k, C in enumerate(CS.tolist()):
        beta, b, found = smo_fallback.solve_by_smo(q, space_for(N), C, np.zeros(N), "test")
        status, _ = at(q, beta, C)
        assert wrongs(q, status, beta, found, 0.0, C, 2 * allowance(q, beta, C)) == 0
        if (status == 0).any():
            np.testing.assert_allclose(found, slack[k], atol=1e-6)
        np.testing.assert_allclose(found + b, q.target - q.K @ beta, atol=1e-8)


def test_steps_finish_where_active_sets_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """If active sets fail, the fallback accepts violations below the tolerance."""
    q, C = made(2.0**-1), 1.0
    expected = climbed(q, np.array([C]))[2][0]
    monkeypatch.setattr(smo_fallback, "flip_until_right", lambda *_: np.nan)
    interpreted = smo_fallback.search_down.py_func  # type: ignore[attr-defined]
    monkeypatch.setattr(smo_fallback, "search_down", interpreted)
    np.testing.assert_allclose(
        smo_fallback.solve_by_smo(q, space_for(N), C, np.zeros(N), "test")[2], expected, atol=1e-6
    )


@pytest.mark.parametrize("C", [0.5, 16662.73825370313, 1e9])
def test_a_row_within_rounding_of_an_end_is_not_free(C: float) -> None:
    """For a large C one rounding of C exceeds the looseness; a free row would lose its slack."""
    q = made(1.0)._replace(inverse_diagonal=np.full(N, 1e-3))
    ends = C * (q.low + q.high)
    status = np.empty(N, np.int8)
    statuses(q, C, np.nextafter(ends, 0.0), status)
    np.testing.assert_array_equal(status, np.sign(ends))
    statuses(q, C, 0.5 * ends, status)
    assert (status == 0).all()


def test_a_private_folder_holds_the_code_if_no_other_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a writable package and home, all processes of a user share one folder that only he can write."""
    from numba.core import caching

    for locator in (caching.InTreeCacheLocator, caching.UserWideCacheLocator):
        monkeypatch.setattr(locator, "from_function", lambda *_: None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    compiled.private_folder.cache_clear()
    shared = compiled.private_folder()
    assert (shared.parent, shared.stat().st_mode & 0o777) == (tmp_path, 0o700)
    compiled.private_folder.cache_clear()
    assert compiled.private_folder() == shared
    before = numba.config.CACHE_DIR
    kept = compiled.with_cache(newton.py_func, wrapped=False)  # type: ignore[attr-defined]
    assert shared in Path(kept._cache.cache_path).parents  # type: ignore[attr-defined]
    assert before == numba.config.CACHE_DIR
    # Others can write there: their code is not loaded.
    shared.chmod(0o777)
    compiled.private_folder.cache_clear()
    assert compiled.private_folder() != shared
    compiled.private_folder.cache_clear()


def test_without_any_folder_the_code_is_compiled_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where not even temporary files can be written, every call compiles, and says what would help."""
    from numba.core import caching

    def nowhere() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    for locator in (caching.InTreeCacheLocator, caching.UserWideCacheLocator):
        monkeypatch.setattr(locator, "from_function", lambda *_: None)
    monkeypatch.setattr("tempfile.gettempdir", nowhere)
    compiled.private_folder.cache_clear()
    done: list[int] = []
    monkeypatch.setattr(compilation, "compile_loops", lambda: done.append(1))
    compilation.ensure_compiled.__wrapped__()
    assert (done, capsys.readouterr().err) == ([1], f"{compilation.NOWHERE}\n")
    code = compiled.with_cache(newton.py_func, wrapped=False)  # type: ignore[attr-defined]
    assert not code._cache.cache_path  # type: ignore[attr-defined]


def test_one_process_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops are compiled under a lock, once, and a terminal shows why."""
    done: list[int] = []
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(compilation, "compile_loops", lambda: done.append(1))
    monkeypatch.setattr(compilation, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr("sys.stderr", terminal)
    for _ in range(2):
        compilation.ensure_compiled.__wrapped__()
    assert (done, terminal.getvalue()) == ([1], f"{compilation.NOTE}\n")
    monkeypatch.setattr(compilation, "stamp", lambda _: "of other sources")
    terminal.isatty = lambda: False  # type: ignore[method-assign]
    compilation.ensure_compiled.__wrapped__()
    assert (done, terminal.getvalue().count("\n")) == ([1, 1], 1)
    # While another process compiles, this one waits, and finds the loops compiled.
    monkeypatch.setattr(compilation, "stamp", lambda _: "of a third version")
    script = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(flush=True); input()"
    command = [sys.executable, "-c", script, str(tmp_path / "svm.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        other.stdout.readline()
        waiting = threading.Thread(target=compilation.ensure_compiled.__wrapped__)
        waiting.start()
        (tmp_path / f"svm-{compilation.identity()}.compiled").touch()
        other.stdin.write(b"\n")
        other.stdin.flush()
        waiting.join(timeout=60)
        assert not waiting.is_alive()
    assert done == [1, 1]
