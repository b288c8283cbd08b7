"""The command line: a table of commands, each loaded when it is typed, and what every error becomes."""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import sys
from collections.abc import Callable, Iterator

import click

from kselect import __version__
from kselect.errors import KselectError, cut, nearest, printable, quoted

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
    "fit": ("kselect.cli.fitting", "fit_command", "Choose, fit, and write the model to a file."),
    "predict": (
        "kselect.cli.fitting",
        "predict_command",
        "Predict the rows of a file by a fitted model.",
    ),
    "init": ("kselect.cli.init", "init", "Write a config for an experiment on your own files."),
    "data": ("kselect.cli.data", "data", "List, fetch and verify the data sets."),
    "list": ("kselect.cli.listing", "listing", "Show what a config may name."),
    "sys-info": ("kselect.cli.sys_info", "sys_info", "Show what a bug report needs."),
}
RESUMED = ("run", "time")
FAILED, WRONG, INTERRUPTED = 1, 2, 130
ALIKE = 0.75  # how much of a flag a slip of the hand leaves: difflib's ratio
LONGEST_LINE = 1000  # of an error
LONGEST_ARGUMENT = 4096  # as of a path


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
            ctx.fail(f"unknown command {quoted(args[0])}{nearest(args[0], COMMANDS)}")
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
        what = f"unknown flag {quoted(error.option_name)}{near_flag(error.option_name, context)}"
    where = f" ({context.command_path} -h)" if context else ""
    return f"error: {what[:1].lower()}{what[1:]}{where}"


def near_flag(name: str, context: click.Context) -> str:
    """'; did you mean X?' for a slip of the hand; the help lists what else there is."""
    params = context.command.get_params(context)
    flags = [flag for p in params for flag in p.opts if flag.startswith("--")]
    begun = [flag for flag in flags if flag.startswith(name) and len(name) > len("--")]
    close = difflib.get_close_matches(name.lower(), flags, n=1, cutoff=ALIKE)
    return f"; did you mean {quoted((begun or close)[0])}?" if begun or close else ""


def kept(command: list[str]) -> str:
    """What an interruption leaves behind: runs and timings are resumed, anything else starts anew."""
    if command and command[0] in RESUMED:
        return "what was finished is kept; the same command goes on from there"
    return "nothing was written"


def main() -> None:
    """Entry point: a user's error is one line and exit 2, output that cannot be written exit 1."""
    open_streams()
    status = guarded(run_command)
    # What is left in the buffer is written here, where a full disk can still be said.
    flushed = guarded(sys.stdout.flush)
    if flushed:
        abandon_stdout()
    sys.exit(status or flushed)


def run_command() -> object:
    """The command as it was typed; what is too long for a path or a grid is none, whatever it says."""
    for argument in sys.argv[1:]:
        if len(argument) > LONGEST_ARGUMENT:
            words = f"an argument of {len(argument)} characters is too long: {quoted(argument)}"
            raise KselectError(words)
    return cli.main(prog_name="kselect", standalone_mode=False)


def guarded(action: Callable[[], object]) -> int:
    """An action's exit status, after its error, if any, is said; a defect of ours keeps its traceback."""
    try:
        status = action()
    except (click.exceptions.Abort, KeyboardInterrupt):  # click turns the one into the other
        say(f"interrupted: {kept(sys.argv[1:2])}")
        return INTERRUPTED
    except click.ClickException as error:
        say(one_line(error))
        return error.exit_code
    except KselectError as error:
        for line in str(error).split("\n"):
            say(f"error: {line}")
        return WRONG
    except MemoryError as error:
        say(f"error: not enough memory{detail(error)}")
        return WRONG
    except BrokenPipeError:  # as with "| head": whoever read has seen enough
        return FAILED
    except OSError as error:
        say(f"error: {system_error(error)}")
        return FAILED
    except (ImportError, UnboundLocalError) as error:  # the latter of loky, on its way out
        if not out_of_files(error):
            raise
        say(f"error: {os.strerror(errno.EMFILE)} (ulimit -n)")
        return FAILED
    return status if isinstance(status, int) else 0


def say(line: str) -> None:
    """A line on stderr, printable and not endless; where nobody can hear it, the exit status has to do."""
    text = line if line.startswith("Usage:") else cut(printable(line), LONGEST_LINE)
    try:
        click.echo(text, err=True)
    except OSError:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for what is left to be said


def detail(error: BaseException) -> str:
    """What numpy says of an array that it could not allocate."""
    return f": {printable(error)}" if str(error) else ""


def system_error(error: OSError) -> str:
    """What the system refused, in its own words."""
    if error.errno == errno.EMFILE:
        return f"{os.strerror(errno.EMFILE)} (ulimit -n)"
    try:
        os.getcwd()
    except OSError:
        return "the current folder is gone; change to one that is there"
    what = error.strerror or type(error).__name__
    return f"{'output' if error.filename is None else error.filename}: {what}"


def out_of_files(error: BaseException | None) -> bool:
    """Whether a library could not be loaded as no more files may be open; numpy says it in many words."""
    return error is not None and (
        os.strerror(errno.EMFILE) in str(error)
        or out_of_files(error.__cause__ or error.__context__)
    )


def open_streams() -> None:
    """Standard streams that were closed lead nowhere: no file of ours shall get their numbers.

    What a terminal or a file cannot show is written as an escape.
    """
    for number, name, mode in closed():
        stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - until the end
        setattr(sys, name, stream)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")


def closed() -> Iterator[tuple[int, str, str]]:
    """The standard streams that are closed, each open to nowhere by now."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
            os.set_inheritable(number, True)
            yield number, name, mode


def abandon_stdout() -> None:
    """What could not be written is dropped: Python would try again, and complain, at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
