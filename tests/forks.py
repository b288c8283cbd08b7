"""Commands in processes that are forks of one process that has already imported kselect.

A test therefore waits only for the command itself. Folder, variables, streams, signals, exit status and
interpreter shutdown are those of a separate process, and loky's workers are forks of it. This does not test
what Python does at startup (safe paths, which module imports which), or workers that start from scratch.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import multiprocessing
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

from launch import die_with_parent

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
# Modules that commands import on first use.
LATE = (
    "distributed",
    "joblib",
    "loky",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "pandas",
)


class Forks:
    """The process that is forked, as the tests use it."""

    def __init__(self) -> None:
        self.line, theirs = socket.socketpair()
        command = [sys.executable, str(Path(__file__).resolve()), str(theirs.fileno())]
        paths = os.pathsep.join([str(ROOT), str(TESTS)])
        env = {**os.environ, "PYTHONPATH": paths}
        with theirs:
            number = [theirs.fileno()]
            self.process = subprocess.Popen(command, env=env, pass_fds=number)

    def start(
        self, arguments: Sequence[str], folder: Path, env: Mapping[str, str], hook: str
    ) -> Fork:
        """Start ``kselect ARGUMENTS`` as the leader of a process group; the hook is code that runs before it."""
        asked = json.dumps([list(arguments), str(folder), dict(env), hook]).encode()
        head = len(asked).to_bytes(4, "big")
        out, err = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115 - Fork closes them
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.line, [head], [out.fileno(), err.fileno(), theirs.fileno()])
        self.line.sendall(asked)
        return Fork(["kselect", *arguments], ours, out, err)


class Fork:
    """A command in a fork; it has the methods of ``subprocess.Popen`` that the tests use."""

    def __init__(
        self, args: list[str], line: socket.socket, out: IO[bytes], err: IO[bytes]
    ) -> None:
        self.args, self.line, self.streams = args, line, (out, err)
        self.returncode: int | None = None
        self.pid = self.number()

    def number(self) -> int:
        """Read the next number of the answer: the process, then its status."""
        if not (found := received(self.line, 8)):
            raise EOFError("the process that is forked has ended")
        return int.from_bytes(found, "big")

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status of the command at its end."""
        if self.returncode is None:
            self.line.settimeout(timeout)
            self.returncode = os.waitstatus_to_exitcode(self.number())
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit status of the command, None if it has not ended."""
        with suppress(BlockingIOError):
            self.wait(timeout=0)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Return what the command has printed, at its end."""
        self.wait(timeout)
        for stream in self.streams:
            stream.seek(0)
        out, err = (stream.read().decode() for stream in self.streams)
        return out, err

    def kill(self) -> None:
        """Kill the command, unless it has ended; its workers end with it."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def __enter__(self) -> Fork:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is not None:
            self.kill()
        self.wait()
        for part in (self.line, *self.streams):
            part.close()


def received(line: socket.socket, size: int) -> bytes:
    """Read up to this many bytes; return no bytes at the end of the stream."""
    found = b""
    while len(found) < size and (more := line.recv(size - len(found))):
        found += more
    return found


@functools.cache
def forks(_: int) -> Forks:
    """Return the fork server of this test process."""
    return Forks()


def import_everything() -> None:
    """Import the modules that commands use."""
    import kselect

    for module in pkgutil.walk_packages(kselect.__path__, "kselect."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for name in LATE:
        with suppress(ModuleNotFoundError):  # distributed is optional
            import_module(name)


def serve(line: socket.socket) -> None:
    """Fork for each requested command, until the socket is closed."""
    while True:
        head, fds, _, _ = socket.recv_fds(line, 4, 3)
        if not head:
            return
        asked = json.loads(received(line, int.from_bytes(head, "big")))
        if not os.fork():
            line.close()
            report(asked, fds)
        for fd in fds:
            os.close(fd)
        with suppress(ChildProcessError):  # those that have reported
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def report(asked: list[Any], fds: Sequence[int]) -> NoReturn:
    """Fork the command and send its process, then its status at its end, so that several can run at once."""
    die_with_parent()
    *streams, line = fds
    pid = os.fork()
    if not pid:
        os.close(line)
        be_command(*asked, streams)
    try:
        os.write(line, pid.to_bytes(8, "big"))
        _, status = os.waitpid(pid, 0)
        os.write(line, status.to_bytes(8, "big"))
    finally:
        os._exit(0)


def exit_status(end: SystemExit) -> int:
    """Return the exit status as Python does: numbers unchanged, 1 for text, which is printed."""
    if isinstance(end.code, str):
        print(end.code, file=sys.stderr)  # noqa: T201
        return 1
    return int(end.code or 0)


def forked_executor(n_jobs: int) -> Executor:
    """Return ``local_executor`` with forked workers, which inherit all imports and hooks of their parent."""
    from loky import ProcessPoolExecutor

    from kselect.run.workers import start_trackers, start_worker

    start_trackers()
    context = multiprocessing.get_context("fork")
    executor: Executor = ProcessPoolExecutor(
        n_jobs, context=context, initializer=start_worker, initargs=(os.getpid(),)
    )
    return executor


def be_command(
    arguments: list[str], folder: str, env: Mapping[str, str], hook: str, fds: Sequence[int]
) -> NoReturn:
    """Become the command, as if started in a folder with these variables and streams."""
    from kselect.cli import backends
    from kselect.cli.main import main

    os.setsid()
    die_with_parent()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    for number, fd in enumerate(fds, 1):
        os.dup2(fd, number)
        os.close(fd)
    sys.argv = ["kselect", *arguments]
    backends.local_executor = forked_executor
    status = 1
    try:
        exec(hook, {})
        main()
    except SystemExit as end:
        status = exit_status(end)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        # Skip the rest of the shutdown, which removes modules: this would copy all memory that the fork shares.
        os._exit(status)


if __name__ == "__main__":
    die_with_parent()
    import_everything()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
