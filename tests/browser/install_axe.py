"""Install axe-core from npm into a folder: ``python install_axe.py FOLDER``; its checksum is pinned here."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from base64 import b64decode
from pathlib import Path

PACKAGE = "axe-core@4.14.1"
SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
MEMBER = "package/axe.min.js"
SECONDS = 90


def main(folder: Path) -> str:
    """Return what is wrong, or an empty text; a tool that is missing makes a skip of the tests, not a failure."""
    if (folder / "axe.min.js").is_file():
        return ""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed, so the tests with axe-core are skipped"
    with tempfile.TemporaryDirectory() as name:
        command = [npm, "pack", PACKAGE, "--pack-destination", name, "--silent"]
        try:
            subprocess.run(command, check=True, timeout=SECONDS, capture_output=True, cwd=name)
        except (subprocess.SubprocessError, OSError) as error:
            return f"npm cannot fetch {PACKAGE} ({error}), so the tests with axe-core are skipped"
        (archive,) = Path(name).glob("*.tgz")
        content = archive.read_bytes()
        if hashlib.sha512(content).digest() != b64decode(SHA512):
            raise SystemExit(f"error: {PACKAGE}: its checksum is not the one in {__file__}")
        with tarfile.open(archive) as packed:
            member = packed.extractfile(MEMBER)
            assert member is not None
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "axe.min.js").write_bytes(member.read())
    return ""


if __name__ == "__main__":
    sys.stderr.write("".join(f"{text}\n" for text in [main(Path(sys.argv[1]))] if text))
