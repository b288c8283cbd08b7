"""Kill ``kselect data fetch`` at random moments; the next call must leave good files only.

    python tests/campaigns/fetch_kills.py --count 300 --seed 1

Start it by hand. Each call is a forked process with a slow server and a slow disk, and gets
SIGKILL. After that one more call runs without delays.
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
MOMENTS = 0.25  # latest kill, in seconds after the start
seen = {"killed": 0, "left": 0}


def server_process() -> str:
    """Yield the URL of a server in a separate process, and end that process afterwards."""
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
    """Slow down the disk, so that most kills fall into a write."""
    fsync, replace = os.fsync, os.replace

    def slow_fsync(handle: int) -> None:
        time.sleep(0.01)
        fsync(handle)

    def slow_replace(source: object, target: object) -> None:
        time.sleep(0.01)
        replace(source, target)  # type: ignore[arg-type]

    os.fsync, os.replace = slow_fsync, slow_replace


def killed(arguments: list[str], folder: Path, after: float) -> None:
    """Run a call and kill it, unless it ends before."""
    if not (child := os.fork()):
        dawdle()
        run_in_child(arguments, folder, folder / ".out", folder / ".err")
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    seen["killed"] += os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def attempt(rng: random.Random, number: int, tally: Tally) -> None:
    """Kill one to three calls on a cache with good and damaged files, then let one finish."""
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
    assert threading.active_count() == 1, "a fork would lose the other threads"
    with tempfile.TemporaryDirectory() as home:
        write_registry(Path(home), FILES)
        registry.HERE = Path(home)
        try:
            campaign("kills", 300, attempt)
        finally:
            tell(f"killed: {seen['killed']}; temporary files were left {seen['left']} times")
