"""``kselect init`` turns data files into a config that runs without changes."""

from __future__ import annotations

import csv
import inspect
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from kselect.cli.init import name_for
from kselect.cli.main import cli
from kselect.config.load import load_config
from kselect.core.claim import KEYS
from kselect.kernels.default_families import default_candidates
from kselect.report import style
from kselect.report.sections import FIGURES
from kselect.selection.defaults import AUTO, CRITERION, KERNEL, LEARNER
from kselect.selection.own_data import read_table
from kselect.selection.request import make_request


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


def test_the_defaults_are_those_of_a_selection(tmp_path: Path) -> None:
    """Learner, kernels, ridges, scale and the first criterion with its parameters are those of ``select``."""
    typed("heart.csv")
    experiment = load_config(tmp_path / "my.yaml", FIGURES)
    assert {learner.name for _, learner in experiment.learners} == {LEARNER}
    assert experiment.kernels == default_candidates()
    request = make_request(
        *(LEARNER, CRITERION, KERNEL, (), AUTO),
        task="classification",
        params={},
        loss=None,
    )
    assert experiment.lam.values == request.lams
    assert experiment.scale == inspect.signature(read_table).parameters["scale"].default
    first = experiment.table[0]
    assert (first.label, first.params) == (CRITERION, request.method.params)


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


def test_a_paper_passes_a_dry_run_at_once(tmp_path: Path) -> None:
    """The three files load as they are, under any name; there is an example for each kind of claim."""
    result = typed("--paper", "smith2024")
    assert result.exit_code == 0, result.output
    names = ("smith2024.yaml", "published/smith2024.yaml", "published/smith2024.csv")
    for name in names:
        assert f"written: {name}\n" in result.output
        assert "my-paper" not in (tmp_path / name).read_text(encoding="utf-8")
    dry = CliRunner().invoke(cli, ["run", "smith2024.yaml", "--dry-run", "--offline"])
    assert dry.exit_code == 0, dry.output
    experiment = load_config(tmp_path / "smith2024.yaml", FIGURES)
    assert {claim.kind for claim in experiment.claims} == {*KEYS}
    assert [claim.id for claim in experiment.claims if claim.untested] == []
    assert any(claim.printed for claim in experiment.claims)
    assert experiment.source is not None
    assert experiment.source.unmatched == ()


def test_a_paper_runs_and_gets_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example without its figures and learned widths, run and reported, has verdicts."""
    assert typed("--paper", "smith2024").exit_code == 0
    config, paper = Path("smith2024.yaml"), Path("published/smith2024.yaml")
    lines = config.read_text(encoding="utf-8").partition("figures:")[0].splitlines()
    kept = [line for line in lines if "ARD" not in line]
    config.write_text("\n".join(kept).replace("[heart, sonar, thyroid]", "[heart, thyroid]"))
    lines = paper.read_text(encoding="utf-8").splitlines()
    paper.write_text("\n".join(line for line in lines if "ARD" not in line))
    run = CliRunner().invoke(cli, ["run", "smith2024.yaml", "--offline", "-q"])
    assert run.exit_code == 0, run.output
    monkeypatch.setattr(style, "render", lambda canvas, kinds: dict.fromkeys(kinds, b"-"))
    assert CliRunner().invoke(cli, ["report", "results/smith2024"]).exit_code == 0
    with open("results/smith2024/tables/claims.csv", encoding="utf-8") as table:
        verdicts = {row["id"]: row["verdict"] for row in csv.DictReader(table)}
    for claim in ("1a", "1b", "1e", "2a", "5a", "5b", "5c"):
        assert verdicts[claim] in ("supported", "mixed", "not supported")


def test_a_paper_next_to_another_config(tmp_path: Path) -> None:
    """--output names the config; its folder gets the files of the paper, and --force overwrites them."""
    assert typed("--paper", "smith2024", "-o", "data/own.yaml").exit_code == 0
    assert load_config(tmp_path / "data/own.yaml", FIGURES).paper == "smith2024"
    assert "published/smith2024.yaml: already exists; --force overwrites it" in refusal(
        "--paper", "smith2024", "-o", "data/other.yaml"
    )
    assert typed("--paper", "smith2024", "-o", "data/own.yaml", "-f").exit_code == 0


def refusal(*arguments: str) -> str:
    """Return why a command is refused."""
    return str(typed(*arguments).exception)


def test_papers_that_are_refused() -> None:
    assert "comes with kselect; choose another name" in refusal("--paper", "ecml2014")
    assert "is not a plain folder name" in refusal("--paper", "a/b")
    assert "takes no files" in refusal("heart.csv", "--paper", "smith2024")
    assert "name the data files, or a new paper with --paper NAME" in refusal()
    Path("published").write_text("")
    assert "published: File exists" in refusal("--paper", "smith2024")
