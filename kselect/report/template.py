"""The HTML of pages: templates, the files that a page links to or contains, and its Content-Security-Policy."""

from __future__ import annotations

import mimetypes
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kselect.core.table import Measure, Noted

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent
# The words of a link to a file, by the end of its name.
KINDS = {"csv": "CSV", "tex": "LaTeX", "md": "Markdown", "pdf": "PDF", "svg": "SVG", "png": "PNG"}
# The shape of each verdict, for readers who do not see its colour.
SHAPES = {
    "supported": "\N{HEAVY CHECK MARK}",
    "mixed": "\N{CIRCLE WITH LEFT HALF BLACK}",
    "not supported": "\N{BALLOT X}",
    "within 2": "\N{HEAVY CHECK MARK}",
    "2 to 4": "\N{CIRCLE WITH LEFT HALF BLACK}",
    "beyond 4": "\N{BALLOT X}",
}
# A format that one page need not contain a second time; the picture itself is its SVG.
LINKED_ONLY = (".png", ".svg")
TYPES = {".md": "text/markdown", ".tex": "application/x-tex", ".yaml": "text/yaml"}


@dataclass(frozen=True)
class Links:
    """The files that a page links to, below the folder of the page; without a folder it links to no file.

    A ``standalone`` page contains them; they may also be ``contents`` that are not written to any folder.
    """

    folder: Path | None = None
    standalone: bool = False
    contents: Mapping[str, str | bytes] = field(default_factory=dict)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if the file does not exist."""
        if (known := self.contents.get(name)) is not None:
            return known.encode() if isinstance(known, str) else known
        path = self.folder / name if self.folder and name else None
        return path.read_bytes() if path and path.is_file() else None

    def url(self, name: str) -> str:
        """Return the address of a file; an empty text if the file does not exist."""
        if not self.standalone:
            return name if self.folder and name and (self.folder / name).is_file() else ""
        content = None if name.endswith(LINKED_ONLY) else self.read(name)
        return "" if content is None else data_uri(content, media_type(name))

    def picture(self, name: str, svg: bytes) -> str:
        """Return the address of a picture: its file if it exists, or the picture itself."""
        address = "" if self.standalone else self.url(f"figures/{name}.svg")
        return address or data_uri(svg, "image/svg+xml")

    def downloads(self, names: Iterable[str]) -> list[tuple[str, str, str]]:
        """Return the kind, the file name and the address of each file that exists."""
        found = ((Path(name), self.url(name)) for name in names)
        return [(describe_file(path), path.name, address) for path, address in found if address]


def describe_file(path: Path) -> str:
    """Return the words of a link to a file: its format, and the width of a narrow figure."""
    narrow = " for one column" if path.stem.endswith("-narrow") else ""
    return KINDS[path.suffix[1:]] + narrow


def media_type(name: str) -> str:
    """Return the type of a file from its name."""
    suffix = Path(name).suffix
    return TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "text/plain"


def data_uri(content: bytes, media: str) -> str:
    """Return an address that contains the content."""
    return f"data:{media};base64,{b64encode(content).decode()}"


def policy(scripts: Iterable[str], more: str = "") -> str:
    """Return the Content-Security-Policy of a page: its own style and scripts, with their hashes, and pictures.

    ``more`` names the source of the scripts that are loaded later. Nothing else is loaded, and nothing is sent.
    """
    allowed = " ".join([*map(hash_source, scripts), *([more] if more else [])])
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {allowed}",
            f"style-src {hash_source(environment().globals['style'])}",
            "img-src 'self' data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def hash_source(text: Any) -> str:
    """Return the hash of an element's text, as a policy names it."""
    return f"'sha256-{b64encode(sha256(str(text).encode()).digest()).decode()}'"


def render(template: str, later: str = "", data: Iterable[str] = (), **values: Any) -> str:
    """Return a page; ``data`` are scripts that it contains, ``later`` the source of those that it loads."""
    script, contained = str(environment().globals["script"]), list(data)
    content_policy = policy([script, *contained], later)
    page = environment().get_template(template)
    return page.render(policy=content_policy, data=contained, **values)


@cache
def environment() -> Environment:
    """Return the templates of this folder; all texts are escaped, and an unknown name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name, file in (("style", "style.css"), ("script", "script.js")):
        found.globals[name] = (HERE / file).read_text(encoding="utf-8")
    found.globals["shape"] = lambda verdict: SHAPES.get(verdict, "\N{WHITE CIRCLE}")
    found.filters["kind"] = lambda element: type(element).__name__.lower()
    found.tests["noted"] = lambda value: isinstance(value, Noted)
    found.tests["measure"] = lambda value: isinstance(value, Measure)
    return found
