"""The command line: a table of commands, each loaded when it is typed, and what every error becomes."""

from __future__ import annotations

import importlib
import sys

import click

from kselect import __version__
from kselect.errors import KselectError, nearest

COMMANDS = {
    "run": ("kselect.cli.run", "run", "Run what is missing of an experiment."),
    "report": (
        "kselect.cli.report",
        "report",
        "Write tables, figures and the page from results.",
    ),
    "time": (
        "kselect.cli.timing",
        "time_command",
        "Time every method, the paper's way and ours.",
    ),
    "select": (
        "kselect.cli.selecting",
        "select_command",
        "Choose kernel and ridge for your own file.",
    ),
    "data": ("kselect.cli.data", "data", "List, fetch and verify the data sets."),
    "list": ("kselect.cli.listing", "listing", "Show what a config may name."),
    "sys-info": ("kselect.cli.sys_info", "sys_info", "Show what a bug report needs."),
}
INTERRUPTED = 130
RESUMED = ("run", "time")


class LazyGroup(click.Group):
    """A group that knows its commands' names and one-line help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the table: the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command's module when it is asked for."""
        if cmd_name not in COMMANDS:
            return None
        module, name, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The one-line help from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[2]) for name, entry in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name for a command that is not there."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            ctx.fail(f"unknown command {args[0]!r}{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: kselect run configs/quickstart.yaml && kselect report results/quickstart",
)
@click.version_option(__version__, prog_name="kselect")
def cli() -> None:
    """Choose a kernel machine's kernel and ridge; reproduce what papers claim about how to."""


def one_line(error: click.ClickException) -> str:
    """A usage error with the nearest flag and where to read on; a bare group shows its help."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return error.format_message()
    what = " ".join(error.format_message().split()).rstrip(".")
    if isinstance(error, click.NoSuchOption) and context:
        params = context.command.get_params(context)
        flags = [flag for p in params for flag in p.opts if flag.startswith("--")]
        what = f"unknown flag {error.option_name!r}{nearest(error.option_name, flags)}"
    where = f" ({context.command_path} -h)" if context else ""
    return f"error: {what[:1].lower()}{what[1:]}{where}"


def kept(command: list[str]) -> str:
    """What an interruption leaves behind: runs and timings are resumed, anything else starts anew."""
    if command and command[0] in RESUMED:
        return "what was finished is kept; the same command goes on from there"
    return "nothing was written"


def main() -> None:
    """Entry point: a user's error is one line and exit 2, an interruption exit 130."""
    try:
        status = cli.main(prog_name="kselect", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):  # click turns the one into the other
        click.echo(f"interrupted: {kept(sys.argv[1:2])}", err=True)
        status = INTERRUPTED
    except click.ClickException as error:
        click.echo(one_line(error), err=True)
        status = error.exit_code
    except KselectError as error:
        for line in str(error).splitlines():
            click.echo(f"error: {line}", err=True)
        status = 2
    sys.exit(status if isinstance(status, int) else 0)
