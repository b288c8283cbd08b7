"""The files that an installed package carries: configs, papers, data sets and committed results.

In a clone of the repository they are in its folders; a wheel has copies below ``packaged_data``, with the results
compressed.
"""

from __future__ import annotations

import lzma
import os
from contextlib import suppress
from pathlib import Path

from kselect.errors import ConfigError, nearest, quoted

PACKAGE = Path(__file__).resolve().parent
REPOSITORY = PACKAGE.parent
FOLDERS = {
    "embedded": "data/embedded",
    "published": "data/published",
    "configs": "configs",
    "results": "results",
}
COMPRESSED = ".xz"


def packaged(kind: str) -> Path:
    """Return a folder inside an installed package, or the folder of the repository that it is a copy of."""
    inside = PACKAGE / "packaged_data" / kind
    return inside if inside.is_dir() else REPOSITORY / FOLDERS[kind]


def read_packed(path: Path) -> bytes:
    """Return the bytes of a packaged file, which a wheel carries compressed; raise OSError if it is unreadable."""
    packed = path.with_name(path.name + COMPRESSED)
    if not packed.is_file():
        return path.read_bytes()
    try:
        return lzma.decompress(packed.read_bytes())
    except (lzma.LZMAError, EOFError):
        raise OSError(None, "damaged; install kselect again", str(packed)) from None


def experiments() -> dict[str, Path]:
    """Return the name of each experiment that comes with kselect, and its config."""
    paths = {path.stem: path for path in packaged("configs").glob("*.yaml")}
    return dict(sorted(paths.items()))


def find_config(written: str) -> Path:
    """Return the config file that a user means: a file, or the name of an experiment that comes with kselect.

    A file wins over a name. A folder does not: no config is a folder, and results/ has one per experiment.
    """
    path, known = Path(written), experiments()
    folder = os.path.isdir(written)
    if os.path.exists(written) and not folder:
        return path
    if written in known:
        found = known[written]
        with suppress(ValueError):
            found = found.relative_to(Path.cwd())
        return found
    if folder:
        return path  # whoever reads it reports what it is
    if path.name == written and not path.suffix:
        hint = nearest(written, known)
        raise ConfigError(f"{quoted(written)}: no file, and no experiment of kselect{hint}")
    if path.stem in known:
        raise ConfigError(f"{written}: no such file; did you mean {quoted(path.stem)}?")
    return path
