"""Kernels, registered under the names that configs use."""

from kselect.kernels.base import KERNELS, Kernel, Points, find_kernel

__all__ = ["KERNELS", "Kernel", "Points", "find_kernel"]
