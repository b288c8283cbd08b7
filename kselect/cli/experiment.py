"""A config as the commands read it: with every kind of figure that there is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kselect.config.load import Loaded, load, load_config
from kselect.model.experiment import Experiment
from kselect.report.sections import FIGURES

RESULTS = Path("results")


def read_experiment(
    path: Path, overrides: Mapping[str, object], output: Path | None = None
) -> Loaded:
    """What flags leave of a config, and the whole that its results folder is gathered under."""
    return load(path, FIGURES, overrides, lambda asked: output or default_folder(asked))


def default_folder(experiment: Experiment) -> Path:
    """``results/<name>``."""
    return RESULTS / experiment.name


def kept_experiment(folder: Path) -> Experiment:
    """The experiment that a results folder keeps."""
    return load_config(folder / "config.resolved.yaml", FIGURES)
