"""Choose the kernel and ridge of a kernel machine by the criteria of published papers.

The public names are loaded on first use, so that the command line starts without scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kselect.errors import check_system

if TYPE_CHECKING:
    from kselect.selection.own_data import read_table
    from kselect.selection.predictors import KernelSelectClassifierCV, KernelSelectRegressorCV
    from kselect.selection.sklearn_terms import EdgeWarning, ScaleWarning

__version__ = "1.0.0"
__all__ = [
    "EdgeWarning",
    "KernelSelectClassifierCV",
    "KernelSelectRegressorCV",
    "ScaleWarning",
    "__version__",
    "read_table",
]
MODULES = {
    "EdgeWarning": "sklearn_terms",
    "KernelSelectClassifierCV": "predictors",
    "KernelSelectRegressorCV": "predictors",
    "ScaleWarning": "sklearn_terms",
    "read_table": "own_data",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its module."""
    if name not in MODULES:
        raise AttributeError(f"module 'kselect' has no attribute {name!r}")
    check_system()
    return getattr(import_module(f"kselect.selection.{MODULES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
