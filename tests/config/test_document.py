"""Hostile YAML gives one error line per problem, quickly, and without control characters."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from experiments import load_config, message_of

from kselect.config import load as config_load
from kselect.config.document import (
    LARGEST_FILE,
    LONGEST_PROBLEM,
    LONGEST_TEXT,
    MOST_PROBLEMS,
    MOST_VALUES,
    read_document,
)
from kselect.errors import ConfigError
from kselect.report.sections import FIGURES

BASE = """\
name: my
learner: lssvm
kernels: {gaussian: {tau: 2^-1:2^1}}
lam: {fixed: [0.001, 0.01]}
criteria: [5-CV, 5-KS]
datasets: [heart, sonar]
"""
MY = Path("my.yaml")
LONG = "z" * LONGEST_TEXT


def complaints(text: str) -> list[str]:
    """Return the error lines of a config; check that they are short, plain and quick."""
    MY.write_text(text, encoding="utf-8")
    started = time.process_time()
    lines = message_of(ConfigError, load_config, MY).split("\n")
    # Measuring coverage takes three times as long.
    assert time.process_time() - started < (4 if sys.gettrace() is None else 16)
    for line in lines:
        assert line.startswith("my.yaml:")
        assert line.isprintable()
        assert len(line) <= LONGEST_PROBLEM + 50
    return lines


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (r'"\UFFFFFFFF"', "not valid YAML: an escape or a number without meaning"),
        (r'"\U00110000"', "not valid YAML: an escape or a number without meaning"),
        (r'"\uD800"', r"not valid YAML: '\ud800' is half a character"),
        (r'"a\uDFFFb"', r"not valid YAML: '\udfff' is half a character"),
        (r'{"\uD800": 1}', r"not valid YAML: '\ud800' is half a character"),
        ("9" * 5000, "not valid YAML: 99999999999999999999... is too long for a number"),
        ("0x" + "f" * 5000, "not valid YAML: 0xffffffffffffffffff... is too long for a number"),
        ("0o" + "7" * 9000, "not valid YAML: 0o777777777777777777... is too long for a number"),
        ("1." + "0" * 5000, "not valid YAML: 1.000000000000000000... is too long for a number"),
        ("z" * 5000, "not valid YAML: a text of 5000 characters: 4096 at most"),
        ("!!int " + "z" * 300, "not valid YAML: 'zzz"),
        ("!" + "z" * 3000 + " x", "not valid YAML: the tag !zzz"),
        ("*" + "z" * 3000, "not valid YAML: the alias *zzz"),
        ("[" * 3000, "nested too deeply"),
    ],
    ids=range(14),
)  # fmt: skip
@pytest.mark.parametrize("key", ["title", "seed", "lam", "criteria"])
def test_values_that_no_key_accepts(key: str, value: str, said: str) -> None:
    lines = BASE.splitlines()
    (line,) = complaints(
        "\n".join([f"{key}: {value}", *(x for x in lines if not x.startswith(key))])
    )
    assert line.startswith(f"my.yaml:1: {'not a config: it is ' if 'nested' in said else ''}{said}")


def test_numbers_and_escapes_without_meaning() -> None:
    said = "not valid YAML: an escape or a number without meaning"
    assert complaints("%YAML 1." + "9" * 5000 + "\n---\n" + BASE) == [f"my.yaml:1: {said}"]
    assert complaints(BASE + 'title: "\\UFFFFFFFF"\n') == [f"my.yaml:7: {said}"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"learner: {LONG}", "my.yaml:2: learner: unknown learner 'zzz"),
        (f"name: [{LONG}]", "my.yaml:1: name: must be text, not a list"),
        (f"name: {LONG}", "my.yaml:1: name: 'zzz"),
        (f"{LONG[:1000]}: 1", "my.yaml:7: zzz"),
        (f"paper: {LONG}", "my.yaml:7: paper: unknown paper 'zzz"),
        (f"scale: {LONG}", "my.yaml:7: scale: unknown value 'zzz"),
        (f"splits: {'9' * 300}", "my.yaml:7: splits: must be a count such as 10 or a range"),
        (f"seed: -{'9' * 300}", "my.yaml:7: seed: must be a whole number, 0 or more, not the number -999"),
        (f"train: {'9' * 300}", "my.yaml:7: train: must lie between 0 and 1, both excluded, not 999"),
        (f"title: {'9' * 300}", "my.yaml:7: title: must be text, not the number 999"),
        (f"lam: {{fixed: {'9' * 390}}}", "my.yaml:4: lam.fixed: 999"),
        (f"lam: {{fixed: {'9' * 390}:{'9' * 390}}}", "my.yaml:4: lam.fixed: '999"),
        (f"lam: {{fixed: {'9' * 190}:{'9' * 200}}}", "my.yaml:4: lam.fixed: '999"),
        ("lam: {fixed: 1:99999999999999999999}", "my.yaml:4: lam.fixed: '1:99999999999999999999' has more"),
        (f"lam: {{fixed: 0x{'f' * 390}}}", f"my.yaml:4: lam.fixed: {str(16**390)[:9]}"),
        ("title: &" + "z" * 2000 + " a\nseed: *b", "my.yaml:8: not valid YAML: the alias *b is not allowed"),
        ('"a\\e[31m\\n": 1', r"my.yaml:7: a\x1b[31m\n: unknown key"),
        ("\u202eabc: 1", r"my.yaml:7: \u202eabc: unknown key"),
        ('learner: "\\e]0;x\\a"', r"my.yaml:2: learner: unknown learner '\x1b]0;x\x07'"),
        ("criteria: [" + "9" * 4000 + "-CX]", "my.yaml:5: criteria[0]: "),
    ],
    ids=range(20),
)  # fmt: skip
def test_echoed_values_are_short(line: str, said: str) -> None:
    key = line.partition(":")[0]
    kept = [line if x.startswith(f"{key}:") else x for x in BASE.splitlines()]
    text = "\n".join(kept if line in kept else [*kept, line])
    (found,) = complaints(text)
    assert found.startswith(said)


@pytest.mark.parametrize("order", ["10001", "1e308", "9" * 300])
def test_orders_have_a_limit(order: str) -> None:
    (line,) = complaints(BASE.replace("[5-CV, 5-KS]", f"[{{BIF-5-CV: {{order: {order}}}}}]"))
    assert line.startswith(
        "my.yaml:5: criteria[0].BIF-5-CV.order: order must be at most 10000, not "
    )


def test_only_the_first_of_many_problems_are_listed() -> None:
    few, many = (BASE + "".join(f"k{i}: 1\n" for i in range(n)) for n in (MOST_PROBLEMS, 900))
    assert len(complaints(few)) == 50
    assert len(lines := complaints(many)) == MOST_PROBLEMS + 1
    assert lines[-1] == "my.yaml: and further problems"


@pytest.mark.parametrize(
    "text",
    [
        BASE + "title: [" + "a, " * 30_000 + "a]\n",
        BASE + "title: {" + ", ".join(f"k{i}: 1" for i in range(30_000)) + "}\n",
        BASE + "".join(f"k{i}: 1\n" for i in range(30_000)),
        BASE.replace("[0.001, 0.01]", "[" + ", ".join(map(str, range(1, 30_000))) + "]"),
    ],
    ids=["list", "mapping", "keys", "grid"],
)
def test_many_values(text: str) -> None:
    (line,) = complaints(text)
    assert line.endswith(f"more than {MOST_VALUES} values; write grids as ranges, as in 2^-6:2^8")


def figures(grid: str, count: int) -> str:
    """Return the small config with figures that sweep a grid."""
    one = f"{{criteria: [5-KS], lam: 0.01, eta: {grid}}}"
    return BASE + "figures:\n" + "".join(f"  f{i}: {one}\n" for i in range(count))


@pytest.mark.parametrize(
    "text",
    [
        BASE.replace("[heart, sonar]", "[" + ", ".join(["heart"] * 1500) + "]"),
        BASE.replace("[heart, sonar]", "[" + ", ".join(f"h{i}" for i in range(1500)) + "]"),
        BASE.replace("[5-CV, 5-KS]", "[" + ", ".join(f"{i}-CX" for i in range(1500)) + "]"),
        BASE.replace("[5-CV, 5-KS]", "[" + ", ".join(f"{i}-CV" for i in range(2, 900)) + "]")
        + "figures: {f: {lam: 0.01, eta: 1:3, criteria: [" + ", ".join(f"{i}-CX" for i in range(900)) + "]}}",
        figures("1:10000", 200),
        figures("-9999:0", 200),
        figures("1.0001^1:1.0001^9999", 200),
        figures("3", 900),
        BASE.replace("tau: 2^-1:2^1", "tau: 1:10000").replace("[0.001, 0.01]", "1:10000"),
        BASE.replace("2^-1:2^1}", "1}, " + ", ".join(f"g{i}: {{tau: 1:10000}}" for i in range(400))),
    ],
    ids=["repeated", "names", "criteria", "labels", "sweeps", "negative", "powers", "figures", "pairs", "kernels"],
)  # fmt: skip
def test_expensive_configs_are_refused_quickly(text: str) -> None:
    assert len(complaints(text)) <= MOST_PROBLEMS + 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BASE.replace("2^-1:2^1", "1:2000").replace("[0.001, 0.01]", "1:501"),
         "my.yaml:3: kernels: 1002000 kernels times ridges are too many: 1000000 at most"),
        (BASE.replace("2^-1:2^1", "1:3999"),
         "my.yaml:3: kernels: 4001 values of all grids together are too many: 4000 at most"),
        (BASE.replace("[5-CV, 5-KS]", "[" + ", ".join(f"{i}-CV" for i in range(2, 203)) + "]"),
         "my.yaml:5: criteria: 201 criteria are too many: 200 at most"),
        (BASE + "figures: {f: {criteria: [5-KS], lam: 0.01, eta: 1:3000}}\n",
         "my.yaml:7: figures: 2001 methods of all figures together are too many: 2000 at most"),
        (figures("2", 201), "my.yaml:7: figures: 201 figures are too many: 200 at most"),
    ],
    ids=["candidates", "values", "criteria", "methods", "figures"],
)  # fmt: skip
def test_sizes(text: str, said: str) -> None:
    assert complaints(text) == [said]


@pytest.mark.parametrize(
    "text",
    [
        BASE.replace("2^-1:2^1", "1.001^1:1.001^3000").replace("[0.001, 0.01]", "1.01^1:1.01^300"),
        BASE.replace("[5-CV, 5-KS]", "[" + ", ".join(f"{i}-KS" for i in range(2, 202)) + "]"),
        figures("1.001^1:1.001^10", 200),
    ],
    ids=["grids", "criteria", "figures"],
)
def test_the_largest_configs_read_back(text: str) -> None:
    """The largest configs that are accepted can also be read back from a results folder."""
    MY.write_text(text)
    experiment = load_config(MY)
    kept = config_load.load(MY, FIGURES, {}, lambda _: MY.parent / "none").resolved
    MY.write_text(kept)
    assert load_config(MY) == experiment


def test_files_that_are_not_configs() -> None:
    for content, said in (
        (
            b"#" * (LARGEST_FILE + 1),
            f"cannot be read: is too large: more than {LARGEST_FILE} bytes",
        ),
        (b"\xff" * 100, ":1: not UTF-8 text; save the file as UTF-8"),
    ):
        MY.write_bytes(content)
        with pytest.raises(ConfigError, match=said):
            read_document(MY)
    os.mkfifo("pipe.yaml")
    with pytest.raises(ConfigError, match=r"pipe\.yaml: cannot be read: is a pipe, not a file"):
        read_document(Path("pipe.yaml"))
    with pytest.raises(ConfigError, match="is a device, not a file"):
        read_document(Path("/dev/zero"))
    with pytest.raises(ConfigError, match=r"^a\\nb: no such file$"):
        read_document(Path("a\nb"))
    with pytest.raises(ConfigError, match="File name too long"):
        read_document(Path("z" * 5000))


def test_a_config_of_the_largest_size_is_read() -> None:
    MY.write_text(BASE + "#" * (LARGEST_FILE - len(BASE)))
    assert read_document(MY).data["name"] == "my"
