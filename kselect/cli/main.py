"""Entry point of the command line: the table of commands, each imported when it is typed, and error handling."""

from __future__ import annotations

import difflib
import errno
import gc
import importlib
import os
import sys
from collections.abc import Callable

import click

from kselect import __version__
from kselect.errors import KselectError, check_system, cut, nearest, printable, quoted
from kselect.numerics.memory import MANY_OBJECTS

# name -> module, attribute, one-line help
COMMANDS = {
    "run": ("run", "run", "Run the remaining jobs of an experiment."),
    "report": ("report", "report", "Write tables, figures and the page from results."),
    "verify": ("verify", "verify", "Recompute a sample of a packaged experiment."),
    "judge": ("judge", "judge", "Test other people's results; write a report."),
    "time": ("timing", "time_command", "Time every method: the paper's algorithm and ours."),
    "select": ("selecting", "select_command", "Choose kernel and ridge for your own file."),
    "fit": ("fitting", "fit_command", "Choose, fit, and write the model to a file."),
    "predict": ("fitting", "predict_command", "Predict the rows of a file with a fitted model."),
    "evaluate": (
        "evaluating",
        "evaluate_command",
        "Score a fitted model on rows with known targets.",
    ),
    "show": ("show", "show", "Print what a model file holds."),
    "init": ("init", "init", "Write a config for an experiment on your own files."),
    "check": ("check", "check", "Run the contract tests on a plug-in."),
    "data": ("data", "data", "List, fetch and verify the data sets."),
    "list": ("reference", "listing", "List the names that a config may use."),
    "guide": ("reference", "guide", "Print a reference page."),
    "sys-info": ("reference", "sys_info", "Print what a bug report needs."),
}
RESUMED = ("run", "time")
FAILED, WRONG, INTERRUPTED = 1, 2, 130
ALIKE = 0.75  # similarity of a mistyped flag to the one that was meant (difflib's ratio)
LESS_MEMORY = "fewer rows, fewer workers (-j) or few Nystrom columns (--nystrom) need less"
LONGEST_LINE = 1000  # of an error, in characters
LONGEST_ARGUMENT = 4096  # the limit of a path


class CommandGroup(click.Group):
    """A group of commands that suggests the nearest name for an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does; for an unknown command, fail with the nearest name."""
        names = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in names:
            ctx.fail(f"unknown command {quoted(args[0])}{nearest(args[0], names)}")
        return super().resolve_command(ctx, args)


class LazyGroup(CommandGroup):
    """The group of all commands, which imports a command only when it is typed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table, which is the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            return None
        module, name, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(f"kselect.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the one-line help from the table, without importing the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[2]) for name, entry in COMMANDS.items()])


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: kselect run quickstart && kselect report quickstart",
)
@click.version_option(__version__, prog_name="kselect")
def cli() -> None:
    """Choose the kernel and ridge of a kernel machine, and test the published claims about how to choose them."""


def main() -> None:
    """Run the command; print a user's error in one line (exit 2), and a failed write in one line (exit 1)."""
    gc.set_threshold(MANY_OBJECTS)  # the default looks through the imported libraries several times
    open_streams()
    status = guarded(run_command)
    # Flush here, where an error such as a full disk can still be reported.
    flushed = guarded(sys.stdout.flush)
    if flushed:
        # Drop what could not be written: Python would try again at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status or flushed)


def run_command() -> object:
    """Run the command as typed; refuse arguments that are too long for a path or a grid."""
    check_system()
    for argument in sys.argv[1:]:
        if len(argument) > LONGEST_ARGUMENT:
            words = f"an argument of {len(argument)} characters is too long: {quoted(argument)}"
            raise KselectError(words)
    return cli.main(prog_name="kselect", standalone_mode=False)


# --- errors -----------------------------------------------------------------------------------------


def guarded(action: Callable[[], object]) -> int:
    """Return the exit status of an action and print its error, if any; our own defects keep their traceback."""
    try:
        status = action()
    except (click.exceptions.Abort, KeyboardInterrupt):  # click turns the one into the other
        resumed = sys.argv[1:2] and sys.argv[1] in RESUMED
        kept = (
            "finished jobs are kept; the same command resumes" if resumed else "nothing was written"
        )
        say(f"interrupted: {kept}")
        return INTERRUPTED
    except click.ClickException as error:
        say(one_line(error))
        return error.exit_code
    except KselectError as error:
        for line in str(error).split("\n"):
            say(f"error: {line}")
        return WRONG
    except MemoryError as error:
        what = f" ({printable(error)})" if str(error) else ""
        say(f"error: not enough memory{what}; {LESS_MEMORY}")
        return WRONG
    except BrokenPipeError:  # the reader has closed the pipe, as "| head" does
        return FAILED
    except OSError as error:
        say(f"error: {system_error(error)}")
        return FAILED
    except (ImportError, UnboundLocalError) as error:  # loky raises the latter when it shuts down
        if not out_of_files(error):
            raise
        say(f"error: {os.strerror(errno.EMFILE)} (ulimit -n)")
        return FAILED
    return status if isinstance(status, int) else 0


def one_line(error: click.ClickException) -> str:
    """Return a usage error with the nearest flag and the command whose help explains more."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return error.format_message()
    what = " ".join(error.format_message().split()).rstrip(".")
    if isinstance(error, click.NoSuchOption) and context:
        name, params = error.option_name, context.command.get_params(context)
        flags = [flag for p in params for flag in p.opts if flag.startswith("--")]
        begun = [flag for flag in flags if flag.startswith(name) and len(name) > len("--")]
        near = begun or difflib.get_close_matches(name.lower(), flags, n=1, cutoff=ALIKE)
        what = f"unknown flag {quoted(name)}"
        what += f"; did you mean {quoted(near[0])}?" if near else ""
    where = f" ({context.command_path} -h)" if context else ""
    return f"error: {what[:1].lower()}{what[1:]}{where}"


def say(line: str) -> None:
    """Print a line on stderr, escaped and shortened; if stderr fails, only the exit status remains."""
    text = line if line.startswith("Usage:") else cut(printable(line), LONGEST_LINE)
    try:
        click.echo(text, err=True)
    except OSError:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - used until the end


def system_error(error: OSError) -> str:
    """Return the file and the operating system's words for an error."""
    if error.errno == errno.EMFILE:
        return f"{os.strerror(errno.EMFILE)} (ulimit -n)"
    try:
        os.getcwd()
    except OSError:
        return "the current folder no longer exists; change to another folder"
    what = error.strerror or type(error).__name__
    return f"{'output' if error.filename is None else error.filename}: {what}"


def out_of_files(error: BaseException | None) -> bool:
    """Return whether a library could not be loaded because too many files are open; numpy hides this reason."""
    return error is not None and (
        os.strerror(errno.EMFILE) in str(error)
        or out_of_files(error.__cause__ or error.__context__)
    )


# --- streams ----------------------------------------------------------------------------------------


def open_streams() -> None:
    """Open closed standard streams to nowhere, so that no file of ours gets their numbers.

    Characters that a terminal or a file cannot show are written as escapes.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            os.set_inheritable(number, True)
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - until the end
            setattr(sys, name, stream)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")
