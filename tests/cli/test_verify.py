"""``kselect verify`` on a small package and on the committed records, and the lists of papers and experiments."""

from __future__ import annotations

import csv
import json
import lzma
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from experiments import SMALL, kselect_in, refused_in, write_config

from kselect import packaged as module
from kselect.cli import verify as command
from kselect.cli.main import cli
from kselect.core.record import Record
from kselect.datasets.content import sha256_of
from kselect.packaged import experiments, packaged

HOOK = "import pathlib, kselect.packaged as m; m.PACKAGE = pathlib.Path({!r})"
Change = Callable[[list[dict[str, str]]], None]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a package that carries one small experiment with its results."""
    folder = tmp_path_factory.mktemp("package")
    write_config(folder)
    assert kselect_in(folder, "run", "small.yaml", "-q").returncode == 0
    for name in ("configs", "results/small"):
        (folder / "packaged_data" / name).mkdir(parents=True)
    shutil.copy(folder / "small.yaml", folder / "packaged_data/configs")
    for name in ("records.csv", "seconds.csv", "manifest.json"):
        packed = lzma.compress((folder / "results/small" / name).read_bytes())
        (folder / f"packaged_data/results/small/{name}.xz").write_bytes(packed)
    return folder


@pytest.fixture
def package(tmp_path: Path, finished: Path) -> Path:
    """Return a copy of the package."""
    shutil.copytree(finished / "packaged_data", tmp_path / "packaged_data")
    return tmp_path


def damage(package: Path, change: Change, manifest: bool = True) -> None:
    """Change the committed records of a package, with or without the checksum in its manifest."""
    folder = package / "packaged_data/results/small"
    text = lzma.decompress((folder / "records.csv.xz").read_bytes()).decode()
    rows = list(csv.DictReader(text.splitlines()))
    change(rows)
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    content = ("\n".join(lines) + "\n").encode()
    (folder / "records.csv.xz").write_bytes(lzma.compress(content))
    if manifest:
        facts = json.loads(lzma.decompress((folder / "manifest.json.xz").read_bytes()))
        facts.pop("checksum")
        facts["records_sha256"] = sha256_of(content)
        facts["checksum"] = sha256_of(json.dumps(facts, sort_keys=True).encode())
        (folder / "manifest.json.xz").write_bytes(lzma.compress(json.dumps(facts).encode()))


def verified(package: Path, *arguments: str) -> Any:
    return kselect_in(package, "verify", "small", *arguments, hook=HOOK.format(str(package)))


def test_cells_that_agree(package: Path) -> None:
    run = verified(package, "--cells", "10", "-j", "2")
    assert (run.returncode, run.stdout) == (0, "small: 10 of 10 cells agree\n")
    first = run.stderr.splitlines()[0]
    assert first.startswith("small: 10 of 36 cells (seed 0) from 3 jobs of 3 data sets; with all ")
    assert sorted(p.name for p in package.iterdir() if p.name in ("results", "jobs")) == []


def test_a_damaged_record_is_seen(package: Path) -> None:
    """A wrong error and a wrong choice are listed with both numbers; the others agree."""
    truth: list[str] = []

    def change(rows: list[dict[str, str]]) -> None:
        truth.extend((rows[0]["error"], rows[1]["chosen"], rows[1]["score"]))
        rows[0]["error"] = "0.0123456789"
        rows[1] |= {"chosen": "tau=0.25" if truth[1] != "tau=0.25" else "tau=0.5"}

    damage(package, change)
    run = verified(package, "--cells", "36", "-q", "-d", "heart")
    assert run.returncode == 1
    assert run.stderr == ""
    error, choice, last = run.stdout.splitlines()
    assert error.startswith("differs: heart, split 0, table, 5-CV (")
    assert error.endswith(f"error 0.0123456789 committed, {truth[0]} here")
    assert f" committed, gaussian {truth[1]} lam=" in choice
    assert "; there score " in choice, "the committed choice has another score"
    assert last == "small: 10 of 12 cells agree"


def test_a_changed_file_is_refused(package: Path) -> None:
    """Without the right checksum, nothing is compared; the same holds for another config."""
    damage(package, lambda rows: rows[0].update(error="0.25"), manifest=False)
    hook = HOOK.format(str(package))
    (line,) = refused_in(package, "verify", "small", hook=hook)
    assert line.endswith("records.csv: damaged: its SHA-256 is not the one in manifest.json")
    damage(package, lambda rows: None)
    config = package / "packaged_data/configs/small.yaml"
    config.write_text(SMALL + "seed: 1\n")
    (line,) = refused_in(package, "verify", "small", hook=hook)
    assert "the config has changed since its records were committed" in line
    manifest = package / "packaged_data/results/small/manifest.json.xz"
    manifest.write_bytes(lzma.compress(b"{}"))
    (line,) = refused_in(package, "verify", "small", hook=hook)
    assert line.endswith("manifest.json: damaged")
    manifest.write_bytes(b"-")
    (line,) = refused_in(package, "verify", "small", hook=hook)
    assert line.endswith("manifest.json.xz: damaged; install kselect again")


# --- flags, without computing -----------------------------------------------------------------------


@pytest.fixture
def drawn(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[list[Record], Any, Result]]:
    """Return a function that types ``verify small`` and returns the sample, the run options and the output."""
    monkeypatch.setattr(module, "PACKAGE", package)
    monkeypatch.setenv("KSELECT_DATA_DIR", str(package / "cache"))
    monkeypatch.chdir(package)
    seen: list[Any] = []
    draw = command.draw_sample

    def drawing(*given: Any) -> list[Record]:
        seen.append(draw(*given))
        return list(seen[-1])

    def computing(_: Any, trials: Any, sources: Any, options: Any) -> dict[Any, Record]:
        seen.append(options)
        assert {trial.source for trial in trials} <= set(sources.values())
        return {command.cell_of(record): record for record in seen[0]}

    monkeypatch.setattr(command, "draw_sample", drawing)
    monkeypatch.setattr(command, "recompute", computing)

    def typed(*arguments: str) -> tuple[list[Record], Any, Result]:
        seen.clear()
        result = CliRunner().invoke(cli, ["verify", "small", *arguments], standalone_mode=False)
        return (*seen, result) if len(seen) == 2 else ([], None, result)  # type: ignore[return-value]

    return typed


def test_every_flag_counts(drawn: Callable[..., tuple[list[Record], Any, Result]]) -> None:
    sample, options, result = drawn()
    assert (len(sample), options.n_jobs, options.quiet) == (36, 1, False)
    assert result.stdout == "small: 36 of 36 cells agree\n"
    assert drawn("--cells", "7")[0] != drawn("--cells", "7", "--seed", "1")[0]
    assert len(drawn("--cells", "7")[0]) == 7
    sample, options, result = drawn("-d", "heart", "-j", "3", "-q")
    assert {record.dataset for record in sample} == {"heart"}
    assert (options.n_jobs, options.quiet, result.stderr) == (3, True, "")
    wrong = drawn("-d", "mpg")[2].exception
    assert str(wrong).startswith("--dataset: small has no records of 'mpg'; valid: heart")


def test_data_sets_without_the_same_file_are_named(
    package: Path,
    drawn: Callable[..., tuple[list[Record], Any, Result]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An original in the cache does not matter while the packed copy has the right checksum."""
    resolve = command.resolve

    def other(info: Any, *rest: Any) -> Any:
        found = resolve(info, *rest)
        return type(found)(Path("elsewhere"), "cache", "0" * 64) if info.name == "heart" else found

    monkeypatch.setattr(command, "resolve", other)
    assert {record.dataset for record in drawn()[0]} == {"heart", "sonar", "liver-disorders"}
    monkeypatch.setattr(command, "in_package", lambda *_: None)
    sample, _, result = drawn("--cells", "10")
    assert {record.dataset for record in sample} == {"sonar", "liver-disorders"}
    assert re.search(
        r"^not verified: heart: the committed records are of a file with SHA-256 \w{12}\.\.\., "
        r"elsewhere \(cache\) has 0{12}\.\.\.$",
        result.stderr,
        re.MULTILINE,
    )
    assert result.stdout == "small: 10 of 10 cells agree\n"
    nothing = drawn("-d", "heart")[2].exception
    assert "no data set is left" in str(nothing)


def test_a_data_set_that_cannot_be_found_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--offline``, ``--mirror`` and ``--data-dir`` decide where to look."""
    seen: list[Any] = []
    monkeypatch.setattr(command, "recompute", lambda *given: seen.append(given) or {})
    monkeypatch.delenv("KSELECT_MIRROR", raising=False)
    monkeypatch.chdir(tmp_path)
    typed = ["verify", "ecml2014", "--cells", "9", "--offline", "--data-dir", "cache", "-q"]
    result = CliRunner().invoke(cli, [*typed, "--mirror", "mirror"], standalone_mode=False)
    (line,) = result.stderr.splitlines()
    assert line.startswith("not verified: a2a: no file found: not in ")
    assert "no mirror/libsvm/a2a; --offline excludes the LIBSVM site" in line
    assert line.endswith("; ways out: --mirror DIR|URL or 'kselect data fetch a2a'")
    assert result.stdout.splitlines()[-1] == "ecml2014: 0 of 9 cells agree"
    assert result.stdout.count("not computed here") == 9
    ((_, trials, sources, _),) = seen
    assert len(sources) == 8 == len({trial.dataset for trial in trials})


def test_what_has_no_records(tmp_path: Path) -> None:
    for name, words in (
        ("ecml2015", "error: 'ecml2015': no experiment of kselect; did you mean 'ecml2014'?"),
        ("small.yaml", "error: 'small.yaml': no experiment of kselect; valid: ecml2014"),
    ):
        (line,) = refused_in(tmp_path, "verify", name)
        assert line.startswith(words)
    hook = HOOK.format(str(tmp_path))
    (tmp_path / "packaged_data/configs").mkdir(parents=True)
    write_config(tmp_path / "packaged_data/configs")
    (line,) = refused_in(tmp_path, "verify", "small", hook=hook)
    assert line.startswith("error: small: no records of it come with kselect; valid: ")


# --- kselect list -----------------------------------------------------------------------------------


def test_papers_and_experiments_are_listed() -> None:
    """Every paper has its title, authors, year, claims, data sets and a measured time."""
    result = CliRunner().invoke(cli, ["list", "papers"], catch_exceptions=False)
    blocks = re.split(r"\n(?=\S)", result.stdout.rstrip("\n"))
    names = {path.stem for path in packaged("published").glob("*.yaml")}
    assert [block.split()[0] for block in blocks] == sorted(names)
    first = [line.strip() for line in blocks[0].splitlines()]
    assert first == [
        "ecml2014   Preventing Over-Fitting of Cross-Validation with Kernel Stability",
        "Yong Liu, Shizhong Liao; ECML PKDD 2014",
        "7 claims; 9 data sets, 1 of them from --mirror or a download (a2a)",
        first[3],
    ]
    rows = csv.DictReader((packaged("results") / "ecml2014/seconds.csv").read_text().splitlines())
    minutes = round(sum(float(row["search"]) + float(row["test"]) for row in rows) / 60)
    assert first[3].startswith(f"took {minutes} min in one process (")
    assert first[3].endswith("; kselect run ecml2014")
    assert "Cawley, Nicola L. C. Talbot; Neural Networks, 2014" in blocks[1]
    # A copy that comes with kselect needs no download, although the original splits would.
    needed = "6 of them from --mirror or a download (banana, breast_cancer, ringnorm, titanic,"
    assert f"17 data sets, {needed} twonorm, waveform)" in blocks[1]
    result = CliRunner().invoke(cli, ["list", "experiments"], catch_exceptions=False)
    blocks = re.split(r"\n(?=\S)", result.stdout.rstrip("\n"))
    assert [block.split()[0] for block in blocks] == list(experiments())
    (quick,) = (block for block in blocks if block.startswith("quickstart"))
    sets, records = (line.strip() for line in quick.splitlines()[1:])
    assert sets == "3 data sets"
    if not (packaged("results") / "quickstart").is_dir():  # nobody ran it in this clone
        assert records == "no committed records"


def test_names_for_time_and_report(tmp_path: Path) -> None:
    (line,) = refused_in(tmp_path, "time", "quickstrat")
    assert line.endswith("no experiment of kselect; did you mean 'quickstart'?")
    (line,) = refused_in(tmp_path, "report")
    assert line.startswith("error: results: no results here (")
    (line,) = refused_in(tmp_path, "report", "quickstart")
    assert line.endswith("no results here or in results/; kselect run quickstart computes them")
    (tmp_path / "results/mine").mkdir(parents=True)
    (tmp_path / "results/mine/config.resolved.yaml").write_text("")
    (line,) = refused_in(tmp_path, "report", "mime")
    assert line.endswith("mime: no results here or in results/; did you mean 'mine'?")
    for verb in ("run", "time"):
        out = kselect_in(tmp_path, verb, "-h").stdout
        assert "the name of an experiment that comes with kselect" in " ".join(out.split())
