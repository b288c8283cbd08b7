"""Find the file of a data set, and download it if no copy is on this machine.

The order is: cache, embedded copy, mirror, LIBSVM site. For a set of Raetsch's collection, the collection's own
file comes first, because it has the original splits. Every download has a size limit and a time limit.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

from kselect.datasets.content import file_error, read_content, sha256_of
from kselect.datasets.dataset import OwnInfo, Source
from kselect.datasets.registry import BENCHMARKS, DataSetInfo, load_registry
from kselect.errors import DataError, brief, printable
from kselect.files import read_regular, reason, remove_litter, write_whole
from kselect.packaged import REPOSITORY, packaged

if TYPE_CHECKING:
    from requests import Response

REPOSITORY_DATA = REPOSITORY / "data"
WAYS_OUT = (
    "ways out: --mirror DIR|URL, 'kselect data fetch {name}', or --skip-missing "
    "(with make: FLAGS='--offline --skip-missing')"
)

ATTEMPTS = 3
SOCKET_SECONDS = 30  # for a connection, and for each read from it
TOTAL_SECONDS = 300.0  # for all attempts together
CHUNK = 2**14
LONGEST_LENGTH = 18  # digits; a longer Content-Length is nonsense
# The class of an exception of requests -> what it means.
REASONS = {
    "ConnectionError": "cannot connect",
    "ConnectTimeout": "cannot connect in time",
    "ReadTimeout": "no answer in time",
    "ProxyError": "the proxy does not answer",
    "SSLError": "no secure connection",
    "TooManyRedirects": "redirected without end",
}


# --- downloading --------------------------------------------------------------------------------------


class Unreachable(Exception):
    """Why one place does not give the file; the next place is tried."""


class FailedAttempt(Exception):
    """Why one attempt to download a file failed; the next attempt may succeed."""


def redacted(url: str) -> str:
    """Return an address without its user and password, for messages."""
    # Up to the last @, since a password may contain any character: hiding too much is safe.
    return printable(re.sub(r"://.*@", "://***@", url, flags=re.DOTALL))


def download(url: str, info: DataSetInfo) -> bytes:
    """Return the bytes of a file after checking them.

    Raise a DataError if the file is too large or has another checksum, and Unreachable if no file comes.
    """
    shown, problem, found = redacted(url), "", ""
    deadline = monotonic() + TOTAL_SECONDS
    for attempt in range(ATTEMPTS):
        if attempt:
            sleep(attempt)
        try:
            content = in_time(lambda: get(url, shown, info.bytes or info.largest), deadline)
        except FailedAttempt as error:
            problem = str(error)
        except TimeoutError:
            raise Unreachable(f"{shown}: not done within {TOTAL_SECONDS:g} s") from None
        else:
            found = info.checksum_of(content)
            if found == info.checksum:
                return content
    if found:
        raise DataError(
            f"{shown}: wrong checksum: {info.checksum_kind} is {found}, the registry has {info.checksum}; "
            "nothing was kept"
        )
    raise Unreachable(f"{shown}: {problem} ({ATTEMPTS} attempts)")


def in_time(work: Callable[[], bytes], deadline: float) -> bytes:
    """Return the result of ``work``, run in a thread that is abandoned at the deadline.

    A socket's time-out starts again with every byte, so a slow server could otherwise keep us for ever.
    """
    future: Future[bytes] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # any error at all belongs to the waiting thread
            future.set_exception(error)

    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    threading.Thread(target=run, daemon=True).start()
    return future.result(left)


def get(url: str, shown: str, most: int) -> bytes:
    """Make one attempt to download at most ``most`` bytes."""
    import pooch

    body = Body(shown, most)
    plain_bytes = {"Accept-Encoding": "identity"}  # unpacking could fill the memory
    hooks = {"response": body.check_head}
    downloader = pooch.HTTPDownloader(
        chunk_size=CHUNK, timeout=SOCKET_SECONDS, headers=plain_bytes, hooks=hooks
    )
    try:
        downloader(url, body, None)
    except ValueError:  # raised by requests for a malformed address
        raise Unreachable(f"{shown}: not an address that can be asked") from None
    except OSError as error:  # the base class of all errors of requests
        name = type(error).__name__
        why = "the connection broke" if body.begun else REASONS.get(name, name)
        raise FailedAttempt(why) from None
    finally:
        if body.answer is not None:
            body.answer.close()
    if len(body.content) < body.promised:
        raise FailedAttempt("the connection broke")
    return bytes(body.content)


class Body:
    """The file that pooch writes a download to: in memory, and never larger than ``most`` bytes."""

    def __init__(self, shown: str, most: int) -> None:
        self.shown, self.most = shown, most
        self.content = bytearray()
        self.promised, self.begun = 0, False
        self.answer: Response | None = None

    def check_head(self, answer: Response, **_: object) -> None:
        """Refuse an answer with a bad status or header; requests calls this before it reads the body."""
        self.answer = answer
        if answer.is_redirect:
            answer.close()  # requests would read the body of the redirection, which may never end
            return
        if 400 <= answer.status_code < 500:
            raise Unreachable(f"{self.shown}: answered {answer.status_code} {brief(answer.reason)}")
        if answer.status_code >= 500:
            raise FailedAttempt("the server failed")
        encoding = answer.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            what = f"sends {brief(encoding)} where plain bytes were asked for"
            raise Unreachable(f"{self.shown}: {what}")
        length = answer.headers.get("Content-Length", "")
        if length.isdecimal() and len(length) <= LONGEST_LENGTH:
            self.promised = int(length)
        answer.headers["Content-Length"] = str(self.promised)  # pooch takes it for a number
        self.require(self.promised)
        self.begun = True

    def require(self, size: int) -> None:
        """Refuse a file that is larger than it can be."""
        if size > self.most:
            raise DataError(
                f"{self.shown}: too large: more than {self.most} bytes; nothing was kept"
            )

    def write(self, piece: bytes) -> None:
        """Keep the next piece of the body."""
        self.require(len(self.content) + len(piece))
        self.content += piece

    def flush(self) -> None:
        """Do nothing: pooch flushes its file after each piece."""


# --- the places of a file -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Places:
    """Where to look: the cache folder, an optional mirror (folder or URL), and whether to use the network."""

    cache: Path
    mirror: str | None = None
    offline: bool = False


def default_cache() -> Path:
    """Return ``data/cache`` in a clone of the repository, else the user's cache folder."""
    if REPOSITORY_DATA.is_dir():
        return REPOSITORY_DATA / "cache"
    import pooch

    return Path(pooch.os_cache("kselect"))


class Damaged(DataError):
    """A file that exists but cannot be used: it is unreadable, or its checksum is not the registry's."""

    def __init__(self, path: Path, what: str, more: str = "") -> None:
        super().__init__(f"{printable(path)}: {what}{more}")
        self.path, self.what = path, what


def checked(path: Path, kind: str, info: DataSetInfo) -> Source:
    """Return a file as a source, or raise a Damaged error that shows both checksums."""
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


def first_file(paths: Iterable[Path], kind: str, info: DataSetInfo) -> Source | None:
    """Return the first of these files that exists, checked."""
    return next((checked(path, kind, info) for path in paths if is_there(path)), None)


def is_there(path: Path) -> bool:
    """Return whether a file exists; raise Unreachable if its folder may not be searched."""
    try:
        return path.is_file()
    except OSError as error:
        raise Unreachable(f"{printable(path)}: {reason(error)}") from None


# Looks in one place: returns the file, or raises Unreachable with the reason for the final message
# (None: no reason worth showing).
Finder = Callable[[DataSetInfo, Places], Source | None]


def in_cache(info: DataSetInfo, places: Places) -> Source | None:
    """Look for ``<cache>/<file>``, or ``<cache>/libsvm/<file>`` in a cache that is laid out like a mirror."""
    paths = (places.cache / info.file, places.cache / info.place)
    if source := first_file(paths, "cache", info):
        return source
    raise Unreachable(f"not in {printable(places.cache)}")


def in_package(info: DataSetInfo, places: Places) -> Source | None:
    """Look for the copy in data/embedded."""
    if info.embedded and info.embedded_sha256:
        path = packaged("embedded") / info.embedded
        if source := first_file([path], "embedded", info):
            return source
    raise Unreachable("no embedded copy")


def in_mirror(info: DataSetInfo, places: Places) -> Source | None:
    """Read ``libsvm/<file>`` or ``raetsch/...`` from a mirror's folder, or download it from a mirror's URL."""
    if places.mirror is None:
        raise Unreachable("no --mirror given")
    if "://" not in places.mirror:
        path = Path(places.mirror) / info.place
        if source := first_file([path], "mirror", info):
            return source
        raise Unreachable(f"no {printable(path)}")
    if not places.mirror.lower().startswith(("http://", "https://")):
        raise Unreachable(f"--mirror {redacted(places.mirror)}: no folder, and not http or https")
    if places.offline:
        raise Unreachable("--offline excludes the mirror's URL")
    url = f"{places.mirror.rstrip('/')}/{info.place}"
    return kept(download(url, info), info, places.cache, "mirror")


def on_site(info: DataSetInfo, places: Places) -> Source | None:
    """Download from the LIBSVM site, or from the site of another collection."""
    of_libsvm = info.place.startswith("libsvm/")
    if info.url is None:
        raise Unreachable("no longer on the LIBSVM site" if of_libsvm else "on no site")
    if places.offline:
        raise Unreachable(f"--offline excludes {'the LIBSVM site' if of_libsvm else 'its site'}")
    return kept(download(info.url, info), info, places.cache, "site")


def original_in_cache(_: DataSetInfo, places: Places) -> Source | None:
    """Look for the file of Raetsch's collection in the cache."""
    return first_file([places.cache / BENCHMARKS.file], "original", BENCHMARKS)


def original_elsewhere(_: DataSetInfo, places: Places) -> Source | None:
    """Look for ``raetsch/benchmarks.mat`` or ``benchmarks.mat`` in a mirror's folder, or download it."""
    if places.mirror is not None and "://" not in places.mirror:
        paths = (Path(places.mirror) / folder / BENCHMARKS.file for folder in ("raetsch", ""))
        if source := first_file(paths, "original", BENCHMARKS):
            return source
    found = ask_for_original(places)
    if isinstance(found, str):
        raise Unreachable(found)
    return found


@cache
def ask_for_original(places: Places) -> Source | str:
    """Download the collection's file, or return the reason; asked only once for all of its sets."""
    if places.offline:
        return f"--offline excludes {BENCHMARKS.url}"
    try:
        content = download(str(BENCHMARKS.url), BENCHMARKS)
    except Unreachable as why:
        return str(why)
    return kept(content, BENCHMARKS, places.cache, "original")


# --- finding a file ---------------------------------------------------------------------------------------


def resolve(info: DataSetInfo, places: Places, ways_out: str = WAYS_OUT) -> Source:
    """Return the first file that is found; raise a DataError that names every place that was tried.

    A user's own file is at the path that the config names. ``ways_out`` tells the user what to do.
    """
    if isinstance(info, OwnInfo):
        try:
            found = sha256_of(read_regular(info.path, info.path.stat().st_size))
        except OSError as error:
            raise file_error(info.path, f"{reason(error)} ({info.name})") from None
        if found != info.sha256:
            what = f"wrong checksum: sha256 is {found}, the config has {info.sha256}"
            raise file_error(info.path, what)
        return Source(info.path, "own", found)
    if info.formula:
        return Source(Path(info.name), "generated", info.sha256)
    ways = f"; {ways_out.format(name=info.name)}"
    return first_of(info, places, (in_cache, in_package, in_mirror, on_site), ways)


def first_of(info: DataSetInfo, places: Places, order: tuple[Finder, ...], ways: str) -> Source:
    """Return the file of the first place that has one; a damaged file in the cache does not end the search."""
    if info.original:
        order = (original_in_cache, original_elsewhere, *(order if info.file else ()))
    tried: list[str] = []
    damaged: Damaged | None = None
    for find in order:
        try:
            if source := find(info, places):
                return source
        except Unreachable as why:
            tried.append(str(why))
        except Damaged as why:
            if find not in (in_cache, original_in_cache):
                raise
            damaged = why
    where = f"{'; '.join(tried)}{ways}"
    if damaged:
        raise Damaged(damaged.path, damaged.what, f"; no other copy found: {where}")
    raise DataError(f"{info.name}: no file found: {where}")


def kept(content: bytes, info: DataSetInfo, folder: Path, kind: str) -> Source:
    """Write checked bytes to the cache, as a whole file or not at all."""
    target = folder / info.file
    try:
        write_whole(target, content)
    except OSError as error:
        raise file_error(target, f"cannot write: {reason(error)}") from None
    return Source(target, kind, sha256_of(content))


def fetch_into_cache(info: DataSetInfo, places: Places) -> Source:
    """Bring the original file from the mirror or the site into the cache, for ``kselect data fetch``."""
    files = [entry.file for entry in load_registry().values() if "/" not in (entry.file or "/")]
    remove_litter(places.cache, [*files, BENCHMARKS.file])
    if info.formula:
        raise DataError(f"{info.name}: drawn from a formula, there is nothing to fetch")
    source = first_of(info, places, (in_cache, in_mirror, on_site), "")
    info = BENCHMARKS if source.kind == "original" else info
    if source.kind == "cache" or source.path == places.cache / info.file:
        return source
    content = read_content(source.path, info.largest, source.sha256)
    return kept(content, info, places.cache, source.kind)
