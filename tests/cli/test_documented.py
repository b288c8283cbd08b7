"""Every command in the documents and the help texts exists, with its options, choices and topics."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kselect.cli.main import COMMANDS, cli
from kselect.errors import ConfigError
from kselect.packaged import experiments

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    path
    for pattern in (
        *("README.md", "results/*/README.md", "configs/*.md", "data/*.md", ".github/*.md"),
        *("kselect/guide/*.md", "kselect/CHANGELOG.md", "tests/bench/README.md", "configs/*.yaml"),
    )
    for path in ROOT.glob(pattern)
)
TOPICS = {path.stem for path in (ROOT / "kselect/guide").glob("*.md")} | {"changes", "configs"}
ENDS = {"&&", "|", ";", "||"}
REDIRECTIONS = {"<", ">", ">>", "2>"}


def written(text: str, name: str) -> Iterator[str]:
    """Yield the commands of a document: lines of code blocks and of comments, and code within sentences."""
    joined = text.replace("\\\n", " ")
    blocks = re.findall(r"^```.*?^```", joined, re.DOTALL | re.MULTILINE)
    blocks += re.findall(r"^# {2,}.*", joined, re.MULTILINE)  # comments of a config
    for line in "\n".join(blocks).splitlines():
        bare = line.removeprefix("#").strip()
        if bare.startswith(f"{name} "):
            yield bare
    prose = re.sub(r"^```.*?^```", "", joined, flags=re.DOTALL | re.MULTILINE)
    for code in re.findall(r"`([^`]+)`", prose):
        if code.startswith(f"{name} "):
            yield " ".join(code.split())


def commands(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each command of kselect."""
    for line in written(text, "kselect"):
        found: list[str] = []
        # Two or more spaces separate an example from its explanation.
        words = iter(shlex.split(re.split(r"\s{2,}", line)[0], comments=True))
        for word in words:
            if word in ENDS:
                yield found
                found = []
            elif word in REDIRECTIONS:
                next(words)
            else:
                found.append(word)
        yield found


def problem(arguments: list[str]) -> str:
    """Return why a command cannot be parsed, or an empty text."""
    if not arguments or arguments[0] != "kselect" or len(arguments) == 1:
        return ""
    name, *rest = arguments[1:]
    if name not in COMMANDS:  # "kselect model" is the kind of a model file
        return "" if name in ("--version", "--help", "-h", "model") else f"unknown command {name}"
    context = click.Context(cli, info_name="kselect", **cli.context_settings)
    command = cli.get_command(context, name)
    assert command is not None
    try:
        made = command.make_context(name, list(rest), parent=context)
        if isinstance(command, click.Group):
            sub, inner, more = command.resolve_command(made, list(rest))
            assert inner is not None
            inner.make_context(sub, more, parent=made)
    except click.UsageError as error:
        # A command that is only named in a sentence lacks its arguments.
        return "" if isinstance(error, click.MissingParameter) else error.format_message()
    except click.exceptions.Exit:
        return ""
    except ConfigError as error:  # NAME and CONFIG stand for names
        return "" if any(word.isupper() for word in rest) else str(error)
    if name == "guide" and rest and rest[0].islower() and rest[0] not in TOPICS:
        return f"no page {rest[0]}"
    files = [Path(word) for word in rest if word.startswith("configs/") and word.endswith(".yaml")]
    missing = [path.name for path in files if path.stem not in experiments()]
    return f"no config {missing}" if missing else ""


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_of_a_document(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    wrong = {" ".join(found): why for found in commands(text) if (why := problem(found))}
    assert wrong == {}


def test_examples_of_every_help_text() -> None:
    context = click.Context(cli, info_name="kselect", **cli.context_settings)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        epilog = re.sub(r"\bExamples?: |; ", "\n", command.epilog or "")
        text = "\n".join(["```", *map(str.strip, epilog.splitlines()), "```"])
        wrong = {" ".join(found): why for found in commands(text) if (why := problem(found))}
        assert wrong == {}, name


def test_make_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    targets |= {f"{step}-{name}" for step in ("run", "reproduce") for name in experiments()}
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for line in written(text, "make"):
            named = line.split()[1]
            assert named in targets or named.endswith("-NAME"), f"{path.name}: make {named}"


def test_the_extraction_finds_commands() -> None:
    """A wrong option, command, choice, topic or config is seen, and every document has commands."""
    text = "```\nkselect run quickstart -j 2 && kselect report   # both\n```\nSee `kselect guide\njudge`."
    found = list(commands(text))
    assert found == [
        ["kselect", "run", "quickstart", "-j", "2"],
        ["kselect", "report"],
        ["kselect", "guide", "judge"],
    ]
    assert not any(map(problem, found))
    for bad in ("run x --no-such", "rum x", "select a.csv --ridge sometimes", "guide jugde"):
        assert problem(["kselect", *bad.split()]), bad
    assert problem(["kselect", "run", "configs/absent.yaml"])
    every = {path.name for path in DOCUMENTS if list(commands(path.read_text(encoding="utf-8")))}
    assert {"README.md", "select.md", "judge.md", "CONTRIBUTING.md", "quickstart.yaml"} <= every
