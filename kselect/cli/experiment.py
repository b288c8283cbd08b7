"""A config as the commands read it: with every kind of figure that there is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kselect.config.load import Loaded, load, load_config
from kselect.core.experiment import Experiment
from kselect.report.sections import FIGURES

RESULTS = Path("results")
KEPT = "config.resolved.yaml"
VARIANTS = "variants"


def read_experiment(
    path: Path, overrides: Mapping[str, object], output: Path | None = None, variant: str = ""
) -> Loaded:
    """What flags leave of a config or its variant, and the whole that its results folder is gathered under."""

    def folder(asked: Experiment) -> Path:
        return results_folder(asked, output, variant)

    return load(path, FIGURES, overrides, folder, variant)


def results_folder(experiment: Experiment, output: Path | None = None, variant: str = "") -> Path:
    """``results/<name>`` or what the flag says; below it ``variants/<variant>``."""
    main = output or RESULTS / experiment.name
    return main / VARIANTS / variant if variant else main


def kept_experiment(folder: Path) -> Experiment:
    """The experiment that a results folder keeps."""
    return load_config(folder / KEPT, FIGURES)
