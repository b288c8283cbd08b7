"""Where a data set's file is: cache, embedded copy, mirror, LIBSVM site, in this order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kselect.datasets.dataset import Source
from kselect.datasets.registry import DataSetInfo
from kselect.errors import DataError

HERE = Path(__file__).resolve().parent
REPOSITORY_DATA = HERE.parents[1] / "data"
WAYS_OUT = "ways out: --mirror DIR|URL, 'kselect data fetch {name}', or --skip-missing"
ATTEMPTS = 3
TIMEOUT_SECONDS = 30


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


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def checked(path: Path, kind: str, expected: str) -> Source:
    """The file as a source, or a DataError that shows both sums."""
    try:
        found = file_sha256(path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
    if found != expected:
        raise DataError(f"{path}: wrong checksum: sha256 is {found}, the registry has {expected}")
    return Source(path, kind, found)


def resolve(info: DataSetInfo, places: Places) -> Source:
    """The first place that has the file; a DataError names every place that was tried."""
    tried: list[str] = []
    for place in (in_cache, in_package, in_mirror, on_site):
        try:
            if source := place(info, places, tried):
                return source
        except Unreachable as reason:
            tried.append(str(reason))
    ways = WAYS_OUT.format(name=info.name)
    raise DataError(f"{info.name}: no file to be had: {'; '.join(tried)}; {ways}")


class Unreachable(Exception):
    """A place could not be reached; the next one is tried."""


def in_cache(info: DataSetInfo, places: Places, tried: list[str]) -> Source | None:
    """``<cache>/<file>``, or ``<cache>/libsvm/<file>`` where the cache is laid out like a mirror."""
    for path in (places.cache / info.file, places.cache / "libsvm" / info.file):
        if path.is_file():
            return checked(path, "cache", info.sha256)
    tried.append(f"not in {places.cache}")
    return None


def in_package(info: DataSetInfo, places: Places, tried: list[str]) -> Source | None:
    """The copy under data/embedded."""
    if info.embedded and info.embedded_sha256:
        path = packaged("embedded") / info.embedded
        if path.is_file():
            return checked(path, "embedded", info.embedded_sha256)
    tried.append("no embedded copy")
    return None


def in_mirror(info: DataSetInfo, places: Places, tried: list[str]) -> Source | None:
    """``<mirror>/libsvm/<file>``: read in place from a folder, downloaded into the cache from a URL."""
    if places.mirror is None:
        tried.append("no --mirror given")
        return None
    if not is_url(places.mirror):
        path = Path(places.mirror) / "libsvm" / info.file
        if path.is_file():
            return checked(path, "mirror", info.sha256)
        tried.append(f"no {path}")
        return None
    if places.offline:
        raise Unreachable("--offline keeps from the mirror's URL")
    return download(f"{places.mirror.rstrip('/')}/libsvm/{info.file}", info, places.cache, "mirror")


def on_site(info: DataSetInfo, places: Places, tried: list[str]) -> Source | None:
    """The LIBSVM site."""
    if info.url is None:
        tried.append("no longer on the LIBSVM site")
        return None
    if places.offline:
        raise Unreachable("--offline keeps from the LIBSVM site")
    return download(info.url, info, places.cache, "site")


def is_url(place: str) -> bool:
    """Whether a mirror is reached over the network."""
    return place.startswith(("http://", "https://", "ftp://"))


def download(url: str, info: DataSetInfo, cache: Path, kind: str) -> Source:
    """The file in the cache, by pooch: a temporary name, the checksum, then moved; retried with back-off."""
    import pooch
    import requests

    sums: list[str] = []
    manager = pooch.create(
        path=cache,
        base_url="",
        registry={info.file: f"sha256:{info.sha256}"},
        urls={info.file: url},
        retry_if_failed=ATTEMPTS - 1,
    )
    pooch.get_logger().setLevel("ERROR")
    try:
        path = manager.fetch(info.file, downloader=summing_downloader(sums))
    except requests.exceptions.RequestException as error:
        raise Unreachable(f"{url}: {plain(error)} ({ATTEMPTS} attempts)") from None
    except ValueError:
        found = sums[-1] if sums else "unknown"
        raise DataError(
            f"{url}: wrong checksum: sha256 is {found}, the registry has {info.sha256}; nothing was kept"
        ) from None
    except OSError as error:
        raise DataError(f"{cache / info.file}: {error.strerror or error}") from None
    return Source(Path(path), kind, info.sha256)


def summing_downloader(sums: list[str]) -> Callable[[str, str, object], None]:
    """pooch's downloader, which notes the sum of what came; an answer such as 404 ends the attempts."""
    import pooch
    import requests

    fetch = pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS)

    def run(url: str, output: str, manager: object) -> None:
        try:
            fetch(url, output, manager)
        except requests.exceptions.HTTPError as error:
            if error.response is not None and 400 <= error.response.status_code < 500:
                status = f"{error.response.status_code} {error.response.reason}"
                raise Unreachable(f"{url}: answered {status}") from None
            raise
        sums.append(file_sha256(Path(output)))

    return run


def plain(error: Exception) -> str:
    """A network error in a few words."""
    names = {
        "ConnectionError": "cannot connect",
        "ConnectTimeout": "cannot connect in time",
        "ReadTimeout": "no answer in time",
        "ChunkedEncodingError": "the connection broke",
        "HTTPError": "the server failed",
    }
    return names.get(type(error).__name__, type(error).__name__)


def fetch_into_cache(info: DataSetInfo, places: Places) -> Source:
    """What ``kselect data fetch`` does: the original file, from the mirror or the site, into the cache."""
    tried: list[str] = []
    for place in (in_cache, in_mirror, on_site):
        try:
            source = place(info, places, tried)
        except Unreachable as reason:
            tried.append(str(reason))
            continue
        if source:
            return copied(source, info, places.cache)
    raise DataError(f"{info.name}: no file to be had: {'; '.join(tried)}")


def copied(source: Source, info: DataSetInfo, cache: Path) -> Source:
    """A source brought into the cache, under a temporary name first."""
    target = cache / info.file
    if source.kind == "cache" or source.path == target:
        return source
    from kselect.files import write_whole

    try:
        write_whole(target, source.path.read_bytes())
    except OSError as error:
        raise DataError(f"{target}: cannot write: {error.strerror}") from None
    return checked(target, source.kind, info.sha256)
