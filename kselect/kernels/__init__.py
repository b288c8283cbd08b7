"""Kernels, registered under the names that configs use."""

from kselect.kernels.base import KERNELS, Kernel, Points

__all__ = ["KERNELS", "Kernel", "Points"]
