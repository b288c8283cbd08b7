"""Variants replace keys of the config, and each mistake in them is reported with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiments import load_config, message_of

from kselect.config.document import read_document
from kselect.config.load import in_words, load, variant_of
from kselect.config.resolved import protocol_text, resolved
from kselect.core.experiment import Experiment, Variant
from kselect.errors import ConfigError
from kselect.kernels.gaussian import Gaussian
from kselect.report.sections import FIGURES

BASE = """\
name: my
learner: lssvm
kernels: {gaussian: {tau: 2^-1:2^1}}
lam: {fixed: [0.001, 0.01]}
criteria: [5-CV, {5-KS: {eta: 2}}, 10-KS, EP]
datasets: [heart, sonar]
figures: {sweep: {criteria: [10-KS], eta: 2^0:2^2, lam: 0.01}}
variants:
"""
MY = Path("my.yaml")


def write(*variants: str) -> None:
    """Write the config with some variants."""
    MY.write_text(BASE + "".join(f"  {v}\n" for v in variants))


def experiment_of(name: str) -> Experiment:
    """Return the experiment of a variant."""
    return load(MY, FIGURES, {}, lambda _: Path("none"), name).asked


def problem(*variants: str) -> str:
    """Return the error message for a config with such a variant."""
    write(*variants)
    return message_of(ConfigError, load_config, MY)


def test_keys_replace_those_of_the_config() -> None:
    write("minmax: {scale: minmax, kernels: {gaussian: {tau: 4}}, datasets: [sonar]}")
    main, found = load_config(MY), experiment_of("minmax")
    assert main.variants == (Variant("minmax", "scale minmax; gaussian tau 4; datasets sonar"),)
    assert (main.scale, found.scale) == ("zscore", "minmax")
    assert found.kernels == (Gaussian(4.0),)
    assert found.datasets == ("sonar",)
    assert (found.name, found.figures, found.variants) == ("my", (), ())
    assert found.labels == main.labels


def test_a_title_is_for_pages_only() -> None:
    """It changes neither the protocol nor what counts as another reading; without one, the name is shown."""
    write("minmax: {title: Scaled features, scale: minmax}", "none: {scale: none}")
    titled, plain = load_config(MY).variants
    assert titled == Variant("minmax", "scale minmax", True, "Scaled features")
    assert (titled.words, plain.words) == ("Scaled features", "none")
    with_title = protocol_text(variant_of(read_document(MY), "minmax"))
    write("minmax: {scale: minmax}")
    assert protocol_text(variant_of(read_document(MY), "minmax")) == with_title
    assert experiment_of("minmax").title == ""
    write("more: {title: More claims, claims: []}")
    assert not load_config(MY).variants[0].reading


def test_criteria_are_compared_with_those_of_the_config() -> None:
    """What both have in common is not repeated."""
    ks = "{5-KS: {eta: 4}}, {10-KS: {eta: 4}}"
    write(f"less: {{criteria: [5-CV, {ks}, BR], splits: 3}}", "same: {criteria: [5-CV, 10-KS]}")
    less, same = load_config(MY).variants
    assert less.changes == "5-KS and 10-KS eta 4; with BR; without EP; 3 splits"
    assert same.changes == "without 5-KS, EP"
    write("power: {criteria: [5-CV, {5-KS: {eta: 2^1}}, 10-KS, EP]}")
    assert load_config(MY).variants[0].changes == ""


def test_many_data_sets_are_counted() -> None:
    write("few: {datasets: [sonar, heart]}", "many: {datasets: [a2a, sonar, heart, mg, mpg]}")
    few, many = load_config(MY).variants
    assert (few.changes, many.changes) == ("datasets sonar heart", "5 data sets")


def test_params_reach_every_criterion_that_has_them() -> None:
    write("all: {params: {eta: 4}}", "one: {params: {k-KS: {eta: 4}}}")
    assert experiment_of("all").labels == ("5-CV", "5-KS(eta=4)", "10-KS(eta=4)", "EP(eta=4)")
    assert experiment_of("one").labels == ("5-CV", "5-KS(eta=4)", "10-KS(eta=4)", "EP")
    assert load_config(MY).labels == ("5-CV", "5-KS(eta=2)", "10-KS", "EP")


def test_variants_do_not_change_the_protocol_of_the_main_results() -> None:
    """A folder without variants accepts them; the kept config names them and reads back equal."""
    write("minmax: {scale: minmax}")
    Path("plain.yaml").write_text(MY.read_text().partition("variants:")[0])
    assert protocol_text(read_document(MY)) == protocol_text(read_document(Path("plain.yaml")))
    kept = resolved(read_document(MY), Path())
    Path("kept.yaml").write_text(kept)
    again = read_document(Path("kept.yaml"))
    assert resolved(again, Path()) == kept
    other = variant_of(read_document(MY), "minmax")
    assert protocol_text(variant_of(again, "minmax")) == protocol_text(other)
    assert load_config(Path("kept.yaml")) == load_config(MY)


@pytest.mark.parametrize(
    ("variant", "said"),
    [
        ("a: {scal: minmax}", "my.yaml:10: variants.a.scal: no key that a variant can change; did you mean"),
        ("a: {scale: minmx}", "my.yaml:10: scale: unknown value 'minmx'; did you mean 'minmax'?"),
        ("a: {name: other}", "my.yaml:10: variants.a.name: no key that a variant can change"),
        ("a: {title: 4}", "my.yaml:10: variants.a.title: must be a text, not the number 4"),
        ("a: {params: 4}", "my.yaml:10: variants.a.params: must be a mapping, as in {eta: 4}, not the number 4"),
        ("a: {params: {zeta: 4}}", "my.yaml:10: variants.a.params.zeta: no criterion of this config takes zeta 4"),
        ("a: {params: {5-CV: {eta: 1}}}", "my.yaml:10: variants.a.params.5-CV: no criterion of this"),
        ("a: {params: {eta: -1}}", "my.yaml:10: criteria[1].5-KS.eta: eta must not be negative, not -1"),
        ("a: 3", "my.yaml:10: variants.a: must be a mapping, as in {key: value}, not the number 3"),
        ("../a: {scale: none}", "my.yaml:10: variants.../a: '../a' is not a plain folder name"),
    ],
)  # fmt: skip
def test_mistakes(variant: str, said: str) -> None:
    assert problem("fine: {scale: none}", variant).startswith(said)


def test_too_many_variants_are_refused() -> None:
    found = problem(*(f"v{i}: {{seed: {i}}}" for i in range(21)))
    assert found == "my.yaml:8: variants: 21 variants are too many: 20 at most"


def test_an_unknown_variant_is_named_with_the_nearest() -> None:
    write("minmax: {scale: minmax}")
    with pytest.raises(
        ConfigError, match=r"--variant: 'minmx' is not in my\.yaml; did you mean 'minmax'\?"
    ):
        experiment_of("minmx")


def test_a_config_without_variants_says_so() -> None:
    write("")
    path = Path("my.yaml")
    path.write_text(path.read_text().replace("variants:\n", ""))
    with pytest.raises(ConfigError, match=r"'foo' is not in my\.yaml, which has no variants$"):
        experiment_of("foo")


def test_switches_are_shown_as_in_a_config() -> None:
    """A switch is shown as in a config: ``false``, not Python's ``False``."""
    assert in_words({"svm": {"bias": False}}) == "svm bias false"
