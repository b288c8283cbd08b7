"""Every command has an example, and every mistake gives one line with the nearest name."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner
from experiments import kselect_in, refused_in

from kselect.cli.main import cli
from kselect.cli.reference import LISTS
from kselect.criteria import CRITERIA, PROBES
from kselect.datasets.registry import load_registry
from kselect.kernels import KERNELS
from kselect.learners import LEARNERS
from kselect.packaged import packaged
from kselect.report.sections import FIGURES


def walk(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of a command and its subcommands."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found
            yield from walk(found, (*path, name))


COMMANDS = list(walk(cli))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_has_an_example(path: tuple[str, ...]) -> None:
    found = CliRunner().invoke(cli, [*path, "-h"])
    assert found.exit_code == 0
    assert "Example" in found.output
    # Long examples are wrapped: compare without the line breaks.
    example = " ".join(found.output.partition("Example")[2].split())
    assert " ".join(("kselect", *path)).strip() in example


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_flag_has_a_help_text(path: tuple[str, ...]) -> None:
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found
        command = found
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu"], "unknown command 'rnu'; did you mean 'run'? (kselect -h)"),
        (["data", "fech"], "unknown command 'fech'; did you mean 'fetch'? (kselect data -h)"),
        (["list", "critera"], "unknown name 'critera'; did you mean 'criteria'? (kselect list -h)"),
        (["list"], "missing argument"),
        (["run", "--retry-fail", "a.yaml"], "unknown flag '--retry-fail'; did you mean '--retry-failed'?"),
        (["data", "list", "--ofline"], "unknown flag '--ofline'; did you mean '--offline'?"),
        (["--verson"], "unknown flag '--verson'; did you mean '--version'?"),
        (["run"], "missing argument 'CONFIG' (kselect run -h)"),
        (["run", "-o"], "'-o' requires an argument"),
        (["run", "no-such.yaml"], "no-such.yaml: no such file"),
        (["run", "."], ".: is a folder"),
        (["run", "a.yaml", "b.yaml"], "unexpected extra argument"),
        (["report", "no-such"], "no-such: no results here"),
        (["data", "lock", "no-such"], "'no-such' does not exist"),
        (["sys-info", "more"], "unexpected extra argument"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_one_line_for_a_mistake(tmp_path: Path, arguments: list[str], said: str) -> None:
    run = kselect_in(tmp_path, *arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    (line,) = run.stderr.splitlines()
    assert line.startswith("error: ")
    assert said in line


def test_every_problem_of_a_config_is_reported_on_its_own_line(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("name: bad\nlearner: lsvm\nkernels: {gaussian: {tau: -1}}\n")
    lines = refused_in(tmp_path, "run", "bad.yaml")
    assert len(lines) > 2
    assert all(line.startswith("error: bad.yaml:") for line in lines)
    assert "did you mean 'lssvm'?" in "".join(lines)


def test_without_arguments_kselect_prints_the_help(tmp_path: Path) -> None:
    run = kselect_in(tmp_path)
    assert "Commands:" in run.stdout + run.stderr
    assert "error" not in run.stderr


def test_version(tmp_path: Path) -> None:
    run = kselect_in(tmp_path, "--version")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("kselect, version ")


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("criteria", CRITERIA),
        ("learners", LEARNERS),
        ("kernels", KERNELS),
        ("probes", PROBES),
        ("figures", FIGURES),
        ("datasets", load_registry()),
    ],
)
def test_list(what: str, names: dict[str, object]) -> None:
    assert what in LISTS
    found = CliRunner().invoke(cli, ["list", what])
    assert found.exit_code == 0
    lines = found.output.splitlines()
    assert [line.split()[0] for line in lines] == list(names)
    assert all(len(line.split()) > 2 for line in lines)


@pytest.mark.parametrize("what", ["criteria", "learners", "kernels", "searches", "probes"])
def test_lists_name_the_paper(what: str) -> None:
    """Every line of a list ends with the paper in brackets, after the equation or the meaning."""
    lines = CliRunner().invoke(cli, ["list", what]).output.splitlines()
    assert lines
    assert all(line.endswith(")") and "  (" in line for line in lines)


def test_guide(tmp_path: Path) -> None:
    """The guide lists its topics and titles, prints a page as in its file, and suggests the nearest topic."""
    folder = files("kselect") / "guide"
    run = CliRunner().invoke(cli, ["guide"])
    assert (run.exit_code, run.stderr) == (0, "")
    topics = {line.split()[0]: line.split(maxsplit=1)[1] for line in run.stdout.splitlines()}
    pages = {page.name.removesuffix(".md"): page for page in folder.iterdir()}
    pages |= {
        "changes": files("kselect") / "CHANGELOG.md",
        "configs": packaged("configs") / "README.md",
    }
    assert set(topics) == set(pages)
    assert {"criteria", "model-files"} <= set(topics)
    for topic, title in topics.items():
        text = pages[topic].read_text(encoding="utf-8")
        assert text.startswith(f"# {title}\n")
        assert CliRunner().invoke(cli, ["guide", topic]).output == text
    wrong = kselect_in(tmp_path, "guide", "criterea")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == (
        "error: unknown topic 'criterea'; did you mean 'criteria'? (kselect guide -h)\n"
    )


def test_the_guide_covers_every_criterion() -> None:
    text = (files("kselect") / "guide" / "criteria.md").read_text(encoding="utf-8")
    for name, criterion in CRITERIA.items():
        assert f"`{name}`" in text, name
        assert not criterion.reconstructed or "reconstruct" in text


def test_sys_info() -> None:
    run = CliRunner().invoke(cli, ["sys-info"])
    assert (run.exit_code, run.stderr) == (0, "")
    found = yaml.safe_load(run.stdout)
    assert {"python", "system", "cpu", "packages", "blas", "git"} <= set(found)
    assert found["blas"]


def test_sys_info_names_a_faster_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    for line, end in (("a faster one", "# a faster one\n"), ("", "")):
        monkeypatch.setattr(
            "kselect.store.environment.faster_blas", lambda *_, line=line, **__: line
        )
        run = CliRunner().invoke(cli, ["sys-info"])
        assert run.stdout.rpartition("git:")[2].partition("#")[1:] == (end[:1], end[1:])
