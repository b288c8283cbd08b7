"""Probes: what a figure looks at where a criterion has its best; one file each."""

from kselect.parts import load_parts
from kselect.probes.base import PROBES, find_probe

load_parts(__name__, list(__path__))

__all__ = ["PROBES", "find_probe"]
