"""``kselect data`` with a mirror in a folder of the test."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
import yaml
from experiments import NO_NETWORK, kselect_in, refused_in

from kselect.datasets.registry import as_info, load_registry


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """Return a mirror whose file of a2a has a wrong checksum."""
    path = tmp_path / "mirror/libsvm/a2a"
    path.parent.mkdir(parents=True)
    path.write_text("1 1:1\n")
    return tmp_path / "mirror"


def test_list_does_not_use_the_network(tmp_path: Path, mirror: Path) -> None:
    run = kselect_in(tmp_path, "data", "list", hook=NO_NETWORK)
    assert run.returncode == 0
    lines = {line.split()[0]: line for line in run.stdout.splitlines()}
    assert list(lines) == list(load_registry())
    assert lines["heart"].split()[1:] == ["classification", "270", "x", "13", "embedded"]
    assert lines["a2a"].endswith("not here")
    told = kselect_in(tmp_path, "data", "list", "--mirror", "mirror", hook=NO_NETWORK)
    assert "wrong checksum" in next(line for line in told.stdout.splitlines() if "a2a" in line)


def test_environment_variables(tmp_path: Path, mirror: Path) -> None:
    for variable in ({"KSELECT_MIRROR": "mirror"}, {"KSELECT_DATA_DIR": "mirror"}):
        run = kselect_in(tmp_path, "data", "list", env=variable)
        assert "wrong checksum" in run.stdout, variable
    flag = kselect_in(tmp_path, "data", "list", "--mirror", ".", env={"KSELECT_MIRROR": "mirror"})
    assert "wrong checksum" not in flag.stdout


def test_a_damaged_cached_file_is_reported(tmp_path: Path, mirror: Path) -> None:
    """``list`` reports a damaged cached file, and so does ``fetch`` if it finds no other copy."""
    here = ("--data-dir", "mirror/libsvm", "--offline")
    listed = kselect_in(tmp_path, "data", "list", *here).stdout.splitlines()
    (line,) = (line for line in listed if line.startswith("a2a "))
    assert "mirror/libsvm/a2a: wrong checksum: sha256 is " in line
    assert "no other" not in line
    (line,) = refused_in(tmp_path, "data", "fetch", "a2a", *here)
    assert line.startswith("error: mirror/libsvm/a2a: wrong checksum: sha256 is ")
    assert "; no other copy found: no --mirror given; " in line


@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
def test_lock_reads_plain_files_only(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    assert refused_in(tmp_path, "data", "lock", "x") == [f"error: x: is a {kind}, not a file"]


def test_verify_with_an_unusable_mirror(tmp_path: Path) -> None:
    (line,) = refused_in(tmp_path, "data", "verify", "a2a", "--mirror", "z" * 300)
    assert line.endswith("/libsvm/a2a: File name too long")
    secret = kselect_in(tmp_path, "data", "verify", "a2a", "--mirror", "http://u:secret@host")
    assert (secret.returncode, secret.stdout) == (0, "a2a: no copy here\n")


def test_fetch_reports_every_problem(tmp_path: Path, mirror: Path) -> None:
    flags = ("--mirror", "mirror", "--offline", "--data-dir", "cache")
    typed = ("data", "fetch", "a2a", "fourclass", *flags)
    first, second = refused_in(tmp_path, *typed, hook=NO_NETWORK)
    assert first.startswith("error: mirror/libsvm/a2a: wrong checksum: sha256 is ")
    assert second.startswith("error: fourclass: no file found: ")
    assert not (tmp_path / "cache").exists()


def test_fetch_of_an_unknown_name(tmp_path: Path) -> None:
    (line,) = refused_in(tmp_path, "data", "fetch", "hart")
    assert line.startswith("error: unknown data set 'hart'; did you mean 'heart'?")


def test_verify(tmp_path: Path, mirror: Path) -> None:
    good = kselect_in(tmp_path, "data", "verify", "heart", "fourclass", hook=NO_NETWORK)
    assert good.returncode == 0
    first, second = good.stdout.splitlines()
    assert first.endswith("heart.bz2: good")
    assert second == "fourclass: no copy here"
    bad = kselect_in(tmp_path, "data", "verify", "--mirror", "mirror")
    assert bad.returncode == 2
    assert "sonar.bz2: good" in bad.stdout
    (line,) = bad.stderr.splitlines()
    assert line.startswith("error: mirror/libsvm/a2a: wrong checksum")


def test_lock_prints_registry_entries(tmp_path: Path) -> None:
    (tmp_path / "toy.svm").write_text("1 1:1 3:2\n2 2:1\n")
    (tmp_path / "steps.svm").write_text("1.5 1:1\n2 1:1\n3 1:2\n")
    run = kselect_in(tmp_path, "data", "lock", "toy.svm", "steps.svm")
    assert run.returncode == 0
    entries = {name: as_info(name, e) for name, e in yaml.safe_load(run.stdout).items()}
    assert list(entries) == ["toy", "steps"]
    toy, steps = entries["toy"], entries["steps"]
    assert (toy.task, toy.rows, toy.features) == ("classification", 2, 3)
    assert toy.labels == {"1": -1, "2": 1}
    assert toy.file == "toy.svm"
    assert len(toy.sha256) == 64
    assert toy.bytes == len("1 1:1 3:2\n2 2:1\n")
    assert (steps.task, steps.rows, steps.labels) == ("regression", 3, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [("1 1:x\n", "bad.svm:1: value is not a number: '1:x'"), ("", "no examples")],
)
def test_lock_of_a_malformed_file(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.svm").write_text(text)
    (line,) = refused_in(tmp_path, "data", "lock", "bad.svm")
    assert message in line
