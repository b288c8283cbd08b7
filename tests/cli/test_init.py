"""``kselect init`` turns data files into a config that runs without changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from kselect.cli.init import name_for
from kselect.cli.main import cli
from kselect.config.load import load_config
from kselect.report.sections import FIGURES


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    (tmp_path / "data").mkdir()
    numbers = "".join(f"{a:.3f},{b:.3f},{a - b:.3f}\n" for a, b in rng.normal(size=(40, 2)))
    (tmp_path / "data" / "my prices.csv").write_text("a,b,price\n" + numbers)
    classes = "".join(f"{i},{'SML'[i % 3]},{'uv'[i % 2]}\n" for i in range(40))
    (tmp_path / "heart.csv").write_text("id,size,kind\n" + classes)


def typed(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(cli, ["init", *arguments])


def test_the_config_is_valid(tmp_path: Path) -> None:
    result = typed("data/my prices.csv", "heart.csv", "-o", "own.yaml")
    assert result.exit_code == 0, result.output
    assert "column id: dropped: looks like an identifier" in result.output
    experiment = load_config(tmp_path / "own.yaml", FIGURES)
    assert experiment.name == "own"
    assert experiment.datasets == ("my-prices", "heart-2")
    assert [info.task for info in experiment.own] == ["regression", "classification"]
    assert experiment.scale_on == "train"
    assert dict(experiment.learners)["regression"].name == "krr"


def test_every_key_has_a_comment(tmp_path: Path) -> None:
    typed("heart.csv")
    text = (tmp_path / "my.yaml").read_text()
    assert "stratify: true " in text
    assert "learner: lssvm " in text
    for line in text.splitlines():
        if line and not line.startswith(("#", " ", "kernels", "criteria", "datasets")):
            assert "  # " in line


def test_targets_by_file(tmp_path: Path) -> None:
    typed("data/my prices.csv", "heart.csv", "--target", "a", "--target", "size")
    infos = load_config(tmp_path / "my.yaml", FIGURES).own
    assert [info.reading["target"] for info in infos] == ["a", "size"]


def test_paths_are_relative_to_the_config(tmp_path: Path) -> None:
    result = typed("heart.csv", "-o", "data/my.yaml")
    assert result.exit_code == 0
    assert "file: ../heart.csv" in (tmp_path / "data" / "my.yaml").read_text()
    load_config(tmp_path / "data" / "my.yaml", FIGURES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("heart.csv", "--target", "a", "--target", "b"), "2 targets for 1 files"),
        (("no.csv",), "no.csv: No such file or directory"),
        (("heart.csv", "-o", "there.yaml"), "there.yaml: already exists; --force overwrites it"),
        (("heart.csv", "--target", "weight"), "no column 'weight' for the target"),
        (("heart.csv", "-o", "no/my.yaml"), "my.yaml"),
    ],
)
def test_mistakes(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "there.yaml").write_text("")
    result = typed(*arguments)
    if result.exit_code == 0:
        assert (tmp_path / "no" / "my.yaml").is_file()
        return
    assert said in str(result.exception)


def test_names() -> None:
    assert name_for(Path("a b.c.csv.gz"), ()) == "a-b"
    assert name_for(Path("wine.csv"), ("wine",)) == "wine-2"
    assert name_for(Path(".csv"), ()) == "csv"


@pytest.mark.parametrize("lone", ["a", "z"])
def test_a_class_of_one_row_is_refused(tmp_path: Path, lone: str) -> None:
    """Of two classes, the one that sorts first counts, too."""
    labels = [lone] + 9 * ["z" if lone == "a" else "a"]
    rows = (f"{i},{label}" for i, label in enumerate(labels))
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    assert "a class has only one row" in str(typed("t.csv", "-o", "t.yaml").exception)
