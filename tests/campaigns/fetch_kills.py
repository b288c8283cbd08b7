"""``kselect data fetch`` killed at random moments: the next call leaves good files and no litter.

    python tests/campaigns/fetch_kills.py --count 300 --seed 1

Run by hand. Each call is a forked process that gets SIGKILL, while it asks a server that dawdles, on a disk
that does; then one more call is made, without haste.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "campaigns")]

from children import Ending, Tally, call, campaign, run_in_child, tell  # noqa: E402
from servers import Server, serve, slowly, toy_files, write_registry  # noqa: E402

FILES = toy_files(6)
MOMENTS = 0.25  # seconds from the start to the latest kill
seen = {"killed": 0, "left": 0}


def server_process() -> str:
    """The URL of a server in a process of its own, which ends with this one."""
    reader, writer = os.pipe()
    if not os.fork():
        server = Server(serve(b"", 404))
        server.files = {f"/libsvm/{n}": slowly(c, 4, 0.003) for n, c in FILES.items()}
        os.write(writer, server.url.encode())
        parent = os.getppid()
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(0)
    return os.read(reader, 100).decode()


def dawdle() -> None:
    """A disk that takes its time: most of the kills fall where something is written."""
    fsync, replace = os.fsync, os.replace

    def slow_fsync(handle: int) -> None:
        time.sleep(0.01)
        fsync(handle)

    def slow_replace(source: object, target: object) -> None:
        time.sleep(0.01)
        replace(source, target)  # type: ignore[arg-type]

    os.fsync, os.replace = slow_fsync, slow_replace


def killed(arguments: list[str], folder: Path, after: float) -> None:
    """A call that is killed, unless it has ended before."""
    if not (child := os.fork()):
        dawdle()
        run_in_child(arguments, folder, folder / ".out", folder / ".err")
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    seen["killed"] += os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def attempt(rng: random.Random, number: int, tally: Tally) -> None:
    """One to three kills in a cache that may hold good and damaged files, then a call to the end."""
    names = rng.sample(sorted(FILES), rng.randint(1, len(FILES)))
    arguments = ["data", "fetch", *(n.removesuffix("_scale") for n in names)]
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        cache.mkdir()
        for name in rng.sample(names, rng.randint(0, len(names) // 2)):
            (cache / name).write_bytes(rng.choice([FILES[name], b"damaged", b""]))
        arguments += ["--mirror", URL, "--data-dir", str(cache)]
        for _ in range(rng.choice([1, 1, 2, 3])):
            killed(arguments, Path(folder), rng.uniform(0, MOMENTS))
        left = {path.name for path in cache.iterdir()} - set(FILES)
        seen["left"] += bool(left)
        ending = call(arguments, Path(folder))
        found = {path.name: path.read_bytes() for path in cache.iterdir()}
        if found != {name: FILES[name] for name in names}:
            words = f"Traceback: the cache holds {sorted(found)}, left were {sorted(left)}\n"
            ending = Ending(ending.status, ending.seconds, ending.out, words + ending.err)
        tally.add(number, ending, " ".join(arguments), b"")


if __name__ == "__main__":
    import requests  # noqa: F401 - each child has it then

    import kselect.cli.data  # noqa: F401
    import kselect.datasets.registry as registry

    URL = server_process()
    assert threading.active_count() == 1, "a fork would lose a thread"
    with tempfile.TemporaryDirectory() as home:
        write_registry(Path(home), FILES)
        registry.HERE = Path(home)
        try:
            campaign("kills", 300, attempt)
        finally:
            tell(f"killed: {seen['killed']}; temporary files were left {seen['left']} times")
