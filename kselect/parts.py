"""Parts are found by looking into their folder: a new file there is registered without an edit elsewhere."""

from __future__ import annotations

import importlib
import pkgutil


def load_parts(package: str, path: list[str]) -> None:
    """Import every module of a parts folder, so that its decorators have run."""
    for module in sorted(m.name for m in pkgutil.iter_modules(path)):
        importlib.import_module(f"{package}.{module}")
