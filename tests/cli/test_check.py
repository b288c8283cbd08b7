"""``kselect check`` and ``kselect run`` report each mistake in a plug-in as one line with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiments import SMALL, kselect_in, refused_in, write_config
from plugins import CAUCHY, MEDIAN, write

MARGINAL = MEDIAN.replace("LeaveOneOut", "Path").replace(
    "np.median(np.abs(path.problem.y - path.loo()) ** power, axis=-1)",
    "np.log(power * path.problem.lams)",
)
RETURN = "    return np.median(np.abs(path.problem.y - path.loo()) ** power, axis=-1)\n"
# A mistake, its line, and the words about it.
MISTAKES: dict[str, tuple[str, int, str]] = {
    "wrong shape": (
        MEDIAN.replace("axis=-1", "axis=0"), 10,
        "criterion LOO-median: returns scores of the shape (18,), not one per ridge, (3,)",
    ),
    "not a number": (
        MEDIAN.replace(RETURN, "    return np.full(len(path.problem.lams), np.nan) * power\n"), 10,
        "criterion LOO-median: returns a score that is not a number, nan or -inf",
    ),
    "no annotation": (
        MEDIAN.replace("path: LeaveOneOut", "path"), 10,
        "LOO-median: its first argument needs an annotation that says what it asks of a learner",
    ),
    "a name that exists": (
        MEDIAN.replace("LOO-median", "ELOO"), 10,
        "the criterion 'ELOO' exists already, in kselect; choose another name",
    ),
    "an import error": (
        MEDIAN.replace("import numpy as np", "import nosuchmodule"), 3,
        "ModuleNotFoundError: No module named 'nosuchmodule'",
    ),
    "a syntax error": (MEDIAN.replace("import numpy", "imprt numpy"), 3, "SyntaxError: "),
    "an error in its body": (
        MEDIAN.replace("path.loo()", "path.lo()"), 13, "criterion LOO-median: AttributeError: ",
    ),
    "not the oracle's": (
        MEDIAN.replace(RETURN, RETURN.replace("axis=-1)", "axis=-1) + 0.1")), 10,
        "criterion LOO-median: differs from its oracle by up to 0.1",
    ),
    "any learner": (MARGINAL, 10, "is annotated Path, but asks nothing of the path except its problem"),
    "an asymmetric kernel": (
        CAUCHY.replace("self.spread)\n\n", "self.spread) + points.X[:, :1]\n\n", 1), 11,
        "kernel cauchy: its matrix is not symmetric",
    ),
    "no grid": (
        CAUCHY.replace('{"spread": "2^-2:2^6"}', "{}"), 11,
        "kernel cauchy: needs a default grid for each parameter: spread",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(tmp_path: Path, mistake: str) -> None:
    text, line, words = MISTAKES[mistake]
    assert text not in (MEDIAN, CAUCHY)
    write(tmp_path, text)
    write_config(tmp_path)
    check = kselect_in(tmp_path, "check", "mine.py")
    (error,) = check.stderr.splitlines()
    assert error.startswith(f"error: mine.py:{line}: ")
    assert words in error
    loaded = check.stdout != ""
    assert check.returncode == (1 if loaded else 2)
    (error,) = refused_in(tmp_path, "run", "small.yaml", "-o", "out", "--plugin", "mine.py")
    assert error.startswith(f"error: mine.py:{line}: ")
    assert words in error
    write_config(tmp_path, f"{SMALL}plugins: [mine.py]\n")
    (error,) = refused_in(tmp_path, "run", "small.yaml", "-o", "out")
    assert f"mine.py:{line}: " in error
    assert loaded or error.startswith("error: small.yaml:8: plugins[0]: ")
    assert words in error
    assert not (tmp_path / "out").exists()


def test_what_readers_need_is_missing(tmp_path: Path) -> None:
    """A docstring, and an effect of each parameter: check reports them, run does not need them."""
    text = MEDIAN.replace('    """Median absolute leave-one-out error."""\n', "")
    write(tmp_path, text.replace(" ** power", ""))
    check = kselect_in(tmp_path, "check", "mine.py")
    assert check.returncode == 1
    assert check.stderr.splitlines() == [
        "error: mine.py:10: criterion LOO-median: ignores its parameter power",
        "error: mine.py:10: criterion LOO-median: has no docstring; its first line is shown by kselect list",
    ]
    assert "1 part of mine.py: 2 checks do not hold" in check.stdout
    write_config(tmp_path)
    flags = ("run", "small.yaml", "-n", "--plugin", "mine.py", "--splits", "1")
    assert kselect_in(tmp_path, *flags).returncode == 0


def test_a_plugin_that_holds(tmp_path: Path) -> None:
    write(tmp_path, MEDIAN + CAUCHY)
    check = kselect_in(tmp_path, "check", "mine.py")
    assert (check.returncode, check.stderr) == (0, "")
    assert "2 parts of mine.py: all checks hold" in check.stdout
    assert check.stdout.count("ok      oracle") == 2
    write(tmp_path, CAUCHY.partition("\n\ndef oracle")[0])
    absent = kselect_in(tmp_path, "check", "mine.py")
    assert absent.returncode == 0
    assert "absent  oracle" in absent.stdout


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("mine.txt", MEDIAN, "mine.txt: a plug-in is a Python file, NAME.py"),
        ("mine.py", "x = 1\n", "mine.py:1: registers nothing; see kselect guide plug-ins"),
        ("gone.py", None, "gone.py: no such file"),
        ("mine.py", "raise SystemExit(0)\n", "mine.py:1: SystemExit: 0"),
    ],
)
def test_no_plugin(tmp_path: Path, name: str, content: str | None, words: str) -> None:
    if content is not None:
        write(tmp_path, content, name)
    assert refused_in(tmp_path, "check", name) == [f"error: {words}"]
