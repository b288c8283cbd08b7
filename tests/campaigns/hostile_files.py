"""Run ``kselect select``, ``fit`` and ``predict`` on mutated data files.

    OPENBLAS_NUM_THREADS=1 python tests/campaigns/hostile_files.py --count 500 --seed 1

No call may end with a traceback, take more than 5 s, or need more than 1 GB. Start it by hand.
``--keep DIR`` keeps each file that fails, together with the output of the command.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import socket
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "campaigns")]

from children import Tally, call, campaign  # noqa: E402 - the package of this tree, not an installed one

Mutation = Callable[[random.Random, bytes], bytes]

TOKENS = [
    b"nan", b"inf", b"-inf", b"1e999", b"1e-999", b"1_0", b"0x10", b"9" * 5000, b"-" + b"9" * 400, b"1000000:1",
    b"1000001:1", b"99999999999999999999:1", b"0:1", b"-1:1", b"1:", b":1", b":", b"1:1:1", b"qid:1", b"#", b",",
    b";", b"\t", b'"', b'""', b"'", b"\0", b"\x1b[31m", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xae", b"\r", b"\x0b",
    b"\x85", b"\xc2\x85", b"\xe2\x80\xa8", b"\xd9\xa3", b"1e308", b"-1e308", b"1e-320", b"yes", b"z" * 200_000,
    b"=cmd()", b"1,5", b"1 000", b"", b"+", b"1e", b"NA", b"1:1e308", b"2:1e308", b"1:1e-308", b"1e17", b"5:1e200",
    b"45%", b"4,5 %", b"$5", b"2020-02-30", b"2020-01-01", b"31/12/2020", b"01/02/2020", b"12:30", b"None", b"-",
    b"?", b"1.234,5", b"1'000", b"007", b"<0.5", b"TRUE", b"\xa0", b"a,b", b"Unnamed: 0", b"\xe4",
]  # fmt: skip


EXTREMES = [
    "1e308",
    "-1.7e308",
    "1e-320",
    "5e-324",
    "1e17",
    "1e154",
    "1e155",
    "-0",
    "123456789012345678",
    "1",
]


def rows(rng: random.Random, numeric: bool) -> list[list[str]]:
    """Return numeric rows with the target in the last column."""
    d, n = rng.choice([1, 2, 5]), rng.choice([1, 3, 10, 60, 60, 60, 60])
    good = [["-1", "1"], ["1", "2"], ["a", "b", "c"], ["0.5", "1.5", "2.25"]]
    labels = rng.choice([*good, *good, *good, ["1"], ["x\x1b[31m", "y"]])
    labels = rng.choice(good[:2]) if numeric else labels
    wild = rng.choice([0, 0, 0.1, 1])
    return [
        [
            rng.choice(EXTREMES) if rng.random() < wild else f"{rng.gauss(0, 1):.3g}"
            for _ in range(d)
        ]
        + [rng.choice(labels)]
        for _ in range(n)
    ]


def svmlight(rng: random.Random) -> bytes:
    """Return an svmlight file."""
    lines = []
    for *features, label in rows(rng, True):
        pairs = (f"{i}:{v}" for i, v in enumerate(features, 1) if rng.random() < 0.8)
        lines.append(" ".join([label, *pairs]))
    return "\n".join(lines).encode()


def table(rng: random.Random) -> bytes:
    """Return a CSV file in one of its dialects."""
    delimiter = rng.choice([",", ";", "\t"])
    lines = [delimiter.join(row) for row in rows(rng, False)]
    width = lines[0].count(delimiter) + 1
    if rng.random() < 0.6:
        names = ["a", "b", "c", "x\x1b[2J", "1", "q'", "n" * 9000]
        lines.insert(0, delimiter.join(rng.choice(names) + str(i) for i in range(width)))
    return rng.choice(["\n", "\r\n", "\r"]).join(lines).encode()


def mixed(rng: random.Random) -> bytes:
    """Return a usual CSV file: an index, categories, dates, percentages, gaps, styled numbers."""
    n, delimiter = rng.choice([4, 12, 60]), rng.choice([",", ";", "\t"])
    gap = rng.choice(["", "NA", "?", "-", "None"])
    kinds: list[Callable[[int], str]] = [
        lambda i: str(i),
        lambda _: rng.choice(["red", "blue", "gr\u00fcn", '"a, b"', "x" * 50]),
        lambda _: rng.choice(["yes", "no"]),
        lambda _: f"{rng.randint(1990, 2030)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
        lambda _: f"{rng.randint(1, 28)}/{rng.randint(1, 12)}/2020",
        lambda _: f"{rng.uniform(0, 100):.1f}%",
        lambda _: f'"{rng.uniform(0, 9):.2f}"'.replace(".", ","),
        lambda _: f'"{rng.randint(1000, 10**7):,}"',
        lambda i: f"id{i}",
        lambda _: f"{rng.gauss(0, 1):.3f}",
    ]
    columns = [*rng.sample(kinds, rng.randint(1, 5)), rng.choice([*kinds[1:3], kinds[-1]])]
    names = ["", *rng.choices(["age", "Unnamed: 0", "\u00e9tat", "x y", "id", "1"], k=len(columns))]
    lines = [delimiter.join(f"{name}{j}" for j, name in enumerate(names[: len(columns)]))]
    for i in range(n):
        fields = (gap if rng.random() < 0.05 else make(i) for make in columns)
        lines.append(delimiter.join(fields))
    text = rng.choice(["\n", "\r\n"]).join(lines)
    return text.encode(rng.choice(["utf-8", "utf-8-sig", "latin-1", "utf-16"]))


def flip(rng: random.Random, data: bytes) -> bytes:
    """Replace bytes at a few positions."""
    content = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(content) + 1)
        content[at : at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
    return bytes(content)


def token(rng: random.Random, data: bytes) -> bytes:
    """Replace one token by another."""
    separator = rng.choice([b" ", b",", b"\n", b";", b":"])
    words = data.split(separator)
    words[rng.randrange(len(words))] = rng.choice(TOKENS)
    return separator.join(words)


def cut(rng: random.Random, data: bytes) -> bytes:
    """Return the first part of the file."""
    return data[: rng.randrange(len(data) + 1)]


def many(rng: random.Random, data: bytes) -> bytes:
    """Repeat all rows many times, or one row very often."""
    if rng.random() < 0.5:
        return (data + b"\n") * min(rng.choice([2, 50, 5000]), 2_000_000 // (len(data) + 1) + 1)
    line = data.partition(b"\n")[0][:200] + b"\n"
    return line * (rng.choice([10_000, 2_000_000]) // len(line))


def wide(rng: random.Random, data: bytes) -> bytes:
    """Return very wide rows: megabytes of text or none, terabytes as a matrix."""
    n = rng.choice([10, 600, 30_000])
    kind = rng.randrange(4)
    if kind == 0:
        return b"".join(b"%d %d:1\n" % (i % 2, rng.randint(1, 1_000_000)) for i in range(n))
    if kind == 1:
        return b"1 1000000:1\n-1 1:1\n" * (n // 2)
    if kind == 2:
        return b",".join([b"1"] * rng.choice([1000, 200_000])) + b"\n" + b"," * 100_000 + b"\n"
    return (
        b"1 "
        + b" ".join(b"%d:1" % i for i in range(1, rng.choice([1000, 300_000])))
        + b"\n-1 1:1\n"
    )


def other(rng: random.Random, data: bytes) -> bytes:
    """Return content that is no table."""
    return rng.choice([
        b"", b"\n", b"\0" * 1000, b"\n" * 1_000_000, b" " * 5_000_000, b"a", b"1", b",", b",\n,\n",
        b"," * 1_000_000, b'"' + b"x" * 3_000_000, b'"a\n' * 300_000, b"1\n" * 300_000, b"a,b\n1,1\n1,2\n",
        b"\x1f\x8b", b"BZh9", b"%PDF", b"PK\x03\x04", b"\x89PNG\r\n\x1a\n", rng.randbytes(5000),
        b"z" * 3_000_000, b"1 1:1 " * 300_000, b"# " + b"c" * 3_000_000, b"a;b,c\n1;2,3\n4;5,6\n",
        b"\xff\xfea\0,\0b\0", b"1 1:1\n-1 1:2\n" * 20, b"inf,nan\n" * 5,
    ])  # fmt: skip


def zipped(data: bytes) -> bytes:
    """Return a zip archive of one file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", data)
    return stream.getvalue()


COMPRESS = {
    "bz2": bz2.compress,
    "gz": partial(gzip.compress, compresslevel=6),
    "xz": partial(lzma.compress, preset=0),
    "zip": zipped,
}
PIECES = [b"\0", b"1 1:1\n", b"1,2,3\n", b"a", b"\n", b'"', b"1 1:1 "]
MUTATIONS: list[Mutation] = [*[token] * 6, *[flip] * 3, cut, many, wide, wide, other]


@cache
def bomb(kind: str, piece: bytes, megabytes: int) -> bytes:
    """Return a small archive that unpacks to a large file."""
    return COMPRESS[kind](piece * (megabytes * 10**6 // len(piece)))


def packed(rng: random.Random, data: bytes, usual: str) -> tuple[str, bytes]:
    """Compress the data with a random method; sometimes damage it or return a bomb."""
    ending = rng.choice([usual, usual, usual, ".svm", ".csv", ".txt", "", ".tsv"])
    kind = rng.choice(["", "", "", "", *COMPRESS])
    if not kind:
        return ending, data
    bombed = rng.random() < 0.3
    size = rng.choice([8, 40, 150])
    raw = bomb(kind, rng.choice(PIECES), size) if bombed else COMPRESS[kind](data)
    if rng.random() < 0.3:
        raw = rng.choice([flip, cut])(rng, raw)
    return f"{ending}.{kind}", raw * rng.choice([1, 1, 1, 2])


def no_file(rng: random.Random, folder: Path) -> Path:
    """Return a path that is not a regular file."""
    kind = rng.randrange(9)
    path = folder / "thing.csv"
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    elif kind == 2:
        path.mkdir()
    elif kind == 3:
        path.symlink_to(path)
    elif kind == 4:
        path.symlink_to("/dev/zero")
    elif kind == 5:
        with path.open("wb") as stream:
            stream.truncate(2**40)  # a sparse file of 1 TiB
    else:
        return Path(["/dev/zero", "/dev/full", "/proc/self/mem"][kind - 6])
    return path


def write_one(rng: random.Random, folder: Path) -> Path:
    """Write one hostile file and return its path."""
    if rng.random() < 0.06:
        return no_file(rng, folder)
    usual, make = rng.choice([(".svm", svmlight), (".csv", table), (".csv", mixed)])
    data = make(rng)
    for _ in range(rng.choice([0, 0, 0, 1, 1, 1, 2, 3])):
        data = rng.choice(MUTATIONS)(rng, data)
    ending, raw = packed(rng, data, usual)
    stem = rng.choice(["my", "my", "my", "a\x1b[31mb", "a\nerror: b", "\u202ecsv", "n" * 200])
    path = folder / f"{stem}{ending}"
    path.write_bytes(raw)
    return path


def flags(rng: random.Random) -> list[str]:
    """Return the flags of a small search, sometimes with others."""
    more = [
        [], [], [], [], ["--target", "a"], ["--target", "2"], ["--target", "\x1b[31m"], ["--json"],
        ["--task", "classification"], ["--task", "regression"], ["--nystrom", "3"], ["--nystrom", "9" * 300],
        ["--criterion", "9" * 300 + "-CV"], ["--criterion", "ELOO"], ["--learner", "krr"], ["--scale", "none"],
        ["--scale", "minmax"], ["--tau", "9" * 350], ["--lam", "1:" + "9" * 300], ["-j", "2"],
        ["--param", "eta=" + "9" * 4000], ["--seed", "-" + "9" * 400], ["--folds", "/dev/null"],
        ["--kernel", "linear"], ["--kernel", "polynomial", "--degree", "1:40"], ["--drop", "1"],
        ["--categorical", "1"], ["--numeric", "1"], ["--missing", "drop"], ["--missing", "error"],
        ["--compare"], ["--compare", "5-CV,BR"], ["--search", "pruned"], ["--loss", "zero-one"],
    ]  # fmt: skip
    return ["--tau", "0.5,2", "--lam", "0.01,1", *rng.choice(more)]


def attempt(rng: random.Random, number: int, tally: Tally) -> None:
    """Run one command on one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_one(rng, Path(folder))
        name = path.name if path.parent == Path(folder) else str(path)
        asked = flags(rng)
        fitted = rng.random() < 0.4 and not {"--json", "--compare"} & set(asked)
        ways = [["select", name, *asked]]
        if fitted:
            ways = [["fit", name, *asked, "-o", "model.npz"]]
        for arguments in ways:
            ending = call(arguments, Path(folder))
            small = path.parent == Path(folder) and path.is_file() and path.stat().st_size < 2**24
            tally.add(number, ending, repr(arguments), path.read_bytes() if small else b"")
            if arguments[0] == "fit" and Path(folder, "model.npz").is_file():
                if small and rng.random() < 0.5:
                    path.write_bytes(rng.choice(MUTATIONS)(rng, path.read_bytes()))
                ways.append(["predict", "model.npz", name])


if __name__ == "__main__":
    import kselect.cli.fitting
    import kselect.cli.selecting  # noqa: F401 - each child has it then

    campaign("files", 500, attempt)
