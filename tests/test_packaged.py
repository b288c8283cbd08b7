"""What comes with kselect: found by name, carried by a wheel, and described alike everywhere."""

from __future__ import annotations

import importlib.util
import lzma
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import matplotlib
import pytest
import yaml

import kselect
from kselect import packaged as module
from kselect.errors import ConfigError
from kselect.packaged import experiments, find_config, packaged, read_packed

ROOT = Path(kselect.__file__).resolve().parents[1]
SECONDS = 240.0
LARGEST_RECORDS = 6_000_000  # bytes


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def run_python(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python to its end in a process of its own."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


# --- names ------------------------------------------------------------------------------------------


def test_a_name_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_config("ecml2014") == ROOT / "configs/ecml2014.yaml"
    monkeypatch.chdir(ROOT)
    assert find_config("ecml2014") == Path("configs/ecml2014.yaml"), "short in messages"


def test_a_file_wins_over_a_name_and_a_folder_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ecml2014").mkdir()
    assert find_config("ecml2014").is_file(), (
        "as inside results/, where each experiment has a folder"
    )
    assert find_config("./ecml2014") == Path("ecml2014")
    (tmp_path / "ecml2014").rmdir()
    (tmp_path / "ecml2014").write_text("name: mine\n")
    assert find_config("ecml2014") == Path("ecml2014")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("ecml2015", "'ecml2015': no file, and no experiment of kselect; did you mean 'ecml2014'?"),
        ("configs/ecml2014.yaml", "configs/ecml2014.yaml: no such file; did you mean 'ecml2014'?"),
        (
            "zzz",
            "'zzz': no file, and no experiment of kselect; valid: ecml2014, flkl2014, icml2014",
        ),
    ],
)
def test_a_misspelt_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        find_config(written)
    assert str(caught.value).startswith(words)


def test_other_paths_are_left_to_the_reader(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.yaml", tmp_path / ("x" * 300)):
        assert find_config(str(path)) == path


def test_packed_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel has the compressed file; a damaged one is an OSError that names it."""
    (tmp_path / "plain.csv").write_bytes(b"1")
    assert read_packed(tmp_path / "plain.csv") == b"1"
    (tmp_path / "packed.csv.xz").write_bytes(lzma.compress(b"2" * 1000))
    assert read_packed(tmp_path / "packed.csv") == b"2" * 1000
    whole = (tmp_path / "packed.csv.xz").read_bytes()
    for damaged in (whole[:-8], b"no xz"):
        (tmp_path / "packed.csv.xz").write_bytes(damaged)
        with pytest.raises(OSError, match="damaged") as caught:
            read_packed(tmp_path / "packed.csv")
        assert caught.value.filename == str(tmp_path / "packed.csv.xz")
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    (tmp_path / "packaged_data/configs").mkdir(parents=True)
    assert packaged("configs") == tmp_path / "packaged_data/configs"
    assert packaged("results") == ROOT / "results"


# --- the wheel --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the unpacked wheel of this repository, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    done = run_python("-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "records of the experiments: " in done.stdout + done.stderr
    (file,) = folder.glob("*.whl")
    with zipfile.ZipFile(file) as content:
        content.extractall(folder / "unpacked")
    reuse_compiled(folder / "unpacked")
    return folder / "unpacked"


def reuse_compiled(unpacked: Path) -> None:
    """Copy the compiled modules of this repository: compiling all of them takes seconds."""
    for path in (ROOT / "kselect").rglob("*.py"):
        copy = unpacked / path.relative_to(ROOT)
        compiled = Path(importlib.util.cache_from_source(str(path)))
        if compiled.exists() and copy.read_bytes() == path.read_bytes():
            os.utime(copy, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
            target = Path(importlib.util.cache_from_source(str(copy)))
            target.parent.mkdir(exist_ok=True)
            shutil.copy(compiled, target)


def test_a_wheel_carries_everything(wheel: Path) -> None:
    """The configs and the records are exactly those of the repository, and the records are small."""
    data = wheel / "kselect/packaged_data"
    for folder in ("configs", "published", "embedded"):
        ours = {path.name: path.read_bytes() for path in (data / folder).iterdir()}
        theirs = packaged(folder)
        assert ours == {path.name: path.read_bytes() for path in theirs.iterdir()}
    packed = sorted((data / "results").glob("*/*"))
    assert sum(path.stat().st_size for path in packed) < LARGEST_RECORDS
    names = {path.parent.name for path in packed}
    assert names == set(experiments()) - {"quickstart"}
    assert len(packed) == 3 * len(names)
    for path in packed:
        committed = ROOT / "results" / path.parent.name / path.stem
        assert lzma.decompress(path.read_bytes()) == committed.read_bytes()
    assert (wheel / "kselect/CHANGELOG.md").is_file()


@pytest.mark.slow
def test_a_wheel_works_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("KSELECT_")}
    env |= {"PYTHONPATH": str(wheel), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    env["MPLCONFIGDIR"] = matplotlib.get_cachedir()  # matplotlib lists the fonts of the system once
    part = ("-d", "heart", "--splits", "1", "-c", "5-CV", "--offline", "-q")
    for typed in (
        ("run", "quickstart", *part),
        ("report", "-q"),
        ("verify", "ecml2014", "--cells", "2", "-d", "heart", "--offline", "-q"),
    ):
        done = run_python("-m", "kselect", *typed, cwd=tmp_path, env=env)
        assert (done.returncode, done.stderr) == (0, ""), typed
    assert done.stdout == "ecml2014: 2 of 2 cells agree\n"
    assert (tmp_path / "results/quickstart/report.html").is_file()
    assert (tmp_path / "results/index.html").is_file()


# --- the artefact -----------------------------------------------------------------------------------


def entries(text: str) -> list[str]:
    """Return the BibTeX entries of a text with one space between words."""
    found = re.findall(r"^@\w+\{.*?\}(?=\n+@|\n+```)", text, re.DOTALL | re.MULTILINE)
    return sorted(" ".join(entry.split()).replace(" }", "}") for entry in found)


def test_one_source_of_citations() -> None:
    """The README has the entries of the guide; these have the facts of the papers."""
    guide = read("kselect/guide/citing.md")
    assert entries(read("README.md")) == entries(guide)
    papers = sorted(packaged("published").glob("*.yaml"))
    assert len(entries(guide)) == len(papers) + 1
    for path in papers:
        facts = yaml.safe_load(path.read_text(encoding="utf-8"))
        (entry,) = (e for e in entries(guide) if f"{{{path.stem}," in e)
        plain = entry.replace("{Bouligand}", "Bouligand")
        assert f"title = {{{facts['title']}}}" in plain
        for author in facts["authors"]:
            *first, last = author.split()
            assert f"{last}, {' '.join(first)}" in entry
        for key in ("year", "doi", "url"):
            assert (
                (f"{key} = {{{facts[key]}}}" in entry) if key in facts else f"{key} =" not in entry
            )


def test_the_citation_file() -> None:
    """CITATION.cff has the keys that version 1.2.0 of its format requires, and this version."""
    cited = yaml.safe_load(read("CITATION.cff"))
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(cited)
    assert all(author["name"] for author in cited["authors"])
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert cited["license"] == project["license"]
    version = project["version"]
    assert str(cited["version"]) == version == kselect.__version__
    assert f"version = {{{version}}}" in " ".join(read("kselect/guide/citing.md").split())
    assert f"\n## {version}\n" in read("kselect/CHANGELOG.md")


def test_the_hashed_lock() -> None:
    """It has the versions of constraints.txt, a checksum for each, every dependency, and no index."""
    text = read("requirements-hashed.txt")
    blocks = re.findall(
        r"^([A-Za-z0-9_.-]+)==(\S+).*?\\\n((?:    --hash=.*\n?)+)", text, re.MULTILINE
    )
    locked = {name.lower().replace("_", "-"): version for name, version, _ in blocks}
    assert len(blocks) == len(re.findall(r"^\S+==", text, re.MULTILINE))
    assert text.count("--hash=sha256:") == text.count("--hash=") >= len(blocks)
    pins = re.findall(r"^([A-Za-z0-9_.-]+)==(\S+)$", read("constraints.txt"), re.MULTILINE)
    constraints = {name.lower().replace("_", "-"): version for name, version in pins}
    assert locked.items() <= {**constraints, "colorama": locked["colorama"]}.items()
    needed = tomllib.loads(read("pyproject.toml"))["project"]["dependencies"]
    assert {re.split(r"[>=]", line)[0] for line in needed} <= set(locked)
    assert "://" not in text
    assert "index" not in text.replace("--no-emit-index-url", "")


def test_other_systems_get_one_line(tmp_path: Path) -> None:
    """Where Python has no POSIX locks, a command prints one line, and the import of an estimator says the same."""
    code = (
        "import sys; sys.modules.update(fcntl=None, resource=None); sys.argv = ['kselect', *{}]; {}"
    )
    command = "from kselect.cli.main import main; main()"
    for typed in (["run", "quickstart"], ["--help"]):
        done = run_python("-c", code.format(typed, command), cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("error: kselect runs on Linux and macOS, not on ")
        assert "WSL" in line
    done = run_python(
        "-c", code.format([], "from kselect import KernelSelectClassifierCV"), cwd=tmp_path
    )
    assert "UnsupportedSystem: kselect runs on Linux and macOS" in done.stderr.splitlines()[-1]


def test_supported_systems() -> None:
    classifiers = tomllib.loads(read("pyproject.toml"))["project"]["classifiers"]
    systems = {c for c in classifiers if c.startswith("Operating System ::")}
    assert systems == {"Operating System :: MacOS", "Operating System :: POSIX :: Linux"}
    assert "on Linux or macOS; on Windows, use WSL" in read("README.md")
