"""Plug-ins are loaded by content, replaced by a new version, shipped to workers, and identify their cells."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from experiments import (
    ROOT,
    SMALL,
    kselect_in,
    message_of,
    records,
    refused_in,
    started_in,
    write_config,
)
from plugins import CAUCHY, MEDIAN, readme_blocks, write

from kselect import plugins
from kselect.criteria import CRITERIA
from kselect.errors import ConfigError
from kselect.kernels import KERNELS
from kselect.learners import LEARNERS
from kselect.plugins import load_plugin, registered_by, unload
from kselect.registry import Registry

ONE = SMALL.replace("splits: 3", "splits: 1").replace("sonar, liver-disorders", "sonar")
BOTH = ONE.replace("2^-2:2^3}", "[1, 2]}, cauchy: {spread: [1, 4]}").replace(
    "[5-CV, 5-KS]", "[5-CV, LOO-median]"
)
MINE = f"{BOTH}plugins: [mine.py, cauchy.py]\n"
RUN = ("run", "small.yaml", "-o", "out")


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Forget the plug-ins of a test."""
    yield
    for plugin in list(plugins.LOADED.values()):
        unload(plugin)


def prepared(folder: Path, text: str = MINE) -> Path:
    write(folder, MEDIAN)
    write(folder, CAUCHY, "cauchy.py")
    write_config(folder, text)
    return folder


def test_a_new_version_replaces_the_old_one(tmp_path: Path) -> None:
    first = load_plugin(write(tmp_path, MEDIAN))
    assert [(kind, name) for kind, name, _ in registered_by(first)] == [("criterion", "LOO-median")]
    kept = CRITERIA["LOO-median"]
    assert load_plugin(tmp_path / "mine.py") == first
    assert CRITERIA["LOO-median"] is kept
    second = load_plugin(write(tmp_path, MEDIAN.replace("LOO-median", "LOO-middle")))
    assert "LOO-median" not in CRITERIA
    assert CRITERIA.plugins == {"LOO-middle": second}
    unload(second)
    assert "LOO-middle" not in CRITERIA


def test_what_an_error_has_registered_is_forgotten(tmp_path: Path) -> None:
    path = write(tmp_path, f"{MEDIAN}\n1 / 0\n")
    line = len(MEDIAN.splitlines()) + 2
    said = message_of(ConfigError, load_plugin, path)
    assert said == f"{path}:{line}: ZeroDivisionError: division by zero"
    assert "LOO-median" not in CRITERIA


def test_names_of_another_plugin_are_taken(tmp_path: Path) -> None:
    load_plugin(write(tmp_path, MEDIAN))
    said = message_of(ConfigError, load_plugin, write(tmp_path, MEDIAN, "other.py"))
    assert said.endswith(
        "other.py:10: the criterion 'LOO-median' exists already, in mine.py; choose another name"
    )


class Entry:
    """An entry point that loads a function."""

    name, value = "theirs", "theirs.criteria"

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.loads = error, 0

    def load(self) -> None:
        self.loads += 1
        if self.error:
            raise self.error


def test_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry loads the entry points of its group after its folder; a broken one is one line."""
    entry = Entry()
    groups = {"kselect.criteria": [entry]}
    monkeypatch.setattr("kselect.registry.entry_points", lambda group: groups.get(group, []))
    one: Registry[object] = Registry("test", "kselect.kernels", entries="kselect.criteria")
    assert dict(one) == {}
    assert entry.loads == 1
    groups["kselect.criteria"] = [Entry(ImportError("no x"))]
    two: Registry[object] = Registry("test", "kselect.kernels", entries="kselect.criteria")
    assert message_of(ConfigError, lambda: dict(two)) == (
        "the entry point theirs of kselect.criteria (theirs.criteria): ImportError: no x; "
        "repair or remove its package"
    )
    wanted = {"criteria", "kernels", "learners", "searches", "figures"}
    from kselect.registry import REGISTRIES

    assert {r.entries.partition(".")[2] for r in REGISTRIES.values() if r.entries} == wanted


def test_an_installed_package(tmp_path: Path) -> None:
    """A package with entry points registers without a flag, and its checksum identifies its cells."""
    write(tmp_path, MEDIAN, "theirs.py")
    facts = tmp_path / "theirs-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[kselect.criteria]\nmedian = theirs\n")
    write_config(tmp_path, ONE.replace("5-KS", "LOO-median"))
    more = {"env": {"PYTHONPATH": f"{tmp_path}:{ROOT}"}}
    run = started_in(tmp_path, *RUN, **more)
    assert run.returncode == 0, run.stderr
    assert "0 cells stored, 4 to compute" in run.stderr
    write(tmp_path, f"{MEDIAN}# changed\n", "theirs.py")
    assert "2 cells stored, 2 to compute" in started_in(tmp_path, *RUN, **more).stderr


@pytest.mark.slow
def test_run_report_and_change(tmp_path: Path) -> None:
    """Workers know the plug-ins, the report needs only the results, and a change computes its own cells."""
    folder = prepared(tmp_path)
    run = kselect_in(folder, *RUN, "-j", "2")
    assert run.returncode == 0, run.stderr
    with (folder / "out/records.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {r["method"] for r in rows} == {"5-CV", "LOO-median"}
    assert {r["status"] for r in rows} == {"ok"}
    kept = (folder / "out/config.resolved.yaml").read_text()
    assert "plugins: [plugins/mine.py, plugins/cauchy.py]" in kept
    (folder / "elsewhere").mkdir()
    shutil.move(folder / "out", folder / "elsewhere/out")
    assert kselect_in(folder / "elsewhere", "report", "out").returncode == 0
    assert "LOO-median" in (folder / "elsewhere/out/report.html").read_text()
    shutil.move(folder / "elsewhere/out", folder / "out")
    before = records(folder / "out")
    write(folder, f"{MEDIAN}# changed\n")
    again = kselect_in(folder, *RUN)
    assert "small: 2 cells stored, 2 to compute" in again.stderr
    assert "2 of them are stored but no longer valid: plugins.mine.py: " in again.stderr
    assert records(folder / "out") == before
    write(folder, f"{CAUCHY}# changed\n", "cauchy.py")
    assert "small: 0 cells stored, 4 to compute" in kselect_in(folder, *RUN, "-n").stderr


def test_a_column_by_flag(tmp_path: Path) -> None:
    """The criteria of a flag's file become columns; those of a config's only if it names them."""
    folder = prepared(tmp_path, ONE)
    assert kselect_in(folder, *RUN, "-q").returncode == 0
    plain = records(folder / "out")
    run = kselect_in(folder, *RUN, "--plugin", "mine.py")
    assert "small: 4 cells stored, 2 to compute" in run.stderr
    rows = records(folder / "out").splitlines()
    assert [row for row in rows if b"LOO-median" not in row] == plain.splitlines()
    later = kselect_in(folder, *RUN)
    assert "small: 4 cells stored, 0 to compute" in later.stderr
    assert records(folder / "out").splitlines() == rows
    write_config(folder, f"{ONE}plugins: [mine.py]\n")
    assert "5-CV, 5-KS\n" in kselect_in(folder, "run", "small.yaml", "-o", "new", "-n").stderr


@pytest.mark.slow
def test_dask_workers_know_the_plugins(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed")
    folder = prepared(tmp_path)
    dask = started_in(folder, "run", "small.yaml", "-o", "dask", "--backend", "dask", "-j", "2")
    assert dask.returncode == 0, dask.stderr
    assert kselect_in(folder, *RUN, "-q").returncode == 0
    assert records(folder / "dask") == records(folder / "out")


def test_mistakes_in_a_config(tmp_path: Path) -> None:
    folder = prepared(tmp_path, f"{ONE}plugins: mine.py\n")
    assert refused_in(folder, *RUN) == [
        "error: small.yaml:8: plugins: must be a list, as in [mine.py], not the text 'mine.py'"
    ]
    write_config(folder, f"{ONE}plugins: [7, gone.py]\n")
    assert refused_in(folder, *RUN) == [
        "error: small.yaml:8: plugins[0]: must be a file, as in mine.py, not the number 7",
        "error: small.yaml:8: plugins[1]: gone.py: no such file",
    ]
    (folder / "other").mkdir()
    write(folder / "other", CAUCHY)
    write_config(folder, f"{ONE}plugins: [mine.py, other/mine.py]\n")
    assert refused_in(folder, *RUN) == [
        "error: small.yaml:8: plugins[1]: two plug-ins are called mine.py; rename one of them"
    ]


def test_the_square_loss_is_refused_for_other_learners(tmp_path: Path) -> None:
    """The README's criterion is annotated SquareLoss: no SVM is scored by it."""
    write(tmp_path, readme_blocks()[0], "evidence.py")
    text = ONE.replace("lssvm", "svm").replace("5-KS", "evidence")
    write_config(tmp_path, f"{text}plugins: [evidence.py]\n")
    assert refused_in(tmp_path, *RUN) == [
        "error: small.yaml:6: criteria[1]: evidence needs the square loss, which svm does not have"
    ]


def test_the_readme(tmp_path: Path) -> None:
    """Exactly what the README shows, next to the committed columns of ecml2014, which are reused."""
    code, commands = readme_blocks()[:2]
    assert len(code.splitlines()) <= 25
    write(tmp_path, code, "evidence.py")
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    ours = shutil.ignore_patterns("jobs", "figures", "tables", "variants")
    shutil.copytree(ROOT / "results/ecml2014", tmp_path / "results/ecml2014", ignore=ours)
    before = records(tmp_path / "results/ecml2014").splitlines()
    for line in commands.splitlines():
        typed, _, said = line.partition("#")
        name, *words = typed.split()
        assert name == "kselect"
        run = kselect_in(tmp_path, *words)
        assert run.returncode == 0, run.stderr
        assert said.strip() in run.stderr
    rows = records(tmp_path / "results/ecml2014").splitlines()
    assert [row for row in rows if b",evidence," not in row] == before
    assert len(rows) == len(before) + 2 * 3 * 4


def test_the_oracle_in_the_guide(tmp_path: Path) -> None:
    """The criterion of the README agrees with its definition in ``kselect guide plug-ins``."""
    guide = (ROOT / "kselect/guide/plug-ins.md").read_text(encoding="utf-8")
    oracle = guide.partition("```python\n")[2].partition("```")[0]
    write(tmp_path, f"{readme_blocks()[0]}\n\n{oracle}", "evidence.py")
    check = kselect_in(tmp_path, "check", "evidence.py")
    assert check.returncode == 0, check.stderr
    assert "ok      oracle" in check.stdout


def test_quadratic_form() -> None:
    """``y' (K + n lam I)^{-1} y`` by its definition, at ``y - b`` for a learner with a bias."""
    from problems import any_kernel, problem_of, rows

    X, y = rows()
    p = problem_of(any_kernel("gaussian"), X, y)
    for name in ("krr", "lssvm"):
        path = LEARNERS[name].path(p)
        found = path.quadratic_form()  # type: ignore[attr-defined]
        for ridge, lam in enumerate(p.lams):
            r = y - path.fit().bias[ridge]
            slow = r @ np.linalg.solve(p.K + p.n * lam * np.eye(p.n), r)
            assert found[ridge] == pytest.approx(slow, rel=1e-10)


MODEL = ("fit", "d.csv", "-o", "m.npz", "--kernel", "cauchy", "--plugin", "cauchy.py")


def test_a_model_of_a_plugin_says_which_file_it_needs(tmp_path: Path) -> None:
    write(tmp_path, CAUCHY, "cauchy.py")
    values = (f"{i % 7}.5,{i % 5},{(i % 7) ** 2 + i % 3}" for i in range(30))
    (tmp_path / "d.csv").write_text("\n".join(["a,b,y", *values, ""]))
    assert kselect_in(tmp_path, *MODEL, "--spread", "1,2,4").returncode == 0
    predict = ("predict", "m.npz", "d.csv")
    assert refused_in(tmp_path, *predict) == [
        "error: m.npz: its kernel cauchy comes from the plug-in cauchy.py: add --plugin cauchy.py"
    ]
    assert kselect_in(tmp_path, *predict, "--plugin", "cauchy.py").returncode == 0
    write(tmp_path, f"{CAUCHY}# changed\n", "cauchy.py")
    (line,) = refused_in(tmp_path, *predict, "--plugin", "cauchy.py")
    assert "m.npz: it was fitted with another version of the plug-in cauchy.py (sha256 " in line
    write(tmp_path, CAUCHY.replace("spread", "scale"), "cauchy.py")
    assert refused_in(tmp_path, *MODEL) == [
        "error: cauchy.py:11: the parameter scale of the kernel cauchy has the name of a flag of this "
        "command; choose another"
    ]


def test_list_and_select(tmp_path: Path) -> None:
    write(tmp_path, MEDIAN)
    listed = kselect_in(tmp_path, "list", "criteria", "--plugin", "mine.py")
    assert "LOO-median" in listed.stdout
    assert "LOO-median" not in kselect_in(tmp_path, "list", "criteria").stdout
    shutil.copy(ROOT / "data/embedded/heart.bz2", tmp_path)
    flags = ("--plugin", "mine.py", "--tau", "1,2", "--criterion", "LOO-median")
    found = kselect_in(tmp_path, "select", "heart.bz2", *flags)
    assert found.returncode == 0, found.stderr
    assert "LOO-median" in found.stdout


def test_kernels_of_plugins_are_dropped(tmp_path: Path) -> None:
    plugin = load_plugin(write(tmp_path, CAUCHY, "cauchy.py"))
    assert KERNELS.location("cauchy") == f"{tmp_path / 'cauchy.py'}:11: "
    assert KERNELS.location("gaussian") == ""
    unload(plugin)
    assert "cauchy" not in KERNELS
