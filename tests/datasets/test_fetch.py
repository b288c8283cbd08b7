"""Files from caches, folders and an HTTP server with correct, wrong, truncated or missing answers."""

from __future__ import annotations

import gzip
import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from experiments import message_of, start, started_in, until
from servers import (
    Answer,
    Server,
    break_off,
    endless,
    raw,
    registry_hook,
    serve,
    slowly,
    toy_files,
    write_registry,
)

from kselect.datasets import fetch as module
from kselect.datasets import registry
from kselect.datasets.content import sha256_of
from kselect.datasets.dataset import read_dataset
from kselect.datasets.fetch import (
    ATTEMPTS,
    Places,
    Unreachable,
    default_cache,
    download,
    fetch_into_cache,
    redacted,
    resolve,
)
from kselect.datasets.registry import DataSetInfo, find_dataset
from kselect.errors import DataError
from kselect.packaged import packaged

CONTENT = b"-1 1:0.5 2:1\n1 2:-3\n1 1:2\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
INFO = DataSetInfo(
    name="toy",
    task="classification",
    rows=3,
    features=2,
    labels={"-1": -1, "1": 1},
    file="toy_scale",
    folder="binary",
    sha256=SHA256,
)

GOOD, GONE = serve(CONTENT), serve(b"", 404)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Yield a mirror; the LIBSVM site is the same server, under ``/site``."""
    found = Server(GOOD)
    monkeypatch.setattr(registry, "SITE", f"{found.url}/site")
    yield found
    found.close()


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the waits between attempts instead of sleeping."""
    waits: list[float] = []
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(module, "sleep", waits.append)
    return waits


def files(folder: Path) -> list[str]:
    """Return every file below a folder."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def mirror_folder(folder: Path, content: bytes = CONTENT) -> Path:
    """Return a folder with the layout of a mirror."""
    path = folder / "libsvm" / INFO.file
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return folder


def test_download_and_cache(tmp_path: Path, server: Server) -> None:
    places = Places(tmp_path / "cache", f"{server.url}/")
    source = resolve(INFO, places)
    assert (source.kind, source.sha256) == ("mirror", SHA256)
    assert source.path == tmp_path / "cache" / "toy_scale"
    assert server.asked == ["/libsvm/toy_scale"]
    assert read_dataset(INFO, source).y.tolist() == [-1, 1, 1]
    again = resolve(INFO, places)
    assert again.kind == "cache"
    assert len(server.asked) == 1
    assert files(tmp_path) == ["cache/toy_scale"]


def test_wrong_checksum(tmp_path: Path, server: Server) -> None:
    server.answers = [serve(b"1 1:1\n")]
    text = message_of(DataError, resolve, INFO, Places(tmp_path / "cache", server.url))
    assert f"{server.url}/libsvm/toy_scale: wrong checksum" in text
    assert hashlib.sha256(b"1 1:1\n").hexdigest() in text
    assert SHA256 in text
    assert files(tmp_path) == []


def test_not_found_tries_the_next_place_at_once(
    tmp_path: Path, server: Server, naps: list[float]
) -> None:
    server.answers = [GONE, GOOD]
    assert resolve(INFO, Places(tmp_path, server.url)).kind == "site"
    assert server.asked == ["/libsvm/toy_scale", "/site/binary/toy_scale"]
    assert naps == []


def test_not_found_anywhere(tmp_path: Path, server: Server) -> None:
    server.answers = [GONE]
    text = message_of(DataError, resolve, INFO, Places(tmp_path, server.url))
    assert "\n" not in text
    assert f"{server.url}/libsvm/toy_scale: answered 404" in text
    assert f"{server.url}/site/binary/toy_scale: answered 404" in text
    assert "--skip-missing (with make: FLAGS='--offline --skip-missing')" in text
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    "bad", [break_off, serve(CONTENT[:9], promised=len(CONTENT)), serve(b"", 503)]
)
def test_failures_are_retried_with_growing_waits(
    tmp_path: Path, server: Server, naps: list[float], bad: Answer
) -> None:
    server.answers = [bad, bad, GOOD]
    assert resolve(INFO, Places(tmp_path, server.url)).kind == "mirror"
    assert len(server.asked) == 3
    assert naps == sorted(naps)
    assert naps[0] < naps[1]
    assert files(tmp_path) == ["toy_scale"]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (break_off, "cannot connect"),
        (serve(CONTENT[:9], promised=len(CONTENT)), "the connection broke"),
        (serve(b"", 503), "the server failed"),
    ],
)
def test_retries_are_limited(tmp_path: Path, server: Server, bad: Answer, why: str) -> None:
    server.answers = [bad] * ATTEMPTS + [GOOD]
    assert resolve(INFO, Places(tmp_path / "good", server.url)).kind == "site"
    server.answers = [bad]
    with pytest.raises(DataError, match=rf"{why} \({ATTEMPTS} attempts\)") as caught:
        resolve(INFO, Places(tmp_path / "bad", server.url))
    assert "\n" not in str(caught.value)
    assert files(tmp_path) == ["good/toy_scale"]


def test_unreachable(tmp_path: Path, server: Server) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert resolve(INFO, Places(tmp_path, dead)).kind == "site"


@pytest.mark.parametrize("mirror", ["http://", "http://127.0.0.1:99999", "https://:1"])
def test_invalid_mirror_addresses(tmp_path: Path, server: Server, mirror: str) -> None:
    server.answers = [GONE]
    with pytest.raises(DataError, match="no file found"):
        resolve(INFO, Places(tmp_path, mirror))


def test_offline_sends_no_request(tmp_path: Path, server: Server) -> None:
    with pytest.raises(DataError, match="--offline"):
        resolve(INFO, Places(tmp_path, server.url, offline=True))
    assert server.asked == []


def test_a_folder_is_read_in_place(tmp_path: Path, server: Server) -> None:
    mirror = mirror_folder(tmp_path / "mirror")
    source = resolve(INFO, Places(tmp_path / "cache", str(mirror), offline=True))
    assert source.path == mirror / "libsvm/toy_scale"
    assert source.kind == "mirror"
    assert files(tmp_path) == ["mirror/libsvm/toy_scale"]


def test_the_order_of_places(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each place is used once the places before it have lost the file."""
    embedded = tmp_path / "embedded"
    embedded.mkdir()
    (embedded / "toy.svm").write_bytes(CONTENT)
    monkeypatch.setattr("kselect.datasets.fetch.packaged", lambda kind: tmp_path / kind)
    info = replace(INFO, embedded="toy.svm", embedded_sha256=SHA256)
    mirror = mirror_folder(tmp_path / "mirror")
    cache = mirror_folder(tmp_path / "cache")
    (cache / "toy_scale").write_bytes(CONTENT)
    places = Places(cache, str(mirror))

    def found() -> tuple[str, str]:
        source = resolve(info, places)
        return source.kind, str(source.path.relative_to(tmp_path))

    order = []
    for _ in range(5):
        kind, path = found()
        order.append((kind, path))
        (tmp_path / path).unlink()
    assert order == [
        ("cache", "cache/toy_scale"),
        ("cache", "cache/libsvm/toy_scale"),
        ("embedded", "embedded/toy.svm"),
        ("mirror", "mirror/libsvm/toy_scale"),
        ("site", "cache/toy_scale"),
    ]


@pytest.mark.parametrize(
    "place", ["cache/toy_scale", "cache/libsvm/toy_scale", "mirror/libsvm/toy_scale"]
)
def test_a_wrong_file_is_refused_and_named(tmp_path: Path, server: Server, place: str) -> None:
    """A wrong file is refused and named if there is no other copy."""
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_bytes(b"something else")
    places = Places(tmp_path / "cache", str(tmp_path / "mirror"), offline=True)
    text = message_of(DataError, resolve, INFO, places)
    assert text.startswith(f"{path}: wrong checksum")
    assert hashlib.sha256(b"something else").hexdigest() in text
    assert SHA256 in text
    assert server.asked == []


@pytest.mark.parametrize("damage", [b"something else", b"", b"x" * 10**6])
@pytest.mark.parametrize("way", ["mirror", "folder", "site"])
def test_a_damaged_cached_file_is_fetched_again(
    tmp_path: Path, server: Server, damage: bytes, way: str
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "toy_scale").write_bytes(damage)
    mirror = str(mirror_folder(tmp_path / "folder")) if way == "folder" else server.url
    places = Places(cache, None if way == "site" else mirror)
    source = fetch_into_cache(INFO, places)
    assert source.path == cache / "toy_scale"
    assert source.path.read_bytes() == CONTENT
    assert len(server.asked) == (way != "folder")
    assert resolve(INFO, places).kind == "cache"
    assert files(cache) == ["toy_scale"]


def test_a_damaged_cached_file_does_not_hide_the_embedded_copy(tmp_path: Path) -> None:
    (tmp_path / "heart").write_bytes(b"something else")
    source = resolve(find_dataset("heart"), Places(tmp_path, offline=True))
    assert source.kind == "embedded"


@pytest.mark.parametrize("bad", [GONE, break_off, serve(b"1 1:1\n"), serve(b"", promised=10**12)])
def test_a_damaged_cached_file_without_another_copy(
    tmp_path: Path, server: Server, bad: Answer
) -> None:
    """Without a good copy, the damaged file stays unchanged, and the error names it or the mirror's."""
    (tmp_path / "toy_scale").write_bytes(b"something else")
    server.answers = [bad]
    with pytest.raises(DataError, match=r"wrong checksum|too large") as caught:
        fetch_into_cache(INFO, Places(tmp_path, server.url))
    assert "\n" not in str(caught.value)
    assert files(tmp_path) == ["toy_scale"]
    assert (tmp_path / "toy_scale").read_bytes() == b"something else"


def test_an_unreadable_cache(tmp_path: Path, server: Server) -> None:
    """An unreadable cache is skipped; here the system refuses the length of the folder's name."""
    cache = tmp_path / ("z" * 300)
    folder = mirror_folder(tmp_path / "mirror")
    assert resolve(INFO, Places(cache, str(folder), offline=True)).kind == "mirror"
    with pytest.raises(DataError, match="File name too long"):
        resolve(INFO, Places(cache, str(cache), offline=True))
    with pytest.raises(DataError, match=r"toy_scale: cannot write: File name too long"):
        fetch_into_cache(INFO, Places(cache, server.url))


FORBIDDEN = """
import os, sys
from pathlib import Path
from kselect.datasets.fetch import Places, resolve
from kselect.datasets.registry import find_dataset
from kselect.errors import DataError
info = find_dataset("a2a")  # imports what the other user may not be able to read
if os.getuid() == 0:
    os.seteuid(65534)
try:
    resolve(info, Places(Path(sys.argv[1]), sys.argv[2], offline=True))
except DataError as error:
    print(error)
"""


def test_folders_without_permission(tmp_path: Path) -> None:
    """Cache and mirror without permission are reported in one line."""
    cache, mirror = tmp_path / "cache", tmp_path / "mirror"
    for folder in (cache, mirror):
        folder.mkdir(mode=0)
    run = subprocess.run(
        [sys.executable, "-c", FORBIDDEN, str(cache), str(mirror)], capture_output=True, text=True, check=True
    )  # fmt: skip
    (line,) = run.stdout.splitlines()
    assert line.startswith(
        f"a2a: no file found: {cache}/a2a: Permission denied; no embedded copy; "
    )
    assert f"{mirror}/libsvm/a2a: Permission denied" in line


def test_pipes_and_folders_are_not_files(tmp_path: Path, server: Server) -> None:
    os.mkfifo(tmp_path / "toy_scale")
    with pytest.raises(DataError, match="not in"):
        resolve(INFO, Places(tmp_path, offline=True))
    (tmp_path / "toy_scale").unlink()
    (tmp_path / "toy_scale").mkdir()
    with pytest.raises(DataError, match="toy_scale: cannot write: Is a directory"):
        resolve(INFO, Places(tmp_path, server.url))


@pytest.mark.parametrize(
    "mirror", ["http://u:secret@127.0.0.1:1", "htp://u:secret@host", "ftp://u:secret@host"]
)
def test_the_password_of_a_mirror_is_not_shown(tmp_path: Path, server: Server, mirror: str) -> None:
    server.answers = [GONE]
    for offline in (True, False):
        text = message_of(DataError, resolve, INFO, Places(tmp_path, mirror, offline))
        assert "secret" not in text
    places = Places(tmp_path, server.url.replace("//", "//u:secret@"), False)
    text = message_of(DataError, resolve, INFO, places)
    assert "secret" not in text
    assert "answered 404" in text


# --- killed calls -----------------------------------------------------------------------------------

SLOW_DISK = """
import os, time
replace = os.replace
def slow(source, target):
    open(os.path.basename(target) + ".now", "w").close()
    time.sleep(60)
os.replace = slow
"""


def test_killed_fetches_do_not_disturb_the_next(tmp_path: Path) -> None:
    """Processes killed during a write or a download leave nothing that disturbs the next fetch."""
    toys = toy_files(3)
    home, cache = tmp_path / "home", tmp_path / "cache"
    home.mkdir()
    write_registry(home, toys)
    server = Server(GONE)
    server.files = {f"/libsvm/{n}": serve(c) for n, c in toys.items()}
    server.files["/libsvm/toy2_scale"] = slowly(toys["toy2_scale"], 100, 10.0)
    command = ("data", "fetch", "--mirror", server.url)
    hook = registry_hook(home)
    writing = [tmp_path / "toy0_scale.now", tmp_path / "toy1_scale.now"]
    first = start(tmp_path, *command, "toy0", hook=hook + SLOW_DISK)
    second = start(tmp_path, *command, "toy1", hook=hook + SLOW_DISK)
    until(lambda: all(path.exists() for path in writing), "two files are written")
    kill(first, second)
    assert [name[:6] for name in files(cache)] == [".toy0_", ".toy1_"]
    third = start(tmp_path, *command, "toy2", hook=hook)
    until(lambda: "/libsvm/toy2_scale" in server.asked, "a download has begun")
    kill(third)
    assert files(cache) == []
    server.files["/libsvm/toy2_scale"] = serve(toys["toy2_scale"])
    again = started_in(tmp_path, *command, hook=hook)
    assert (again.returncode, again.stderr) == (0, "")
    assert {p.name: p.read_bytes() for p in cache.iterdir()} == toys
    server.close()


def kill(*processes: subprocess.Popen[str]) -> None:
    """Kill processes at once."""
    for process in processes:
        with process:
            process.send_signal(signal.SIGKILL)
            process.communicate()


def test_fetch_ignores_the_embedded_copy(tmp_path: Path, server: Server) -> None:
    info = replace(find_dataset("heart"), file=INFO.file, sha256=SHA256)
    source = fetch_into_cache(info, Places(tmp_path / "cache", server.url))
    assert (source.kind, source.path) == ("mirror", tmp_path / "cache/toy_scale")


def test_fetch_copies_from_a_folder(tmp_path: Path) -> None:
    mirror = mirror_folder(tmp_path / "mirror")
    source = fetch_into_cache(INFO, Places(tmp_path / "cache", str(mirror), offline=True))
    assert source.path == tmp_path / "cache/toy_scale"
    assert source.path.read_bytes() == CONTENT
    assert files(tmp_path / "cache") == ["toy_scale"]


def test_a_cache_that_cannot_be_written(tmp_path: Path, server: Server) -> None:
    (tmp_path / "cache").write_text("a file")
    mirror = mirror_folder(tmp_path / "mirror")
    for place in (server.url, str(mirror)):
        with pytest.raises(DataError, match="toy_scale"):
            fetch_into_cache(INFO, Places(tmp_path / "cache", place))


def test_a_file_that_left_the_site(tmp_path: Path, server: Server) -> None:
    with pytest.raises(DataError, match="no longer on the LIBSVM site"):
        resolve(replace(INFO, folder=None), Places(tmp_path))
    assert server.asked == []


def test_embedded_copies_are_here() -> None:
    for name in ("heart", "sonar", "liver-disorders"):
        info = find_dataset(name)
        source = resolve(info, Places(Path("nowhere"), offline=True))
        assert source.kind == "embedded"
        assert source.sha256 == sha256_of((packaged("embedded") / str(info.embedded)).read_bytes())


def test_the_default_cache_is_named_cache_or_kselect() -> None:
    assert default_cache().name in ("cache", "kselect")


# --- downloading ------------------------------------------------------------------------------------

SIZED = replace(INFO, bytes=len(CONTENT))
LARGE = b"x" * 100_000


def refused(server: Server, info: DataSetInfo, *answers: Answer, kind: type[Exception]) -> str:
    """Return the error for a server with these answers."""
    server.answers = list(answers)
    text = message_of(kind, download, server.url, info)
    assert "\n" not in text
    assert text.startswith(server.url)
    return text


def test_download_returns_the_bytes(server: Server) -> None:
    assert download(server.url, SIZED) == download(server.url, INFO) == CONTENT
    assert server.headers[0]["Accept-Encoding"] == "identity"


def test_the_known_size_is_the_limit(server: Server) -> None:
    """A download stops at the known size: at once if the server announces more, else after that many bytes."""
    for answer in (serve(CONTENT + b"\n"), endless(b"x" * 10_000), serve(b"", promised=10**15)):
        server.asked.clear()
        text = refused(server, SIZED, answer, kind=DataError)
        assert f"too large: more than {len(CONTENT)} bytes; nothing was kept" in text
        assert len(server.asked) == 1


def test_a_limit_follows_from_rows_and_features(server: Server) -> None:
    """If the size is unknown, the limit follows from rows and features: a megabyte is refused for 3 x 2."""
    text = refused(server, INFO, serve(LARGE), kind=DataError)
    assert f"too large: more than {INFO.largest} bytes" in text
    assert INFO.largest < 1000


def test_a_slow_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Single bytes at intervals never reach a socket's time-out, so the total time is limited."""
    monkeypatch.setattr(module, "TOTAL_SECONDS", 0.3)
    started = time.monotonic()
    text = refused(server, SIZED, slowly(CONTENT, len(CONTENT), 0.1), kind=Unreachable)
    assert text.endswith("not done within 0.3 s")
    assert time.monotonic() - started < 2


def test_the_time_limit_covers_all_attempts(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TOTAL_SECONDS", 0.5)
    monkeypatch.setattr(module, "sleep", lambda _: time.sleep(0.3))
    assert "not done within" in refused(server, SIZED, break_off, kind=Unreachable)
    assert len(server.asked) < ATTEMPTS


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (raw(b""), "cannot connect"),
        (raw(b"no HTTP at all\r\n\r\n"), "cannot connect"),
        (raw(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 500 + b"\r\n"), "cannot connect"),
        (raw(b"HTTP/1.1 200 OK\r\nA: " + b"z" * 70_000), "cannot connect"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\nabc"), "wrong checksum"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: \xc2\xb2\r\n\r\nabc"), "wrong checksum"),
        (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "the connection broke"),
        (raw(b"HTTP/1.1 302 F\r\nLocation: http://[\r\n\r\n"), "not an address"),
        (raw(b"HTTP/1.1 302 F\r\nLocation: ftp://127.0.0.1/\r\n\r\n"), "not an address"),
        (raw(b"HTTP/1.1 404 \x1b[31mGone\r\n\r\n"), "answered 404 "),
        (serve(CONTENT[:5], promised=len(CONTENT)), "the connection broke"),
        (serve(b"", 500), "the server failed"),
    ],
)  # fmt: skip
def test_strange_answers(server: Server, answer: Answer, said: str) -> None:
    text = refused(server, SIZED, answer, kind=(DataError, Unreachable))  # type: ignore[arg-type]
    assert said in text
    assert text.isprintable()


def test_a_packed_answer_is_not_unpacked(server: Server) -> None:
    bomb = gzip.compress(bytes(2**24))
    text = refused(server, SIZED, serve(bomb, Content_Encoding="gzip"), kind=Unreachable)
    assert "sends gzip where plain bytes were asked for" in text


def test_endless_redirection(server: Server) -> None:
    answer = serve(b"", 302, Location=server.url)
    assert "redirected without end" in refused(server, SIZED, answer, kind=Unreachable)


def test_redirections_are_followed(server: Server) -> None:
    server.answers = [serve(b"", 302, Location="/b"), serve(b"", 307, Location="c"), serve(CONTENT)]
    assert download(f"{server.url}/a", SIZED) == CONTENT
    assert server.asked == ["/a", "/b", "/c"]


def test_the_body_of_a_redirection_is_not_read(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body of a redirection is not read, because it could be endless."""
    monkeypatch.setattr(module, "TOTAL_SECONDS", 5.0)
    head = raw(b"HTTP/1.1 302 Found\r\nLocation: /b\r\n\r\n")

    def answer(handler: BaseHTTPRequestHandler) -> None:
        head(handler)
        endless(b"x" * 10_000)(handler)

    server.answers = [answer, serve(CONTENT)]
    assert download(f"{server.url}/a", SIZED) == CONTENT


def test_a_wrong_file_is_requested_again(server: Server, naps: list[float]) -> None:
    server.answers = [serve(b"1"), serve(b"2"), serve(CONTENT)]
    assert download(server.url, SIZED) == CONTENT
    assert naps == [1, 2]


@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret@127.0.0.1:1/a", "HTTP://secret@127.0.0.1:1", "http://u:se/secret@127.0.0.1:1/a",
        "http://u:secret@[", "http://u:a@secret@127.0.0.1:1/a", "http://u:secret\n@127.0.0.1:1",
        "http://u:#secret@127.0.0.1:1", "htp://u:secret@127.0.0.1:1",
    ],
)  # fmt: skip
def test_passwords_are_not_shown(url: str) -> None:
    shown = redacted(url)
    assert "secret" not in shown
    assert "***@" in shown
    assert "secret" not in message_of(Unreachable, download, url, SIZED)


def test_addresses_without_a_password_are_shown() -> None:
    assert redacted("https://host/a/b?c=d") == "https://host/a/b?c=d"
