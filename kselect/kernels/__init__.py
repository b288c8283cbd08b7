"""Kernels: one file each; the names here are the names in a config."""

from kselect.kernels.base import KERNELS, Kernel, Points, find_kernel

__all__ = ["KERNELS", "Kernel", "Points", "find_kernel"]
