"""``kselect show``: what a model file holds: its data, columns, choice, scores and relevances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from kselect.cli.flags import LOADED_PLUGIN, PATH
from kselect.cli.row_flags import rule_lines
from kselect.errors import DataError, brief, printable
from kselect.kernels.ard import FeatureWidths
from kselect.kernels.sums import Sum
from kselect.selection.model_file import read_model
from kselect.selection.saved_model import SavedFit, SavedModel

LISTED = 60
EPILOG = """\b
Examples:
  kselect show model.npz
"""


@click.command("show", epilog=EPILOG)
@click.argument("model", type=PATH)
@LOADED_PLUGIN
def show(model: Path) -> None:
    """Print what the model in MODEL is: its data, columns, choice, scores and relevances."""
    saved = read_model(model)
    try:
        lines = list(model_lines(saved))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        what = "a model file without the facts of its choice: fit the model again"
        raise DataError(f"{printable(model)}: {what}") from None
    for line in lines:
        click.echo(printable(line))


def model_lines(model: SavedModel) -> Iterator[str]:
    """Yield the lines: the model, its data, its choice and scores, its columns, its relevances."""
    choice, schema = model.choice, model.preparation.schema
    own = "".join(f" {name}={value}" for name, value in model.learner_params.items())
    yield f"{model.task}, written by kselect {model.kselect_version}"
    names = ", ".join(map(brief, schema.targets)) or "the labels of svmlight"
    yield f"target{'s' if len(schema.targets) > 1 else ''}: {names}"
    if model.classes:
        yield f"classes: {', '.join(map(brief, model.classes[:LISTED]))}"
    yield f"data: {choice['n']} rows, sha256 {choice['data_sha256']}"
    yield f"model: {model.learner}{own}, {candidate(model.fitted[0])}"
    if len(model.fitted) > 1:
        yield f"predicts by the mean of {len(model.fitted)} fits:"
        yield from (f"  {candidate(one)}" for one in model.fitted)
    params = "".join(f" {name}={value}" for name, value in choice["params"].items())
    yield f"chosen by {choice['criterion']}{params}, score {choice['best']['score']:.6g}, seed {choice['seed']}"
    yield from rule_lines(choice.get("rows", {}))
    yield from quality_lines(choice["held_out"], schema.targets)
    yield from (f"warning: {text}" for text in choice["warnings"])
    size = sum(one.alpha.size for one in model.fitted)
    yield f"coefficients: {size} on {len(model.support)} rows"
    if model.intervals:
        yield f"intervals: {model.intervals.name}"
    yield f"columns ({len(schema.columns)}), as {len(model.preparation.names)} features:"
    for spec in schema.columns[:LISTED]:
        yield f"  {brief(spec.name)}: {spec.kind}{f' ({spec.form})' if spec.form else ''}"
    if more := schema.columns[LISTED:]:
        yield f"  ... and {len(more)} more"
    yield from relevance_lines(model)
    yield from (f"read: {text}" for text in choice["decisions"])


def candidate(one: SavedFit) -> str:
    """Return ``gaussian kernel, tau = 4, lam = 0.01``; of a learned kernel lam only."""
    own = {} if isinstance(one.kernel, FeatureWidths | Sum) else one.kernel.parameters
    values = {**own, "lam": one.lam}.items()
    return f"{one.kernel.name} kernel, {', '.join(f'{k} = {v:.6g}' for k, v in values)}"


def quality_lines(held_out: Mapping[str, Any], targets: Sequence[str]) -> Iterator[str]:
    """Yield the held-out quality of the choice, and of each target if there are several."""
    yield (
        f"quality: {held_out['measure']} {held_out['value']:.4g} held out ({held_out['folds']} folds, "
        f"standard deviation {held_out['spread']:.2g}); trivial {held_out['trivial']:.4g}"
    )
    for name, value in zip(targets, held_out.get("each", ()), strict=False):
        yield f"  {held_out['measure']} {value:.4g} for {brief(name)}"


def relevance_lines(model: SavedModel) -> Iterator[str]:
    """Yield the relevance of each feature (its R2, or its share of all widths), or the weights of a sum."""
    if weights := model.choice.get("weights", ()):
        yield "weights:"
        yield from (f"  {one['weight']:10.4g}  {brief(one['kernel'])}" for one in weights[:LISTED])
    found = model.choice.get("relevances", ())
    if found:
        yield "relevances:"
    for one in found[:LISTED]:
        name = brief(model.preparation.names[one["feature"] - 1])
        value = f"{100 * one['share']:5.1f} %" if "share" in one else f"{one['relevance']:7.2g}"
        yield f"  {value}  {name}"
