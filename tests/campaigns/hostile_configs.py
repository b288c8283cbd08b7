"""Run ``kselect run CONFIG --dry-run`` on mutated configs.

    OPENBLAS_NUM_THREADS=1 python tests/campaigns/hostile_configs.py --count 2000 --seed 1

No call may end with a traceback, take more than 5 s, or need more than 1 GB. Start it by hand.
``--keep DIR`` keeps each config that fails, together with the output of the command.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "campaigns")]

from children import Tally, call, campaign  # noqa: E402 - the package of this tree, not an installed one

SOURCES = [p.read_text(encoding="utf-8") for p in sorted((ROOT / "configs").glob("*.yaml"))]
Mutation = Callable[[random.Random, str], str]

SCALARS = [
    '"\\UFFFFFFFF"', '"\\uD800"', '"\\uDFFF\\uD800"', '"a\\0b"', '"\\e[31m"', '"\\x07\\x1b]0;t\\x07"', "''",
    "9" * 300, "9" * 5000, "0x" + "f" * 300, "0x" + "f" * 5000, "0o" + "7" * 9000, "-" + "9" * 400, "1e308",
    "1e309", "-0", ".inf", "-.inf", ".nan", "1e-400", "0." + "0" * 5000 + "1", "2^1024", "2^-1074", "2^99999",
    "10^308", "0^-1", "2^" + "9" * 300, "9" * 200 + "^2", "1:10000", "1:10001", "0:99999999999999", "2^0:2^9999",
    "1:" + "9" * 400, "9" * 350 + ":" + "9" * 350, "-9:9:0", "1:2:3:4", ":", "::", ",", "1,,2", "1,1", "5:1",
    "[]", "{}", "[[]]", "[1, [2]]", "{a: {b: c}}", "null", "~", "true", "yes", "1_000", "\u0663", "0-9999",
    "0-10000", "0-1,1-2", "9-1", "99999999999-5-CV", "1-CV", "0-CV", "999999999-CV", "5-CV", "5-KS", "BIF-5-CV",
    "{BIF-5-CV: {order: 1000000000}}", "{BIF-5-CV: {order: 1e308}}", "{5-KS: {eta: -1}}", "{5-KS: {eta: 1e309}}",
    "{5-KS: {eta: [1, 2]}}", "{5-KS: 3}", "{quadratic-svr: {eps: 1e400}}", "{quadratic-svr: {}}", "svm", "krr",
    "{gaussian: {tau: 1:10000}}", "{gaussian: {tau: -1}}", "{gaussian: {}}", "{polynomial: {degree: 1:10000}}",
    "{polynomial: {degree: 1e300}}", "{polynomial: {degree: 0.5}}", "{linear: {tau: 1}}", "{select: 1:10000}",
    "{fixed: 1:10000}", "{fixed: [], select: []}", "heart", "a2a", "../heart", "heart\u202e", "&a 1", "*a",
    "&a [*a]", "!!int x", "!!float nan", "!!python/object:os.system x", "!!binary aGk=", "!!set {a, b}", "!<x> y",
    "|\n  text", ">-\n  folded", "? a", "- a", "a: b: c", "[a", "{a", '"a', "'a", "%", "@", "`", "\t", "# c",
    "z" * 4000, "z" * 5000, "z" * 200_000, "[" * 100, "[" * 5000, "[" * 900 + "]" * 900, "{a: " * 300,
    "[" + "1, " * 4000 + "1]", "[" + "a, " * 30_000 + "a]", "{" + ", ".join(f"k{i}: 1" for i in range(3000)) + "}",
    "[" + ", ".join(f"x{i}" for i in range(2000)) + "]", "[" + ", ".join(f"{i}-CV" for i in range(2, 1500)) + "]",
    "[" + ", ".join(f"1:{10000}" for _ in range(500)) + "]", "<<: {a: 1}", "2014-09-15", "1:10", "0b101", "+1",
]  # fmt: skip
WHOLE = [
    "", "\n", "\0", "---\n---\n", "--- a\n--- b\n", "\ufeff", "%YAML 1." + "9" * 5000 + "\n---\na: 1\n",
    "- a\n- b\n", "%TAG ! tag:x,2000:\n---\n!a b\n", "a: " * 2000, "\t", "? [a]\n: b\n", "? {a: b}\n: c\n",
    "'", '"', "a: b\n" * 6000, "name: x\n" * 3000, "".join(f"k{i}: 1\n" for i in range(950)), "x" * 2_000_000,
    "# " + "c" * 1_000_000, "\n" * 1_000_000, "- " * 3000 + "a", "\x85", "\u2028a: b",
    "a:\n" + "".join(" " * i + "b:\n" for i in range(1, 900)),
    "figures:\n" + "".join(f"  f{i}: {{criteria: [5-CV], lam: 1, eta: 1:10000}}\n" for i in range(210)),
]  # fmt: skip


def replace_value(rng: random.Random, text: str) -> str:
    """Replace the value after one of the colons."""
    places = [i for i, c in enumerate(text) if c == ":"]
    if not places:
        return text
    at = rng.choice(places) + 1
    end = next((i for i in range(at, len(text)) if text[i] in "\n,}"), len(text))
    return f"{text[:at]} {rng.choice(SCALARS)}{text[end:]}"


def replace_token(rng: random.Random, text: str) -> str:
    """Replace a word by another value."""
    words = text.split(" ")
    words[rng.randrange(len(words))] = rng.choice(SCALARS)
    return " ".join(words)


def flip(rng: random.Random, text: str) -> str:
    """Replace characters at a few positions."""
    letters = list(text)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(letters) + 1)
        letters[at : at + rng.randint(0, 2)] = rng.choices(
            [*":,{}[]'\"#&*!|>%@`-?\\ \t\n^.0123456789abz", "\0", "\x1b", "\u202e", "\U0001f600", "\x7f"],
            k=rng.randint(0, 3),
        )  # fmt: skip
    return "".join(letters)


def lines_moved(rng: random.Random, text: str) -> str:
    """Repeat, remove or move a line."""
    lines = text.splitlines(keepends=True)
    line = lines.pop(rng.randrange(len(lines)))
    for _ in range(rng.choice([0, 1, 2, 2, 50])):
        lines.insert(rng.randint(0, len(lines)), line)
    return "".join(lines)


def key_added(rng: random.Random, text: str) -> str:
    """Append a valid or invalid key."""
    keys = ["name", "paper", "title", "learner", "scale", "scale-on", "train", "stratify", "splits", "seed",
            "kernels", "lam", "ridge", "loss", "also-loss", "average", "criteria", "datasets", "figures",
            "'\\e[0m'", "z" * 300, "\u202eabc", "? a", '"\\uD800"', '"a\\nb"']  # fmt: skip
    return f"{text.rstrip()}\n{rng.choice(keys)}: {rng.choice(SCALARS)}\n"


def cut(rng: random.Random, text: str) -> str:
    """Return the first part of the config."""
    return text[: rng.randrange(len(text) + 1)]


def another(rng: random.Random, text: str) -> str:
    """Return a text that is no config."""
    return rng.choice(WHOLE)


MUTATIONS: list[Mutation] = [
    *[replace_value] * 6, *[replace_token] * 2, flip, flip, lines_moved, key_added, key_added, cut, another,
]  # fmt: skip


def mutated(rng: random.Random) -> bytes:
    """Return a config after one to three mutations, sometimes with bytes that are no text."""
    text = rng.choice(SOURCES)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if text:
            text = rng.choice(MUTATIONS)(rng, text)
    data = text.encode("utf-8", errors="surrogatepass")
    if rng.random() < 0.05:
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.randbytes(rng.randint(1, 8)) + data[at:]
    return data


def flags(rng: random.Random) -> list[str]:
    """Return no flags, or sometimes an invalid one."""
    if rng.random() < 0.8:
        return []
    value = rng.choice(
        ["9" * 5000, "3", "0-4", "9" * 300, "2^1", "", "\x1b[31m", "\udcff", "heart", "5-CV", "1/1"]
    )
    return [rng.choice(["--splits", "-d", "-c", "-j", "--shard", "--mirror", "--data-dir"]), value]


def attempt(rng: random.Random, number: int, tally: Tally) -> None:
    """Run one config."""
    with tempfile.TemporaryDirectory() as folder:
        data = mutated(rng)
        (Path(folder) / "my.yaml").write_bytes(data)
        more = flags(rng)
        arguments = ["run", "my.yaml", "--dry-run", "--offline", "--skip-missing", *more]
        tally.add(number, call(arguments, Path(folder)), repr(more), data)


if __name__ == "__main__":
    import kselect.cli.run  # each child has it then

    # The estimate of the run time measures samples, for up to 90 s.
    kselect.cli.run.estimate = lambda *_: 1.0
    campaign("configs", 2000, attempt)
