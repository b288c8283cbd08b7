"""Compress the committed records of every packaged experiment into a wheel; hatchling calls it.

A wheel carries records.csv, seconds.csv and manifest.json of each experiment in configs/, exactly as they are in
results/, as ``kselect/packaged_data/results/<experiment>/<file>.xz``. ``kselect verify`` reads them. An editable
installation reads results/ itself.
"""

from __future__ import annotations

import lzma
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = ("records.csv", "seconds.csv", "manifest.json")
NOT_COMMITTED = {"quickstart"}
# The default of xz makes the wheel 0.5 MB smaller, but takes five times as long, and every installation from source
# builds a wheel.
PRESET = 2


def pack(root: Path, target: Path) -> int:
    """Write the compressed files of all experiments below ``target``; return their bytes."""
    size = 0
    for config in sorted((root / "configs").glob("*.yaml")):
        if config.stem in NOT_COMMITTED:
            continue
        for name in FILES:
            content = (root / "results" / config.stem / name).read_bytes()
            packed = lzma.compress(content, preset=PRESET)
            file = target / config.stem / f"{name}.xz"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(packed)
            size += len(packed)
    return size


class PackResults(BuildHookInterface):  # type: ignore[type-arg]
    """Add the compressed records to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compress the records, and ask hatchling to include them."""
        self.folder = Path(tempfile.mkdtemp())
        if version == "editable":
            return
        size = pack(Path(self.root), self.folder)
        self.app.display_info(f"records of the experiments: {size / 1e6:.2f} MB")
        build_data["force_include"][str(self.folder)] = "kselect/packaged_data/results"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the compressed copies."""
        shutil.rmtree(self.folder)
