"""Where a data set's file is: cache, embedded copy, mirror, LIBSVM site, in this order.

A set of Raetsch's collection is looked for in the collection's own file first, which has the original splits.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kselect.datasets.content import read_content, sha256_of
from kselect.datasets.dataset import Source
from kselect.datasets.download import Unreachable, download, redacted
from kselect.datasets.registry import BENCHMARKS, DataSetInfo, load_registry
from kselect.errors import DataError, printable
from kselect.files import read_regular, reason, remove_litter, write_whole

HERE = Path(__file__).resolve().parent
REPOSITORY_DATA = HERE.parents[1] / "data"
WAYS_OUT = "ways out: --mirror DIR|URL, 'kselect data fetch {name}', or --skip-missing"
POOCH_TEMPORARY = re.compile(r"tmp[a-z0-9_]{8}")
POOCH_SECONDS = 3600


@dataclass(frozen=True)
class Places:
    """Where to look: the cache folder, an optional mirror (folder or URL), or no network at all."""

    cache: Path
    mirror: str | None = None
    offline: bool = False


def default_cache() -> Path:
    """``data/cache`` in a clone of the repository, else the user's cache folder."""
    if REPOSITORY_DATA.is_dir():
        return REPOSITORY_DATA / "cache"
    import pooch

    return Path(pooch.os_cache("kselect"))


def packaged(kind: str) -> Path:
    """``data/<kind>`` of the repository, or the copy that an installed package carries."""
    inside = HERE.parent / "packaged_data" / kind
    return inside if inside.is_dir() else REPOSITORY_DATA / kind


class Damaged(DataError):
    """A file that is there and cannot be used: other bytes than the registry's, or unreadable."""

    def __init__(self, path: Path, what: str, more: str = "") -> None:
        super().__init__(f"{printable(path)}: {what}{more}")
        self.path, self.what = path, what


def checked(path: Path, kind: str, info: DataSetInfo) -> Source:
    """The file as a source, or a Damaged that shows both sums."""
    try:
        content = read_regular(path, info.largest)
    except OSError as error:
        raise Damaged(path, f"cannot be read: {reason(error)}") from None
    found, expected, how = info.checksum_of(content), info.checksum, info.checksum_kind
    if kind == "embedded":
        found, expected = sha256_of(content), str(info.embedded_sha256)
    if found != expected:
        raise Damaged(path, f"wrong checksum: {how} is {found}, the registry has {expected}")
    return Source(path, kind, sha256_of(content))


def is_there(path: Path) -> bool:
    """Whether a file is there; a folder that may not be looked into is Unreachable."""
    try:
        return path.is_file()
    except OSError as error:
        raise Unreachable(f"{printable(path)}: {reason(error)}") from None


Place = Callable[[DataSetInfo, Places, list[str]], Source | None]


def resolve(info: DataSetInfo, places: Places) -> Source:
    """The first place that has the file; a DataError names every place that was tried."""
    order: tuple[Place, ...] = (in_cache, in_package, in_mirror, on_site)
    if info.formula:
        order = (by_formula,)
    elif info.original:
        order = (*ORIGINAL, *(order if info.file else ()))
    return first_of(info, places, order, f"; {WAYS_OUT.format(name=info.name)}")


def first_of(info: DataSetInfo, places: Places, order: Iterable[Place], ways: str) -> Source:
    """The source of the first place that has one; a damaged file in the cache does not stop the search."""
    tried: list[str] = []
    damaged: Damaged | None = None
    for place in order:
        try:
            if source := place(info, places, tried):
                return source
        except Unreachable as why:
            tried.append(str(why))
        except Damaged as why:
            if place not in (in_cache, original_in_cache):
                raise
            damaged = why
    places_tried = f"{'; '.join(tried)}{ways}"
    if damaged:
        more = f"; no other file to be had: {places_tried}"
        raise Damaged(damaged.path, damaged.what, more)
    raise DataError(f"{info.name}: no file to be had: {places_tried}")


def in_cache(info: DataSetInfo, places: Places, tried: list[str]) -> Source | None:
    """``<cache>/<file>``, or ``<cache>/libsvm/<file>`` where the cache is laid out like a mirror."""
    for path in (places.cache / info.file, places.cache / info.place):
        if is_there(path):
            return checked(path, "cache", info)
    tried.append(f"not in {printable(places.cache)}")
    return None


def in_package(info: DataSetInfo, places: Places, tried: list[str]) -> Source | None:
    """The copy under data/embedded."""
    if info.embedded and info.embedded_sha256:
        path = packaged("embedded") / info.embedded
        if is_there(path):
            return checked(path, "embedded", info)
    tried.append("no embedded copy")
    return None


def in_mirror(info: DataSetInfo, places: Places, tried: list[str]) -> Source | None:
    """``<mirror>/libsvm/<file>``, or ``raetsch/...``: read in place from a folder, downloaded from a URL."""
    if places.mirror is None:
        tried.append("no --mirror given")
        return None
    if "://" not in places.mirror:
        path = Path(places.mirror) / info.place
        if is_there(path):
            return checked(path, "mirror", info)
        tried.append(f"no {printable(path)}")
        return None
    if not is_url(places.mirror):
        raise Unreachable(f"--mirror {redacted(places.mirror)}: no folder, and not http or https")
    if places.offline:
        raise Unreachable("--offline keeps from the mirror's URL")
    url = f"{places.mirror.rstrip('/')}/{info.place}"
    return kept(download(url, info), info, places.cache, "mirror")


def on_site(info: DataSetInfo, places: Places, tried: list[str]) -> Source | None:
    """The LIBSVM site, or the one that a file of another collection is on."""
    site = "the LIBSVM site" if info.place.startswith("libsvm/") else "its site"
    if info.url is None:
        gone = "no longer on the LIBSVM site" if site != "its site" else "on no site"
        tried.append(gone)
        return None
    if places.offline:
        raise Unreachable(f"--offline keeps from {site}")
    return kept(download(info.url, info), info, places.cache, "site")


def by_formula(info: DataSetInfo, places: Places, tried: list[str]) -> Source | None:
    """Rows that are drawn, not read."""
    return Source(Path(info.name), "generated", info.sha256)


def original_in_cache(info: DataSetInfo, places: Places, tried: list[str]) -> Source | None:
    """The collection's file in the cache."""
    path = places.cache / BENCHMARKS.file
    return checked(path, "original", BENCHMARKS) if is_there(path) else None


def original_in_mirror(info: DataSetInfo, places: Places, tried: list[str]) -> Source | None:
    """That of a folder, ``<mirror>/raetsch/benchmarks.mat`` or at its top."""
    if places.mirror is None or "://" in places.mirror:
        return None
    folder = Path(places.mirror)
    for path in (folder / "raetsch" / BENCHMARKS.file, folder / BENCHMARKS.file):
        if is_there(path):
            return checked(path, "original", BENCHMARKS)
    return None


def original_on_site(info: DataSetInfo, places: Places, tried: list[str]) -> Source | None:
    """The repository that has the collection's file; asked once, for all of its sets."""
    found = ask_for_original(places)
    if isinstance(found, str):
        raise Unreachable(found)
    return found


@cache
def ask_for_original(places: Places) -> Source | str:
    """The collection's file from its site, or why there is none."""
    if places.offline:
        return f"--offline keeps from {BENCHMARKS.url}"
    try:
        content = download(str(BENCHMARKS.url), BENCHMARKS)
    except Unreachable as why:
        return str(why)
    return kept(content, BENCHMARKS, places.cache, "original")


ORIGINAL: tuple[Place, ...] = (original_in_cache, original_in_mirror, original_on_site)


def is_url(place: str) -> bool:
    """Whether a mirror is reached over the network."""
    return place.lower().startswith(("http://", "https://"))


def kept(content: bytes, info: DataSetInfo, cache: Path, kind: str) -> Source:
    """Bytes with the right sum as a file of the cache, whole or not at all."""
    target = cache / info.file
    try:
        write_whole(target, content)
    except OSError as error:
        raise DataError(f"{printable(target)}: cannot write: {reason(error)}") from None
    return Source(target, kind, sha256_of(content))


def fetch_into_cache(info: DataSetInfo, places: Places) -> Source:
    """What ``kselect data fetch`` does: the original file, from the mirror or the site, into the cache."""
    tidy(places.cache)
    if info.formula:
        raise DataError(f"{info.name}: drawn from a formula, there is nothing to fetch")
    order: tuple[Place, ...] = (in_cache, in_mirror, on_site)
    if info.original:
        order = (*ORIGINAL, *(order if info.file else ()))
    source = first_of(info, places, order, "")
    info = BENCHMARKS if source.kind == "original" else info
    if source.kind == "cache" or source.path == places.cache / info.file:
        return source
    content = read_content(source.path, info.largest)
    if sha256_of(content) != source.sha256:
        raise DataError(f"{printable(source.path)}: changed while it was copied")
    return kept(content, info, places.cache, source.kind)


def tidy(cache: Path) -> None:
    """Delete what killed calls left in the cache.

    pooch, which earlier versions used, leaves names that may be anybody's: they go from a cache of our own
    alone, and not while somebody could still be writing.
    """
    files = [info.file for info in load_registry().values() if "/" not in (info.file or "/")]
    remove_litter(cache, [*files, BENCHMARKS.file])
    with suppress(OSError):
        if cache.resolve() != default_cache().resolve():
            return
        for path in cache.iterdir():
            old = time.time() - path.lstat().st_mtime > POOCH_SECONDS
            if old and path.is_file() and POOCH_TEMPORARY.fullmatch(path.name):
                path.unlink()
