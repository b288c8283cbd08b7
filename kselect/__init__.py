"""kselect: choosing a kernel machine's kernel and ridge, by the criteria of published papers."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"
ESTIMATORS = ("EdgeWarning", "KernelSelectClassifierCV", "KernelSelectRegressorCV", "ScaleWarning")


def __getattr__(name: str) -> Any:
    """The estimators, imported when they are asked for: the command line need not wait for scikit-learn."""
    if name == "read_table":
        from kselect.selection import own_data

        return own_data.read_table
    if name not in ESTIMATORS:
        raise AttributeError(f"module 'kselect' has no attribute {name!r}")
    from kselect.selection import estimator

    return getattr(estimator, name)
