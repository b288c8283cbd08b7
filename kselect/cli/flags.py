"""Flags that several commands share: data places, parts of a config's table, and everything about a selection."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from kselect.cli.row_flags import ROW_FLAGS
from kselect.datasets.prepare import TableScale
from kselect.datasets.table.raw_table import TargetNames
from kselect.errors import ConfigError
from kselect.kernels import KERNELS
from kselect.kernels.weighted import POWER
from kselect.packaged import find_config
from kselect.plugins import load_plugin
from kselect.selection.candidates.agop import METRICS
from kselect.selection.columns import COLUMNS, USUAL_COLUMNS
from kselect.selection.defaults import AUTO, CLASS_LAM, CRITERION, ENSEMBLE, KERNEL, LAM, LEARNER
from kselect.selection.request import kernel_grids

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
PATH = click.Path(path_type=Path)


class ConfigPath(click.Path):
    """The argument CONFIG: a file, or the name of an experiment that comes with kselect."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path of the config."""
        return find_config(os.fspath(value))


CONFIG = ConfigPath()
COLUMN: dict[str, Any] = {"multiple": True, "metavar": "COLUMN"}
NAME: dict[str, Any] = {"multiple": True, "metavar": "NAME"}
COUNT = click.IntRange(min=1)


def target_names(
    context: click.Context, option: click.Parameter, names: tuple[str, ...]
) -> TargetNames:
    """Return the target that was named, or several; None without any."""
    distinct = tuple(dict.fromkeys(names))
    return distinct if len(distinct) > 1 else next(iter(distinct), None)


PLACE_FLAGS = (
    click.option(
        "--mirror",
        metavar="DIR|URL",
        envvar="KSELECT_MIRROR",
        help="Look for the LIBSVM files here, as libsvm/<file>. [env: KSELECT_MIRROR; default: none]",
    ),
    click.option("--offline", is_flag=True, help="Never use the network."),
    click.option(
        "--data-dir",
        metavar="DIR",
        envvar="KSELECT_DATA_DIR",
        help="Search this data folder first. [env: KSELECT_DATA_DIR; default: data/cache]",
    ),
)
COLUMN_FLAGS = (
    click.option(
        "-d", "--dataset", "datasets", **NAME, help="Use only this data set (repeatable)."
    ),
    click.option(
        "-c", "--criterion", "criteria", **NAME, help="Use only this criterion (repeatable)."
    ),
)
TABLE_FLAGS = (
    click.option(
        "--target",
        multiple=True,
        callback=target_names,
        metavar="COLUMN",
        help="Name the target column, or its number from 1; repeat it to learn several numeric targets together. "
        "[default: the last column]",
    ),
    click.option(
        "--task",
        type=click.Choice(["classification", "regression"]),
        help="Set the task. [default: inferred from the target]",
    ),
    click.option("--drop", **COLUMN, help="Drop this column (repeatable)."),
    click.option("--categorical", **COLUMN, help="Read this column as categories (repeatable)."),
    click.option("--numeric", **COLUMN, help="Read this column as numbers (repeatable)."),
    click.option(
        "--missing",
        type=click.Choice(["impute", "drop", "error"]),
        default="impute",
        show_default=True,
        help="Treat missing values: fill in the median or a category of their own; drop the row; stop.",
    ),
    click.option(
        "--scale",
        type=click.Choice(get_args(TableScale)),
        default="zscore",
        show_default=True,
        help="Scale the features: mean 0 and standard deviation 1, the range -1 to 1, or ranks mapped to a normal "
        "distribution.",
    ),
)
PART_FLAGS = (
    *(
        click.option(
            f"--{part}",
            default=default,
            show_default=True,
            help=f"Use this {part}; see kselect list {parts}.",
        )
        for part, parts, default in (
            ("learner", "learners", LEARNER),
            ("criterion", "criteria", CRITERION),
        )
    ),
    click.option(
        "--kernel",
        metavar="NAMES",
        default=KERNEL,
        show_default=True,
        help="Select among these kernels, with commas; see kselect list kernels. weighted-gaussian multiplies the "
        "features by powers of their relevance; auto is gaussian, laplacian and both weighted, or the kernel whose "
        "grid another flag gives.",
    ),
    click.option(
        "--ensemble",
        metavar="N",
        default=ENSEMBLE,
        show_default=True,
        help="Average the fits of the N best candidates within 5 % of the best score; auto is 10 for a regression, "
        "1 for a classification.",
    ),
)
SEARCH_FLAGS = (
    click.option(
        "--lam",
        metavar="GRID",
        default=AUTO,
        help=f"Search this grid of lam; the ridge is n lam. [default: auto, which is {LAM} or, for "
        f"classes, {CLASS_LAM}, and beyond if the choice lies on its boundary]",
    ),
    click.option(
        "--param",
        "params",
        multiple=True,
        metavar="NAME=VALUE",
        help="Set a parameter of the criterion or learner, such as eta=1 (repeatable).",
    ),
    click.option(
        "--folds",
        metavar="FILE",
        type=PATH,
        help="Read the folds from FILE, one fold number per row. [default: random folds]",
    ),
    click.option(
        "--ridge",
        type=click.Choice(["fixed", "per-fold"]),
        default="fixed",
        show_default=True,
        help="Keep the ridge n lam when m rows are held out, or use (n - m) lam.",
    ),
    click.option(
        "--loss",
        type=click.Choice(["zero-one", "squared", "hinge"]),
        help="Average this loss. [default: the learner's own: hinge for smooth-hinge, else squared]",
    ),
    click.option(
        "--scoring",
        metavar="NAME",
        help="Choose by this scorer of scikit-learn on the held-out predictions of k-CV, such as roc_auc, "
        "balanced_accuracy, neg_log_loss, neg_mean_absolute_error. [default: the loss]",
    ),
    click.option(
        "--search",
        type=click.Choice(["grid", "pruned"]),
        help="Score every candidate, or find only the minimum by bounds: k-CV with the learner's own loss, "
        "learners krr, lssvm, smooth-hinge; the rest is scored in full. "
        "[default: grid if --plot or --json shows the scores, else pruned]",
    ),
    click.option(
        "--nystrom",
        metavar="C",
        type=COUNT,
        help="Approximate the kernel matrix by C columns. [default: exact]",
    ),
    click.option(
        "--columns",
        type=click.Choice(COLUMNS),
        default=USUAL_COLUMNS,
        show_default=True,
        help="Draw the columns of --nystrom uniformly, or by what earlier ones leave of the kernel.",
    ),
    click.option(
        "--backend",
        type=click.Choice(["local", "dask"]),
        default="local",
        show_default=True,
        help="Work on this machine, or map over blocks of rows on a dask cluster (with --nystrom).",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Use a running dask scheduler, as in tcp://host:8786. [default: start one]",
    ),
    click.option(
        "--metric",
        type=click.Choice(METRICS),
        default="none",
        show_default=True,
        help="Add kernels whose metric is learned from the gradients of a first fit (agop).",
    ),
    click.option(
        "--time-limit",
        metavar="SECONDS",
        type=click.FloatRange(min=0.0, min_open=True),
        help="Look at no further kernel after this time, and say what was not looked at. [default: none]",
    ),
    click.option(
        "--seed", default=0, show_default=True, type=int, help="Seed the folds and columns."
    ),
    click.option(
        "-j", "--n-jobs", default=1, show_default=True, type=COUNT, help="Use this many threads."
    ),
)
POWER_FLAG = click.option(
    f"--{POWER}",
    metavar="GRID",
    help="Raise the relevances to these powers (weighted kernels). [default: weighted-gaussian 0.5, "
    "weighted-laplacian 0.5,1]",
)
PLUGIN = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="FILE.py",
    type=PATH,
    help="Load criteria, kernels or learners of your own from FILE.py (repeatable). [default: none]",
)


def load_named(_: click.Context, __: click.Parameter, paths: tuple[Path, ...]) -> None:
    """Load the plug-ins of a command that needs no config."""
    for path in paths:
        load_plugin(path)


# The same for commands without a config, where the plug-ins are loaded before other flags are checked.
LOADED_PLUGIN = click.option(
    "--plugin",
    multiple=True,
    metavar="FILE.py",
    type=PATH,
    is_eager=True,
    expose_value=False,
    callback=load_named,
    help="Load criteria, kernels or learners of your own from FILE.py (repeatable). [default: none]",
)
REPORT = click.option(
    "--report",
    metavar="FILE.html",
    type=PATH,
    help="Write a page about the choice; scores the whole grid, unless --search pruned. [default: no page]",
)
QUIET = click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")
SKIP_MISSING = click.option(
    "--skip-missing", is_flag=True, help="Leave out data sets without a file."
)
RESULTS_FOLDER = click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=PATH,
    help="Write the results to DIR. [default: results/<name>]",
)


def decorated(function: F, *flags: Callable[[F], F]) -> F:
    """Add flags to a command, the first on top of its help."""
    for decorate in reversed(flags):
        function = decorate(function)
    return function


def place_options(command: Callable[..., T]) -> Callable[..., T]:
    """Add ``--mirror``, ``--offline`` and ``--data-dir``; the command gets ``where``, the places to look at.

    Paths below the current folder are shown relative to it.
    """

    @wraps(command)
    def with_places(mirror: str | None, offline: bool, data_dir: str | None, **rest: Any) -> T:
        from kselect.datasets.fetch import Places, default_cache

        cache = Path(data_dir) if data_dir else default_cache()
        with suppress(ValueError):
            cache = cache.resolve().relative_to(Path.cwd())
        return command(where=Places(cache, mirror, offline), **rest)

    return decorated(with_places, *PLACE_FLAGS)


def column_options(function: F) -> F:
    """Add ``--dataset`` and ``--criterion``, each repeatable: parts of a config's table."""
    return decorated(function, *COLUMN_FLAGS)


class SelectionCommand(click.Command):
    """A command with the flags of a selection; the kernels of a plug-in add one flag per parameter of theirs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Load the plug-ins first, then parse as click does."""
        for i, word in enumerate(args):
            flag, equals, value = word.partition("=")
            if flag == "--plugin" and (equals or i + 1 < len(args)):
                load_plugin(Path(value if equals else args[i + 1]))
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the flags, including the flags of a plug-in's kernels."""
        params = super().get_params(ctx)
        known = {param.name for param in params}
        for parameter, grids in kernel_grids().items():
            if not KERNELS.plugins.keys() >= grids.keys():
                continue  # a parameter of the package's own kernels
            if parameter in known:
                name = next(iter(grids))
                raise ConfigError(
                    f"{KERNELS.location(name)}the parameter {parameter} of the kernel {name} has the name of a "
                    "flag of this command; choose another"
                )
            words = kernel_help(parameter, grids)
            params.insert(-1, click.Option([f"--{parameter}"], metavar="GRID", help=words))
        return params


def kernel_help(parameter: str, grids: Mapping[str, str]) -> str:
    """Return the help of the flag of a kernel parameter."""
    defaults = [
        "auto, from the distances between the rows"
        if "around" in vars(KERNELS.find(name))
        else f"{name} {grid}"
        for name, grid in grids.items()
    ]
    return f"Search this grid of {parameter} ({', '.join(grids)}). [default: {', '.join(defaults)}]"


def selection_options(function: F) -> F:
    """Add the argument FILE and the flags of a selection, with one flag per kernel parameter."""
    kernel_flags = [
        click.option(f"--{parameter}", metavar="GRID", help=kernel_help(parameter, grids))
        for parameter, grids in kernel_grids().items()
    ]
    flags = (*TABLE_FLAGS, *PART_FLAGS, *kernel_flags, POWER_FLAG)
    flags = (*flags, *SEARCH_FLAGS, *ROW_FLAGS, LOADED_PLUGIN)
    return click.argument("file", type=PATH)(decorated(function, *flags))
