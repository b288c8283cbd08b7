"""Configs: every option has an effect, every mistake its line, and the resolved config reads back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from experiments import load_config, message_of
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import learners

from kselect.config import load as config_load
from kselect.config.document import read_document, write_yaml
from kselect.config.load import NO_OVERRIDES
from kselect.core.experiment import Experiment
from kselect.core.method import Choice, LamGrid
from kselect.criteria import CRITERIA
from kselect.errors import ConfigError
from kselect.kernels.gaussian import Gaussian
from kselect.kernels.polynomial import Linear, Polynomial
from kselect.learners import LEARNERS
from kselect.report.figures.discrepancy import Discrepancy
from kselect.report.figures.sweep import Sweep
from kselect.report.sections import FIGURES

ROOT = Path(__file__).resolve().parents[2]
BASE = {
    "name": "name: my",
    "learner": "learner: lssvm",
    "kernels": "kernels: {gaussian: {tau: 2^-1:2^1}}",
    "lam": "lam: {fixed: [0.001, 0.01]}",
    "criteria": "criteria: [5-CV, 5-KS, ELOO]",
    "datasets": "datasets: [heart, sonar]",
}
MY = Path("my.yaml")


def write(*lines: str) -> None:
    """Write the small config with the lines of some keys replaced and other lines appended."""
    kept = dict(BASE)
    more = []
    for line in lines:
        key = line.partition(":")[0]
        if key in kept:
            kept[key] = line
        else:
            more.append(line)
    MY.write_text("\n".join([*kept.values(), *more]) + "\n", encoding="utf-8")


def load(*lines: str) -> Experiment:
    """Return the experiment of the small config with these lines."""
    write(*lines)
    return load_config(MY)


def message(overrides: Mapping[str, object] = NO_OVERRIDES) -> str:
    """Return the error message for ``my.yaml``."""
    return message_of(ConfigError, load_config, MY, overrides)


def message_for(text: str) -> str:
    """Return the error message for a whole file."""
    MY.write_text(text, encoding="utf-8")
    return message()


def complaint(*lines: str) -> str:
    """Return the error message for the small config with these lines."""
    write(*lines)
    return message()


# The meaning of a config


def test_defaults() -> None:
    """Optional keys have their defaults."""
    found = load()
    assert (found.name, found.learners, found.datasets) == (
        "my",
        learners("lssvm"),
        ("heart", "sonar"),
    )
    assert (found.paper, found.title, found.seed) == ("", "", 0)
    assert (found.scale, found.scale_on, found.train, found.stratify) == (
        "zscore",
        "train",
        0.7,
        False,
    )
    assert found.splits == tuple(range(10))
    assert found.kernels == (Gaussian(0.5), Gaussian(1.0), Gaussian(2.0))
    assert found.lam == LamGrid((0.001, 0.01), "fixed")
    assert (found.ridge, found.loss, found.figures) == ("fixed", "squared", ())
    assert found.labels == ("5-CV", "5-KS", "ELOO")


@pytest.mark.parametrize(
    ("line", "attribute", "value"),
    [
        ("name: other_1.b", "name", "other_1.b"),
        ("name: '3'", "name", "3"),
        ("paper: icml2014", "paper", "icml2014"),
        ("paper: ''", "paper", ""),
        ('title: "A: b"', "title", "A: b"),
        ("title: no", "title", "no"),
        ("title: 2014-09-15", "title", "2014-09-15"),
        ("learner: krr", "learners", learners("krr")),
        ("scale: minmax", "scale", "minmax"),
        ("scale: none", "scale", "none"),
        ("scale-on: all", "scale_on", "all"),
        ("train: 0.5", "train", 0.5),
        ("train: 5e-1", "train", 0.5),
        ("stratify: true", "stratify", True),
        ("splits: 3", "splits", (0, 1, 2)),
        ("splits: '3'", "splits", (0, 1, 2)),
        ("splits: 2-4", "splits", (2, 3, 4)),
        ("splits: 7-7", "splits", (7,)),
        ("splits: 0-1,7-7,9-10", "splits", (0, 1, 7, 9, 10)),
        ("seed: 7", "seed", 7),
        ("ridge: per-fold", "ridge", "per-fold"),
        ("loss: hinge", "loss", "hinge"),
        ("lam: {select: 10^-2:10^-1}", "lam", LamGrid((0.01, 0.1), "select")),
        ("lam: {fixed: 1e-4}", "lam", LamGrid((0.0001,), "fixed")),
        ("datasets: [a2a]", "datasets", ("a2a",)),
        ("kernels: {gaussian: {tau: [4, 2^-1]}}", "kernels", (Gaussian(4.0), Gaussian(0.5))),
        ("kernels: {gaussian: {tau: 4}}", "kernels", (Gaussian(4.0),)),
        ("kernels: {gaussian: {tau: '4,2'}}", "kernels", (Gaussian(4.0), Gaussian(2.0))),
        ("kernels: {polynomial: {degree: 1:2}}", "kernels", (Polynomial(1), Polynomial(2))),
        (
            "kernels: {linear: , polynomial: {degree: 3:5:2}}",
            "kernels",
            (Linear(), Polynomial(3), Polynomial(5)),
        ),
    ],
)
def test_every_option_has_an_effect(line: str, attribute: str, value: object) -> None:
    """Every option differs from its default in the loaded experiment."""
    assert getattr(load(line), attribute) == value


def test_range_to_base_sixty() -> None:
    """YAML 1.1 reads an unquoted 1:10 as 70."""
    found = load("kernels: {polynomial: {degree: 1:10}}")
    assert [k.parameters["degree"] for k in found.kernels] == list(range(1, 11))


def methods(found: Experiment) -> list[tuple[str, str, int | None, dict[str, Any]]]:
    """Return the methods of the table in short form."""
    return [(m.label, m.criterion, m.folds, dict(m.params)) for m in found.methods]


def test_methods_have_every_parameter() -> None:
    """Each criterion has its own defaults, in the order of their names."""
    found = load("criteria: [5-CV, 10-KS, ELOO, BR, EP]")
    assert methods(found) == [
        ("5-CV", "k-CV", 5, {"average": "points", "loss": "squared"}),
        ("10-KS", "k-KS", 10, {"average": "folds", "eta": 1.0, "loss": "squared"}),
        ("ELOO", "ELOO", None, {"form": "press", "slope": 10.0}),
        ("BR", "BR", None, {}),
        ("EP", "EP", None, {"eta": 1.0, "loss": "squared"}),
    ]
    assert all([k for k, _ in m.params] == sorted(dict(m.params)) for m in found.methods)
    assert {(m.part, m.lam) for m in found.methods} == {("table", None)}


def test_loss_and_average_are_defaults_of_all_criteria() -> None:
    """The keys ``loss`` and ``average`` set the defaults of all criteria and do not change a label."""
    found = load("loss: zero-one", "average: folds")
    assert [m.text for m in found.methods] == [
        "average=folds;loss=zero-one",
        "average=folds;eta=1;loss=zero-one",
        "form=press;slope=10",
    ]
    assert found.labels == ("5-CV", "5-KS", "ELOO")


def test_also_loss_adds_methods() -> None:
    """Each further loss adds a method with the same label to every criterion that has a loss."""
    found = load("also-loss: [zero-one, hinge]")
    assert [(m.label, m.loss) for m in found.methods] == [
        ("5-CV", "squared"),
        ("5-CV", "zero-one"),
        ("5-CV", "hinge"),
        ("5-KS", "squared"),
        ("5-KS", "zero-one"),
        ("5-KS", "hinge"),
        ("ELOO", ""),
    ]
    assert found.losses == ("squared", "zero-one", "hinge")


def test_own_parameters_come_last_and_are_in_the_label() -> None:
    """A label contains only parameters that differ from the usual; 5-KS twice gives two columns."""
    found = load(
        "average: folds",
        "criteria: [5-KS, 5-KS: {eta: 2^-1}, 10-KS: {eta: inf, average: points}, "
        "5-CV: {average: folds}]",
    )
    assert found.labels == ("5-KS", "5-KS(eta=0.5)", "10-KS(average=points;eta=inf)", "5-CV")
    assert dict(found.methods[1].params)["eta"] == 0.5
    assert dict(found.methods[2].params) == {
        "average": "points",
        "eta": float("inf"),
        "loss": "squared",
    }


def test_own_loss_is_not_expanded() -> None:
    """A criterion with its own loss has only that one."""
    found = load(
        "also-loss: [zero-one]", "criteria: [5-CV: {loss: hinge}, 5-KS: {loss: squared}, EP]"
    )
    assert [(m.label, m.loss) for m in found.methods] == [
        ("5-CV(loss=hinge)", "hinge"),
        ("5-KS", "squared"),
        ("EP", "squared"),
        ("EP", "zero-one"),
    ]


def test_figure() -> None:
    """A figure has one method per criterion and value, with the default loss, at one lam."""
    found = load(
        "also-loss: [zero-one]",
        "criteria: [5-CV, 5-KS: {average: points}, 10-KS]",
        "figures: {eta-sweep: {criteria: [10-KS, 5-KS(average=points)], eta: 1:2, lam: 10^-2}}",
    )
    label = "5-KS(average=points)"
    assert found.figures == (Sweep("eta-sweep", ("10-KS", label), "eta", (1.0, 2.0), 0.01),)
    swept = [m for m in found.methods if m.part == "eta-sweep"]
    assert [(m.label, m.folds, m.lam, m.text) for m in swept] == [
        ("10-KS", 10, 0.01, "average=folds;eta=1;loss=squared"),
        ("10-KS", 10, 0.01, "average=folds;eta=2;loss=squared"),
        (label, 5, 0.01, "average=points;eta=1;loss=squared"),
        (label, 5, 0.01, "average=points;eta=2;loss=squared"),
    ]
    assert found.labels == ("5-CV", label, "10-KS")


# Flags that replace keys


def test_overrides() -> None:
    """Flags replace data sets and splits and keep the criteria; a figure loses data sets that were not selected."""
    write("figures: {a: {criteria: [5-KS], eta: 1, lam: 0.01}}")
    found = load_config(MY, {"datasets": ["a2a"], "splits": "1-2", "criteria": ["ELOO", "5-CV"]})
    assert (found.datasets, found.splits) == (("a2a",), (1, 2))
    assert (found.labels, found.figures) == (("5-CV", "ELOO"), ())
    assert [m.label for m in found.methods] == ["5-CV", "ELOO"]
    found = load_config(MY, {"criteria": ["5-KS"], "splits": None, "datasets": None})
    assert [(m.label, m.part) for m in found.methods] == [("5-KS", "table"), ("5-KS", "a")]
    assert found == load_config(MY, {"criteria": "5-KS"})
    assert found.datasets == ("heart", "sonar")


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            {"datasets": ["hart"]},
            "--dataset: unknown data set 'hart'; did you mean 'heart'? (kselect list datasets)",
        ),
        ({"datasets": ["heart", "heart"]}, "--dataset: heart is already datasets[0]"),
        ({"datasets": []}, "--dataset: the list is empty"),
        (
            {"splits": "ten"},
            "--splits: must be a count such as 10 or a range such as 0-4, not the text 'ten'",
        ),
        ({"criteria": ["elo"]}, "--criterion: 'elo' is not in my.yaml; did you mean 'ELOO'?"),
    ],
)
def test_wrong_flags(overrides: dict[str, object], words: str) -> None:
    """The error for a wrong flag names the flag instead of a line."""
    write()
    assert message(overrides) == words


def test_flags_replace_keys_before_the_check() -> None:
    """Keys that a flag replaces are not checked."""
    write("datasets: [nowhere]", "splits: ten")
    assert load_config(MY, {"datasets": ["heart"], "splits": "1"}).splits == (0,)


def test_unknown_override_is_a_bug_and_not_a_config_error() -> None:
    """A programming error keeps its traceback."""
    write()
    with pytest.raises(TypeError, match="kernels"):
        load_config(MY, {"kernels": "x"})


# Files that cannot be read


def test_no_file() -> None:
    """The error for a missing file shows the path as it was typed."""
    said = message_of(ConfigError, load_config, Path("configs/none.yaml"))
    assert said == "configs/none.yaml: no such file"


def test_folder() -> None:
    """A folder is refused as a config."""
    MY.mkdir()
    assert message() == "my.yaml: is a folder, not a config file"


def test_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for an unreadable file gives the reason of the operating system."""

    def refuse(path: Path, most: int) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("kselect.config.document.read_regular", refuse)
    assert message() == "my.yaml: cannot be read: Permission denied"


def test_not_utf8() -> None:
    """The error for a file that is not UTF-8 gives the line of the first wrong byte."""
    MY.write_bytes(b"name: my\ntitle: caf\xe9\n")
    assert message() == "my.yaml:2: not UTF-8 text; save the file as UTF-8"


def test_byte_order_mark_and_windows_lines() -> None:
    """A byte order mark and Windows line ends are accepted."""
    text = "\r\n".join([*BASE.values(), ""])
    MY.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert load_config(MY).name == "my"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "my.yaml:1: the file is empty"),
        (
            "# a comment\n- a\n",
            "my.yaml:2: a config is a mapping (name: ..., learner: ...), not a list",
        ),
        (
            "words",
            "my.yaml:1: a config is a mapping (name: ..., learner: ...), not the text 'words'",
        ),
        (
            'name: my\ntitle: "my\nseed: 1\n',
            "my.yaml:2: not valid YAML: while scanning a quoted scalar, found unexpected end of stream",
        ),
        (
            "name: my\nlam 1\nseed: 1\n",
            "my.yaml:2: not valid YAML: while scanning a simple key, could not find expected ':'",
        ),
        ("name: my\nlam: a: b\n", "my.yaml:2: not valid YAML: mapping values are not allowed here"),
        (
            "name: my\n\tlam: 1\n",
            "my.yaml:2: not valid YAML: while scanning for the next token, "
            "found character '\\t' that cannot start any token",
        ),
        (
            "name: my\ndatasets: [a\nlam: 1\n",
            "my.yaml:2: not valid YAML: while parsing a flow sequence, "
            "expected ',' or ']', but got ':' in line 3",
        ),
        (
            "name: my\n---\nname: b\n",
            "my.yaml:2: not valid YAML: expected a single document in the stream, "
            "but found another document",
        ),
        (
            "name: my\nlam: a\x01\n",
            "my.yaml:2: not valid YAML: the character '\\x01' is not allowed",
        ),
        (
            "name: &a my\ntitle: *a\n",
            "my.yaml:2: not valid YAML: the alias *a is not allowed; write the value out",
        ),
        ("[" * 5000, "my.yaml:1: not a config: it is nested too deeply"),
    ],
)
def test_not_a_config(text: str, words: str) -> None:
    """A file that is not a config is refused in one line with the place and the reason."""
    assert message_for(text) == words


# Keys and values


def catalogue() -> Iterator[tuple[str, str]]:
    """Yield the blocks of config_errors.txt: lines of a config, and their error message."""
    text = (Path(__file__).parent / "config_errors.txt").read_text(encoding="utf-8")
    for block in text.split("\n\n")[1:]:
        lines, _, words = block.strip().rpartition("\n-> ")
        yield lines, words


@pytest.mark.parametrize(("lines", "words"), list(catalogue()))
def test_wrong(lines: str, words: str) -> None:
    """Every mistake gives one line: the file, the line, the key, and what to write instead."""
    assert complaint(*re.split(r"\n(?! )", lines)) == f"my.yaml:{words}"


def test_number_with_thousands_of_digits() -> None:
    """A number that Python refuses to read gives a plain sentence."""
    words = "99999999999999999999... is too long for a number"
    assert complaint("seed: " + "9" * 5000) == f"my.yaml:7: not valid YAML: {words}"


def test_key_repeated_at_the_top() -> None:
    """A repeated key is refused; YAML would silently use the second."""
    text = "\n".join([*BASE.values(), "name: other"])
    assert message_for(text) == "my.yaml:7: name: repeated; first on line 1"


@pytest.mark.parametrize("key", sorted(BASE))
def test_missing_keys(key: str) -> None:
    """Every missing required key is reported."""
    text = "# first\n" + "\n".join(line for k, line in BASE.items() if k != key)
    assert message_for(text) == f"my.yaml:2: {key}: this key is missing"


def test_all_problems_in_the_order_of_lines() -> None:
    """All problems are reported at once, in our own words and in the order of their lines."""
    said = complaint("name: 3", "learner: x", "lam: {}", "splits: ten", "datasets: [hart, hart]")
    lines = said.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        ["my.yaml:1", "name"],
        ["my.yaml:2", "learner"],
        ["my.yaml:4", "lam"],
        ["my.yaml:6", "datasets[0]"],
        ["my.yaml:6", "datasets[1]"],
        ["my.yaml:7", "splits"],
    ]
    assert "pydantic" not in said
    assert "Input should" not in said


# Combinations that are refused

FIGURE = "figures: {a: {criteria: [5-KS], eta: 1:2, lam: 0.01}}"


def test_figure_with_two_varied_parameters() -> None:
    """A figure with two varied parameters is refused."""
    said = complaint(FIGURE.replace("eta: 1:2", "eta: 1, slope: 2")).splitlines()
    assert said[0] == "my.yaml:7: figures.a: needs one parameter to sweep, not eta and slope"


def test_criterion_for_another_learner() -> None:
    """A criterion that requires another learner is refused at its line."""
    assert load("criteria: [GCV]").labels == ("GCV",)
    said = complaint("criteria: [5-CV, GCV]", "learner: quadratic-svr", "datasets: [housing]")
    words = "GCV needs a hat matrix, which quadratic-svr does not have"
    assert said == f"my.yaml:5: criteria[1]: {words}"


def test_a_learner_for_each_task() -> None:
    """A criterion is checked against the learners of the tasks in the config."""
    both = "learner: {classification: lssvm, regression: {quadratic-svr: {eps: 0.2}}}"
    found = load(both, "datasets: [heart, housing]", "criteria: [5-CV]")
    assert dict(found.learners)["classification"] == Choice("lssvm")
    assert dict(found.learners)["regression"] == Choice("quadratic-svr", (("eps", 0.2),))
    assert load(both, "criteria: [GCV]").labels == ("GCV",)
    said = complaint(both, "criteria: [GCV]", "datasets: [heart, housing]")
    assert said.endswith("GCV needs a hat matrix, which quadratic-svr does not have")
    said = complaint("learner: {classification: quadratic-svr}")
    assert said == (
        "my.yaml:2: learner.classification: the learner quadratic-svr is for regression only"
    )


def test_a_criterion_scored_by_another_learner() -> None:
    """``scored-by`` names a learner, per task or for all, that must meet the criterion's requirements."""
    lines = ("learner: {regression: quadratic-svr}", "datasets: [housing]")
    found = load(*lines, "criteria: [GCV: {scored-by: {regression: krr}}]")
    (method,) = found.methods
    assert method.scored_by == (("regression", Choice("krr")),)
    assert "GCV needs a hat matrix" in complaint(
        *lines, "criteria: [GCV: {scored-by: {classification: krr}}]"
    )
    assert "unknown learner 'kr'" in complaint(*lines, "criteria: [GCV: {scored-by: kr}]")
    (smooth,) = load(
        "criteria: [5-CV: {scored-by: {classification: {smooth-hinge: {h: 0.1}}}}]"
    ).methods
    assert smooth.scored_by == (("classification", Choice("smooth-hinge", (("h", 0.1),))),)
    for wrong in ("[krr]", "{krr: 1}", "{classification: 3}"):
        words = complaint("criteria: [5-CV: {scored-by: " + wrong + "}]")
        assert "takes a learner, or {classification: LEARNER}" in words
    words = complaint("criteria: [5-CV: {scored-by: {smooth-hinge: {g: 1}}}]")
    assert "scored-by.smooth-hinge.g: unknown parameter of smooth-hinge; valid: h" in words


def test_a_tuned_parameter() -> None:
    """A tuned parameter takes its values from those that the parameter allows; the label stays plain."""
    found = load("criteria: [5-KS: {eta: {tune: [1, 2^5, 0.5]}}]", "tune-folds: 4")
    (method,) = found.methods
    assert (method.label, method.tuned, found.tune_folds) == (
        "5-KS",
        (("eta", (1.0, 32.0, 0.5)),),
        4,
    )
    assert method.text == "average=folds;eta=1|32|0.5;loss=squared"
    for value, words in (
        ("{tune: [-1]}", "criteria[0].5-KS.eta: eta must not be negative, not -1.0"),
        ("{tune: 2:1}", "criteria[0].5-KS.eta.tune: '2:1' is empty"),
    ):
        assert words in complaint(f"criteria: [5-KS: {{eta: {value}}}]")
    assert "unknown parameter of 5-KS" in complaint("criteria: [5-KS: {et: {tune: [1]}}]")
    assert "tune-folds: must be a whole number, 2 or more" in complaint("tune-folds: 1")


def test_fewer_splits_on_some_data_sets() -> None:
    """Splits are limited by name or by size; a flag for the number of splits applies to every data set."""
    found = load("splits: 20", "fewer-splits: {above 170: 5, sonar: 3}")
    assert found.splits_on("heart") == tuple(range(5))
    assert found.splits_on("sonar") == tuple(range(3))
    again = load_config(MY, {"splits": "20"})
    assert again.splits_on("sonar") == tuple(range(20))
    for written, words in (
        ("{above x: 5}", "write above N for training parts of more than N rows"),
        ("{sonar: 0}", "fewer-splits.sonar: must be a number of splits, 1 or more"),
        ("[3]", "must be a mapping such as {above 1500: 10, a2a: 5}, not a list"),
    ):
        assert words in complaint(f"fewer-splits: {written}")


def test_ridges_in_units_of_n_lam() -> None:
    """The unit of the ridges is read next to the grid and stored in the setting."""
    found = load("lam: {fixed: [0.1, 10], unit: n lam}")
    assert found.lam == LamGrid((0.1, 10.0), "fixed", "n lam")
    assert [s.text for s in found.lam.settings()] == ["n lam=0.1", "n lam=10"]
    assert found.lam.lams(50) == (0.002, 0.2)
    assert "lam.unit: must be lam or n lam or C, not the text 'n'" in complaint(
        "lam: {fixed: [1], unit: n}"
    )
    assert "takes fixed or select, and a grid" in complaint("lam: {unit: lam}")


def test_given_splits() -> None:
    """``train: given`` uses the splits that come with the data instead of a share."""
    assert load("train: given", "datasets: [heart]").train is None
    said = complaint("train: given", "datasets: [heart, sonar]")
    assert "datasets[1]: sonar has no given splits, which train: given needs" in said


def test_learner_for_another_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """A learner for another task is refused."""
    only = frozenset({"classification"})
    monkeypatch.setitem(LEARNERS, "krr", replace(LEARNERS["krr"], tasks=only))
    said = complaint("datasets: [housing]", "learner: krr")
    words = "housing is a regression data set; the learner krr is for classification only"
    assert said == f"my.yaml:6: datasets[0]: {words}"


def test_loss_that_a_criterion_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The config's losses must suit every criterion with a choice of losses; a criterion's own loss always does."""
    br = CRITERIA["BR"]
    loss = replace(CRITERIA["k-CV"].parameters[0], choices=("squared", "zero-one"))
    monkeypatch.setitem(CRITERIA, "BR", replace(br, parameters=(loss,)))
    said = complaint("criteria: [BR]", "also-loss: [hinge]")
    assert said == "my.yaml:5: criteria[0]: BR has no loss 'hinge'; valid: squared, zero-one"
    assert load("criteria: [BR: {loss: squared}]", "also-loss: [hinge]").losses == ("squared",)
    assert load("criteria: [BR: {loss: squared}]", "loss: hinge").methods[0].loss == "squared"


# Reading back


def resolved(path: Path = MY) -> str:
    """Return the resolved config for an empty results folder."""
    return config_load.load(path, FIGURES, NO_OVERRIDES, lambda _: Path("none")).resolved


def assert_reads_back(path: Path = MY) -> None:
    """Check that the resolved text gives an equal experiment, and that resolving it again changes nothing."""
    experiment, text = load_config(path), resolved(path)
    MY.write_text(text, encoding="utf-8")
    assert load_config(MY) == experiment
    assert resolved() == text


OWN: dict[str, Any] = {
    "loss": st.sampled_from(["squared", "zero-one", "hinge"]),
    "average": st.sampled_from(["points", "folds"]),
    "eta": st.sampled_from([0, 1, 2, 0.5, 1e-5, "inf"]),
    "form": st.sampled_from(["press", "error", "smoothed"]),
}
TAKES = {
    "5-CV": ["loss", "average"],
    "10-CV": ["loss", "average"],
    "5-KS": ["loss", "average", "eta"],
    "EP": ["loss", "eta"],
    "ELOO": ["form"],
    "BR": [],
}
GRIDS = st.lists(
    st.floats(1e-300, 1e300) | st.integers(1, 10**6), min_size=1, max_size=4, unique=True
)


@st.composite
def criteria(draw: st.DrawFn) -> list[Any]:
    """Draw criteria, some with their own parameters."""
    names = draw(st.lists(st.sampled_from(sorted(TAKES)), min_size=1, max_size=5, unique=True))
    return [
        {name: draw(st.fixed_dictionaries({}, optional={p: OWN[p] for p in TAKES[name]}))}
        for name in names
    ]


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    """Draw valid configs."""
    found = {
        "name": draw(st.from_regex(r"[A-Za-z0-9_]{1,8}", fullmatch=True)),
        "title": draw(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]))),
        "learner": draw(st.sampled_from(["lssvm", "krr"])),
        "kernels": {"gaussian": {"tau": draw(GRIDS)}},
        "lam": {draw(st.sampled_from(["fixed", "select"])): draw(GRIDS)},
        "criteria": draw(criteria()),
        "datasets": draw(
            st.lists(st.sampled_from(["heart", "sonar", "a2a"]), min_size=1, unique=True)
        ),
    }
    choices: dict[str, Any] = {
        "paper": st.sampled_from(["", "ecml2014"]),
        "scale": st.sampled_from(["zscore", "minmax", "none"]),
        "scale-on": st.sampled_from(["all", "train"]),
        "train": st.floats(0, 1, exclude_min=True, exclude_max=True),
        "stratify": st.booleans(),
        "splits": st.integers(1, 100) | st.sampled_from(["3-3", "2-7", "0-1,5-5,7-9"]),
        "seed": st.integers(0, 2**64),
        "ridge": st.sampled_from(["fixed", "per-fold"]),
        "average": OWN["average"],
        "loss": OWN["loss"],
    }
    found |= draw(st.fixed_dictionaries({}, optional=choices))
    others = sorted({"squared", "zero-one", "hinge"} - {found.get("loss", "squared")})
    found["also-loss"] = draw(st.lists(st.sampled_from(others), unique=True))
    return found


@settings(deadline=None)
@given(configs())
def test_resolved_reads_back(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]
) -> None:
    """Every valid config and its resolved form give the same experiment."""
    path = tmp_path_factory.mktemp("c") / "c.yaml"
    path.write_text(write_yaml(data.items()), encoding="utf-8", newline="")
    experiment = load_config(path)
    path.write_text(resolved(path), encoding="utf-8", newline="")
    assert load_config(path) == experiment


@pytest.mark.parametrize(
    "lines",
    [
        [FIGURE],
        [FIGURE.replace("[5-KS]", "[5-KS, '5-KS(eta=2)']"), "criteria: [5-KS, 5-KS: {eta: 2}]"],
        ["average: folds", "criteria: [5-CV: {average: points}]"],
        ["also-loss: [hinge]", "criteria: [5-CV: {loss: hinge}, 10-CV]"],
        ["kernels: {linear: , polynomial: {degree: 1:3}, gaussian: {tau: 2^-10:2^10}}"],
        ["title: '1e-4'"],
        ["title: 'no'"],
        ["name: '007'"],
        ["criteria: [5-KS: {eta: {tune: [1, 2^-5]}, scored-by: krr}]", "fewer-splits: {sonar: 2}"],
        ["criteria: [5-CV: {scored-by: {classification: {smooth-hinge: {h: 0.1}}}}]"],
        [
            "lam: {select: [0.1, 10], unit: n lam}",
            "train: given",
            "datasets: [heart]",
            "tune-folds: 5",
        ],
        ["learner: {classification: lssvm, regression: {quadratic-svr: {eps: 0.2}}}"],
    ],
)
def test_resolved_reads_back_by_example(lines: list[str]) -> None:
    """Special cases read back: figures, labels that name a default, text that looks like a number."""
    write(*lines)
    assert_reads_back()


def test_resolved_is_legible() -> None:
    """The resolved config writes numbers and letters in their usual form."""
    write("title: Noyaux réguliers", "kernels: {gaussian: {tau: 2^-1:2^1}}")
    text = resolved()
    assert "title: Noyaux réguliers\n" in text
    assert "tau: [0.5, 1, 2]\n" in text


def test_resolved_contains_every_default() -> None:
    """The resolved config contains every key and every parameter."""
    write()
    written = yaml.safe_load(resolved())
    assert list(written) == [
        "format", "kselect", "name", "paper", "title", "learner", "scale", "scale-on", "scale-target",
        "train", "stratify", "splits", "seed", "kernels", "lam", "ridge", "loss", "also-loss", "tune-folds",
        "search", "criteria", "datasets", "figures", "variants",
    ]  # fmt: skip
    assert written["criteria"] == [
        {"5-CV": {"average": "points"}},
        {"5-KS": {"average": "folds", "eta": 1}},
        {"ELOO": {"form": "press", "slope": 10}},
    ]


# The configs that come with kselect


@pytest.mark.parametrize("name", ["ecml2014", "quickstart"])
def test_configs_read_back(name: str) -> None:
    """The committed configs are valid, and each has the name of its file."""
    experiment = load_config(ROOT / "configs" / f"{name}.yaml")
    assert experiment.name == name
    assert experiment.labels == ("5-CV", "5-KS", "10-CV", "10-KS", "ELOO", "BR", "EP")
    assert experiment.kernels == tuple(Gaussian(2.0**e) for e in range(-10, 11))
    assert experiment.lam == LamGrid((0.0001, 0.001, 0.01, 0.1), "fixed")
    assert experiment.losses == ("squared", "zero-one")
    assert_reads_back(ROOT / "configs" / f"{name}.yaml")


def test_icml2014_protocol() -> None:
    """icml2014 has the stated protocol of the paper, and the ridge to which the paper's own series tends."""
    found = load_config(ROOT / "configs/icml2014.yaml")
    assert_reads_back(ROOT / "configs/icml2014.yaml")
    assert (found.train, len(found.splits), len(found.datasets)) == (0.5, 10, 20)
    assert (found.scale, found.ridge, found.loss) == ("minmax", "per-fold", "zero-one")
    assert found.kernels == tuple(Gaussian(2.0**e) for e in range(-6, 9))
    assert found.lam == LamGrid(tuple(2.0**e for e in range(-7, 3)), "select")
    assert len(found.labels) == 8
    orders = {dict(m.params)["order"] for m in found.methods if m.criterion == "BIF-k-CV"}
    assert orders == {3}
    (figure,) = found.figures
    assert isinstance(figure, Discrepancy)
    assert figure.orders == tuple(range(1, 11))
    assert len(figure.datasets) == 10
    seen = [m for m in found.methods if m.part == "discrepancy"]
    assert len(seen) == 3 * (10 + 1)
    assert {m.at for m in seen} == {"5-CV", "10-CV", "20-CV"}


def test_ijcai2018_protocol() -> None:
    """ijcai2018 has the stated protocol of the paper, exact selection by bounds, and no more than the paper."""
    found = load_config(ROOT / "configs/ijcai2018.yaml")
    assert_reads_back(ROOT / "configs/ijcai2018.yaml")
    assert (found.train, len(found.splits), len(found.datasets)) == (0.7, 50, 18)
    assert (found.scale, found.ridge, found.loss, found.search) == (
        "minmax", "per-fold", "hinge", "pruned",
    )  # fmt: skip
    learners = dict(found.learners)
    assert learners["classification"] == Choice("smooth-hinge", (("h", 0.05),))
    assert learners["regression"].name == "krr"
    assert found.kernels == tuple(Gaussian(2.0**e) for e in range(-15, 16))
    assert found.lam == LamGrid(tuple(2.0**e for e in range(-15, 16, 2)), "select")
    assert {d: len(found.splits_on(d)) for d in ("heart", "mg", "a2a", "abalone", "cpusmall")} == {
        "heart": 50, "mg": 50, "a2a": 10, "abalone": 5, "cpusmall": 2,
    }  # fmt: skip
    methods = {m.label: m for m in found.table}
    printed = ("5-FBIF", "5-CV", "10-FBIF", "10-CV", "ELOO", "ER")
    assert found.labels == (*printed, "5-BIF", "10-BIF", "5-Newton", "10-Newton")
    fbif = dict(methods["5-FBIF"].params)
    assert (fbif["c"], fbif["order"], fbif["rhs"]) == (0.1, 1, "exact")
    tuned = dict(methods["ER"].tuned)
    assert tuned["t"] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    assert tuned["eta"] == (2.0**-5, 1.0, 32.0, 1024.0)
    assert dict(methods["ELOO"].scored_by)["classification"].name == "lssvm"
    assert {m.loss for m in found.methods_on("housing")} == {"squared", ""}


def test_a_map_scores_its_columns_at_every_value() -> None:
    """A map scores each column with every value of the parameter, and the exact column as it is."""
    found = load_config(ROOT / "configs/ijcai2018-map.yaml")
    assert_reads_back(ROOT / "configs/ijcai2018-map.yaml")
    seen = [m for m in found.methods if m.part == "map"]
    assert all(m.everywhere for m in seen)
    counts = Counter(m.label for m in seen)
    assert counts == {"5-CV": 1, "5-FBIF": 5, "5-FBIF(rhs=nystrom)": 5, "5-BIF": 1, "5-Newton": 1}
    assert len(found.settings_of(seen[0])) == 16 * 16
    plain = load("lam: {select: [0.1, 1]}", "figures: {map: {of: [5-KS], against: 5-CV}}")
    assert [m.label for m in plain.methods if m.everywhere] == ["5-CV", "5-KS"]


def test_every_loss_of_a_regression_is_squared() -> None:
    """For regression every loss is the squared one, so two losses of the config become one."""
    found = load("loss: zero-one", "also-loss: [squared]", "datasets: [heart, housing]")
    labels = {m.loss for m in found.methods_on("heart")}
    numbers = found.methods_on("housing")
    assert labels == {"zero-one", "squared", ""}
    assert {m.loss for m in numbers} == {"squared", ""}
    assert len(set(numbers)) == len(numbers) < len(found.methods)


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        ("{kind: discrepanc, at: [5-CV], order: 1:3}", "unknown kind of figure 'discrepanc'"),
        ("{kind: discrepancy, order: 1:3}", "at: this key is missing"),
        ("{kind: discrepancy, at: [6-CV], order: 1:3}", "'6-CV' is not under criteria"),
        ("{kind: discrepancy, at: [ELOO], order: 1:3}", "ELOO has no folds"),
        ("{kind: discrepancy, at: [5-CV], eta: 1:3}", "unknown parameter of bif-discrepancy"),
        ("{kind: discrepancy, at: [5-CV], order: 1:3, lam: 1}", "not order and lam"),
        ("{kind: discrepancy, at: [5-CV], order: [1.5]}", "whole number"),
        ("{kind: discrepancy, at: [5-CV], order: 1, datasets: [mpg]}", "not under datasets"),
        ("{criteria: [5-KS], eta: 1, lam: 0.001, at: [5-CV]}", "not eta and at"),
        ("{kind: map, against: 5-CV, eta: 1}", "of: this key is missing"),
        ("{kind: map, of: [5-KS], eta: 1}", "against: this key is missing"),
        ("{kind: map, of: [5-KS], against: 6-CV, eta: 1}", "'6-CV' is not under criteria"),
        ("{kind: map, of: [5-KS], against: [5-CV], eta: 1}", "['5-CV'] is not under criteria"),
        ("{kind: map, of: [5-KS], against: 5-CV, c: 1}", "c: is no parameter of 5-KS"),
        ("{kind: map, of: [5-KS], against: 5-CV, eta: -1}", "eta must not be negative"),
        ("{kind: map, of: [5-KS], against: 5-CV, eta: 1, c: 2}", "not eta and c"),
        ("{kind: likeness, of: [5-KS]}", "against: this key is missing"),
        ("{kind: likeness, of: [6-KS], against: 5-CV}", "'6-KS' is not under criteria"),
        ("{kind: likeness, of: [5-KS], against: 5-CV, eta: 1}", "unknown key; valid: of, against"),
    ],
)
def test_wrong_figures(figure: str, words: str) -> None:
    """A wrong figure is refused with a message about what its kind accepts."""
    assert words in complaint(f"figures: {{f: {figure}}}")


def test_ecml2014_protocol() -> None:
    """ecml2014 has the stated protocol of the paper."""
    found = load_config(ROOT / "configs/ecml2014.yaml")
    assert (found.paper, found.learners, found.train, len(found.splits)) == (
        "ecml2014", learners("lssvm"), 0.7, 10,
    )  # fmt: skip
    assert (found.scale, found.scale_on, found.stratify, found.ridge) == (
        "zscore", "all", False, "per-fold",
    )  # fmt: skip
    assert len(found.datasets) == 9
    table = [dict(m.params) for m in found.methods if m.part == "table"]
    assert {p["eta"] for p in table if "eta" in p} == {1.0}
    assert {p["average"] for p in table if "average" in p} == {"folds"}
    (sweep,) = found.figures
    assert isinstance(sweep, Sweep)
    assert (sweep.criteria, sweep.parameter, sweep.lam) == (("5-KS", "10-KS"), "eta", 0.001)
    assert sweep.values == tuple(2.0**e for e in range(-10, 11))


@pytest.mark.parametrize("name", ["ecml2014", "quickstart"])
def test_open_choices_are_commented(name: str) -> None:
    """Each choice has its reason on its line or the line below; ecml2014 marks it as stated or assumed."""
    lines = (ROOT / "configs" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    words = ("stated:", "inferred:", "assumed:") if name == "ecml2014" else ("#",)
    for key in ("scale-on:", "stratify:", "seed:", "lam:", "ridge:", "loss:", "average:"):
        (line,) = [line for line in lines if line.startswith(key)]
        assert any(word in line for word in words), line


# Lines of YAML


def test_scalars_are_those_of_yaml_1_2() -> None:
    """Scalars follow YAML 1.2: no sexagesimals, no yes and no, no dates; numbers with an exponent are numbers."""
    MY.write_text("[1:10, yes, no, on, 2014-09-15, 1e-4, 0o17, 0x1F, 017, 1_0, .5, '1', ~, True]")
    assert read_document(MY).data == [
        "1:10", "yes", "no", "on", "2014-09-15", 1e-4, 15, 31, 17, "1_0", 0.5, "1", None, True,
    ]  # fmt: skip


# Existing results in a folder


def test_flags_limit_jobs_but_not_results(tmp_path: Path) -> None:
    """Flags limit which jobs run; results are gathered for the whole config and the whole folder."""
    write("splits: 5")
    flags = {"datasets": ["a2a"], "splits": "7-8", "criteria": ["5-CV"]}
    first = config_load.load(MY, FIGURES, flags, lambda _: tmp_path / "out")
    assert (first.asked.datasets, first.asked.splits, first.asked.labels) == (
        ("a2a",),
        (7, 8),
        ("5-CV",),
    )
    assert first.whole.datasets == ("heart", "sonar", "a2a")
    assert first.whole.splits == (0, 1, 2, 3, 4, 7, 8)
    assert first.whole.labels == ("5-CV", "5-KS", "ELOO")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/config.resolved.yaml").write_text(first.resolved)
    write("splits: 3", "criteria: [BR]")
    again = config_load.load(MY, FIGURES, {"datasets": ["sonar"]}, lambda _: tmp_path / "out")
    assert again.whole.datasets == ("heart", "sonar", "a2a")
    assert again.whole.splits == first.whole.splits
    assert again.whole.labels == ("BR", "5-CV", "5-KS", "ELOO")
    write("splits: 3", "seed: 1")
    other = config_load.load(MY, FIGURES, {}, lambda _: tmp_path / "out")
    assert (other.whole.datasets, other.whole.splits) == (("heart", "sonar"), (0, 1, 2))
    assert (again.differences, other.differences) == ("", "seed: 0 there, 1 here")


@pytest.mark.parametrize(
    ("there", "here", "said"),
    [
        ("stratify: true", "learner: svm", "learner.classification: lssvm there, svm bias true here; "),
        ("train: 0.5", "kernels: {linear: {}}", "train: 0.5 there, 0.7 here; kernels.gaussian.tau: 2^-1:2^1 "),
        ("lam: {fixed: [3]}", "lam: {select: 10^-3:10^2}", "lam.fixed: 3 there, absent here; lam.select: absent "),
        ("also-loss: [hinge]", "scale: minmax", "scale: zscore there, minmax here; also-loss: ['hinge'] there, "),
        ("", "{ridge: per-fold, seed: 7, loss: hinge, scale: minmax, train: 0.6}", "seed: 0 there, 7 here; 2 more"),
    ],
)  # fmt: skip
def test_the_keys_in_which_a_stored_config_differs(
    tmp_path: Path, there: str, here: str, said: str
) -> None:
    write(there)
    first = config_load.load(MY, FIGURES, {}, lambda _: tmp_path)
    (tmp_path / "config.resolved.yaml").write_text(first.resolved)
    write(*here.strip("{}").split(", ")) if here[0] == "{" else write(here)
    assert said in config_load.load(MY, FIGURES, {}, lambda _: tmp_path).differences


def test_a_figure_without_selected_data_sets_needs_none() -> None:
    """A figure that loses all data sets to a flag needs none, rather than all."""
    write("figures: {discrepancy: {at: [5-CV], order: 1:2, datasets: [sonar]}}")
    assert (
        load_config(MY, {"datasets": ["heart"]}).methods
        == load_config(MY, {"datasets": ["heart"]}).table
    )
    assert len(load_config(MY, {"datasets": ["sonar"]}).methods) == 3 + 3


# Scaled targets, and grids of C


def test_a_grid_of_c_is_divided_by_the_rows() -> None:
    """``C = 1 / (2 n lam)``; another learner has no C."""
    found = load("learner: svm", "lam: {fixed: [0.1, 10], unit: C}")
    assert [s.text for s in found.lam.settings()] == ["C=0.1", "C=10"]
    assert found.lam.lams(50) == (0.1, 0.001)
    words = "lam.unit: C is the parameter of svm and smooth-hinge, not of lssvm"
    assert words in complaint("lam: {fixed: [1], unit: C}")


def test_scaled_targets_are_for_regressions() -> None:
    """The key is read, and refused if there is no regression."""
    assert load("learner: krr", "datasets: [mpg]", "scale-target: zscore").scale_target == "zscore"
    assert load().scale_target == "none"
    words = "scale-target: scales the targets of regressions; there is none here"
    assert words in complaint("scale-target: zscore")


def test_the_printed_operator_is_for_classification() -> None:
    """Without a hinge there is no operator of the hinge loss."""
    lines = ("learner: krr", "lam: {select: [0.1]}", "criteria: [{5-FBIF: {operator: printed}}]")
    words = "mpg is a regression data set; operator 'printed' of 5-FBIF is for classification only"
    assert words in complaint(*lines, "datasets: [mpg]")


def test_a_scorer_as_the_loss_belongs_to_cross_validation() -> None:
    """5-CV chooses by it and averages over folds; a criterion without a loss, or with its own, does not."""
    found = load("loss: roc_auc", "criteria: [5-CV, ELOO, {5-CV: {loss: squared, label: plain}}]")
    by_cv, eloo, plain = found.methods
    assert by_cv.scorer is not None
    assert by_cv.scorer.name == by_cv.loss == found.loss == "roc_auc"
    assert by_cv.text == "average=folds;loss=roc_auc"
    assert (eloo.scorer, plain.scorer, plain.loss) == (None, None, "squared")
    assert found.losses == ("roc_auc", "squared")
    assert found.scorer == by_cv.scorer
    (method, *_) = found.methods_on("heart")
    assert method.scorer == by_cv.scorer
    assert load("loss: zero-one").scorer is None
