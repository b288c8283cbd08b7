"""Damaged model files, unusual outputs and peers that are no dask scheduler: one line each, and no file is harmed.

    OPENBLAS_NUM_THREADS=1 python tests/campaigns/hostile_ends.py --count 500 --seed 1

Run by hand. Of twenty attempts, fourteen flip bits of a model file or seal impossible values in it, five write a
prediction to a link, a pipe, a device or a private file, and one connects to a peer that is no scheduler.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import socket
import stat
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "campaigns")]

import numpy as np  # noqa: E402
from children import Ending, Tally, call, campaign, tell  # noqa: E402 - of this tree

VALUES = [0.0, -1.0, float("inf"), float("-inf"), float("nan"), 1e308, 5e-324]
FACTS = ["lam", "slope", "classes", "task", "kernel_params", "preparation", "choice"]
PLAIN = [None, "", 0, -1, 1e308, [], {}, "x", [1], True]


@cache
def planted() -> tuple[bytes, bytes, str]:
    """Return a table, a model that was fitted on it, and the predictions of that model."""
    rng = random.Random(7)
    rows = [f"{rng.gauss(i % 2, 1):.3f},{rng.gauss(0, 1):.3f},{'ab'[i % 2]}" for i in range(30)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "my.csv").write_text("\n".join(["x,z,y", *rows]))
        call(["fit", "my.csv", "-o", "m.npz", "--tau", "1", "--lam", "0.1"], folder)
        out = call(["predict", "m.npz", "my.csv"], folder).out
        return (folder / "my.csv").read_bytes(), (folder / "m.npz").read_bytes(), out


def flipped(rng: random.Random, raw: bytes) -> bytes:
    """Return the model with some bits flipped, half of the time in the headers of the archive."""
    content = bytearray(raw)
    heads = [i for i in range(len(raw)) if raw[i : i + 2] == b"PK"]
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        near = min(rng.choice(heads) + rng.randrange(46), len(raw) - 1)
        content[rng.choice([near, rng.randrange(len(raw))])] ^= 1 << rng.randrange(8)
    return bytes(content)


def sealed(rng: random.Random, raw: bytes) -> bytes:
    """Return the model with an impossible value and a valid checksum."""
    from kselect.selection.model_file import checksum

    with np.load(io.BytesIO(raw)) as found:
        members = {name: found[name].copy() for name in found.files if name != "checksum"}
    if rng.random() < 0.6:
        array = members[rng.choice(["alpha", "bias", "support", "medians", "shift", "divisor"])]
        array.flat[rng.randrange(array.size)] = rng.choice(VALUES)
    else:
        facts = json.loads(members["model"].tobytes())
        facts[rng.choice(FACTS)] = rng.choice(PLAIN)
        members["model"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    content = io.BytesIO()
    np.savez(content, checksum=checksum(members), **members)
    return content.getvalue()


def try_model(rng: random.Random, number: int, tally: Tally, folder: Path) -> None:
    """Predict with a damaged model: it is refused, or the damage changes nothing; sealed values may be used."""
    change = rng.choice([flipped, flipped, flipped, sealed])
    raw = change(rng, planted()[1])
    (folder / "m.npz").write_bytes(raw)
    ending = call(["predict", "m.npz", "my.csv"], folder)
    misread = change is flipped and ending.status == 0 and ending.out != planted()[2]
    used = ending.status == 0 and any(word in ending.out for word in ("nan", "inf"))
    add(tally, number, ending, f"model, {change.__name__}", raw, misread or used)


def try_output(rng: random.Random, number: int, tally: Tally, folder: Path) -> None:
    """Predict into something that is not a new file; it must be of the same kind and mode afterwards."""
    out, kind = folder / "out", rng.choice(["link", "dangling", "pipe", "null", "full", "mode"])
    modes, target = rng.choice([0o600, 0o640, 0o644, 0o666, 0o400]), folder / "target"
    reader = -1
    if kind in ("link", "dangling"):
        out.symlink_to(target)
        _ = kind == "link" and target.write_text("old")
    elif kind == "pipe":
        os.mkfifo(out)
        reader = os.open(out, os.O_RDONLY | os.O_NONBLOCK)
    elif kind in ("null", "full"):
        out.symlink_to(f"/dev/{kind}")
    else:
        out.write_text("old")
    if kind in ("link", "mode"):
        out.chmod(modes)
    before = facts_of(out)
    ending = call(["predict", "m.npz", "my.csv", "-o", "out"], folder)
    written = os.read(reader, 2**16).decode() if reader >= 0 else ""
    if kind in ("link", "dangling", "mode"):
        written = out.read_text()
    wrong = facts_of(out) != before and kind != "dangling"
    wrong |= kind not in ("null", "full") and written != planted()[2]
    wrong |= (ending.status != 0) != (kind == "full") or bool(list(folder.glob("*.tmp")))
    add(tally, number, ending, f"output, {kind}", b"", wrong)


def facts_of(path: Path) -> tuple[int, int, str]:
    """Return kind, mode and target of a path."""
    own = path.lstat().st_mode
    mode = path.stat().st_mode if path.exists() else 0
    return stat.S_IFMT(own), stat.S_IMODE(mode), os.path.realpath(path)


def try_peer(rng: random.Random, number: int, tally: Tally, folder: Path) -> None:
    """Run on the scheduler of a peer that is silent, speaks HTTP, or sends sizes or noise."""
    size = rng.choice([0, 1, 8, 2**20, 2**33, 2**62]).to_bytes(8, "little")
    http = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    answer = rng.choice([b"", http, size, size + rng.randbytes(64), rng.randbytes(4096)])
    config = ROOT / "configs" / "quickstart.yaml"
    with socket.create_server(("127.0.0.1", 0)) as peer:
        answering = threading.Thread(target=answer_all, args=(peer, answer), daemon=True)
        answering.start()
        address = f"tcp://127.0.0.1:{peer.getsockname()[1]}"
        flags = ["--offline", "-q", "--backend", "dask", "--scheduler", address, "-o", "out"]
        ending = call(["run", str(config), *flags], folder)
        # A thread that waits on would keep 70 MB of the address space that children may use.
        peer.shutdown(socket.SHUT_RDWR)
        answering.join()
    wrong = ending.status != 2 or len(ending.err.splitlines()) != 1 or (folder / "out").exists()
    add(tally, number, ending, f"peer, {answer[:20]!r}", answer, wrong)


def answer_all(peer: socket.socket, answer: bytes) -> None:
    """Send the same bytes to everyone who connects, and keep the connections open."""
    kept = []
    with suppress(OSError):
        while True:
            kept.append(peer.accept()[0])
            kept[-1].sendall(answer)


def add(
    tally: Tally, number: int, ending: Ending, words: str, data: bytes, wrong: bool = False
) -> None:
    """Count an ending, and a wrong result as a fault of its own."""
    tally.statuses[words.partition(",")[0]] += 1
    tally.add(number, ending, words, data)
    if wrong:
        tally.faults += 1
        digest = hashlib.sha256(data).hexdigest()[:8]
        tell(f"{number}: wrong: {words} ({digest}), {replace(ending, out=ending.out[:200])}")


def attempt(rng: random.Random, number: int, tally: Tally) -> None:
    """Make one attempt in a folder of its own."""
    table, model, _ = planted()
    kind = rng.choices([try_model, try_output, try_peer], [14, 5, 1])[0]
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "my.csv").write_bytes(table)
        (Path(name) / "m.npz").write_bytes(model)
        kind(rng, number, tally, Path(name))


if __name__ == "__main__":
    import kselect.cli.fitting
    import kselect.cli.selecting  # noqa: F401 - each child has it then

    campaign("models, outputs and peers", 500, attempt)
