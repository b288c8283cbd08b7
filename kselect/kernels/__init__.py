"""Kernels: one file each; the names here are the names in a config."""

from kselect.kernels.base import KERNELS, Kernel, Points, find_kernel
from kselect.parts import load_parts

load_parts(__name__, list(__path__))

__all__ = ["KERNELS", "Kernel", "Points", "find_kernel"]
