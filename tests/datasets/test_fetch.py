"""Files from caches, folders and a real HTTP server that serves, lies, breaks off or is not there."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kselect.datasets import registry
from kselect.datasets.dataset import read_dataset
from kselect.datasets.fetch import (
    ATTEMPTS,
    Places,
    default_cache,
    fetch_into_cache,
    file_sha256,
    packaged,
    resolve,
)
from kselect.datasets.registry import DataSetInfo, find_dataset
from kselect.errors import DataError

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
    embedded=None,
    embedded_sha256=None,
    licence="none stated",
    note="",
)

Answer = Callable[[BaseHTTPRequestHandler], None]


def serve(content: bytes, status: int = 200, promised: int | None = None) -> Answer:
    """An answer with a body, of which more may be promised than is sent."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(promised or len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def break_off(handler: BaseHTTPRequestHandler) -> None:
    """No answer: the connection is closed."""
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


GOOD, GONE = serve(CONTENT), serve(b"", 404)


class Server:
    """A loopback server that gives its answers in order, the last one for ever."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: list[Answer] = [GOOD]
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                answers = outer.answers
                (answers.pop(0) if len(answers) > 1 else answers[0])(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A mirror; the LIBSVM site is the same server, under ``/site``."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    found = Server()
    monkeypatch.setattr(registry, "SITE", f"{found.url}/site")
    yield found
    found.close()


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, noted and not slept."""
    waits: list[float] = []
    monkeypatch.setattr("pooch.core.time.sleep", waits.append)
    return waits


def files(folder: Path) -> list[str]:
    """Every file below a folder."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def mirror_folder(folder: Path, content: bytes = CONTENT) -> Path:
    """A folder laid out like a mirror."""
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
    with pytest.raises(DataError) as caught:
        resolve(INFO, Places(tmp_path / "cache", server.url))
    text = str(caught.value)
    assert f"{server.url}/libsvm/toy_scale: wrong checksum" in text
    assert hashlib.sha256(b"1 1:1\n").hexdigest() in text
    assert SHA256 in text
    assert files(tmp_path) == []


def test_not_found_falls_through_at_once(tmp_path: Path, server: Server, naps: list[float]) -> None:
    server.answers = [GONE, GOOD]
    assert resolve(INFO, Places(tmp_path, server.url)).kind == "site"
    assert server.asked == ["/libsvm/toy_scale", "/site/binary/toy_scale"]
    assert naps == []


def test_not_found_anywhere(tmp_path: Path, server: Server) -> None:
    server.answers = [GONE]
    with pytest.raises(DataError) as caught:
        resolve(INFO, Places(tmp_path, server.url))
    text = str(caught.value)
    assert "\n" not in text
    assert f"{server.url}/libsvm/toy_scale: answered 404" in text
    assert f"{server.url}/site/binary/toy_scale: answered 404" in text
    assert "--skip-missing" in text
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    "bad", [break_off, serve(CONTENT[:9], promised=len(CONTENT)), serve(b"", 503)]
)
def test_tried_again_with_back_off(
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
def test_given_up(tmp_path: Path, server: Server, bad: Answer, why: str) -> None:
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
def test_mirrors_that_are_no_address(tmp_path: Path, server: Server, mirror: str) -> None:
    server.answers = [GONE]
    with pytest.raises(DataError, match="no file to be had"):
        resolve(INFO, Places(tmp_path, mirror))


def test_offline_asks_nobody(tmp_path: Path, server: Server) -> None:
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
    """Take the first place away, and the next one serves."""
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
def test_a_wrong_file_is_named_and_not_taken(tmp_path: Path, server: Server, place: str) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_bytes(b"something else")
    with pytest.raises(DataError) as caught:
        resolve(INFO, Places(tmp_path / "cache", str(tmp_path / "mirror")))
    text = str(caught.value)
    assert text.startswith(f"{path}: wrong checksum")
    assert hashlib.sha256(b"something else").hexdigest() in text
    assert SHA256 in text
    assert server.asked == []


def test_fetch_goes_past_the_embedded_copy(tmp_path: Path, server: Server) -> None:
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
        assert source.sha256 == file_sha256(packaged("embedded") / str(info.embedded))


def test_the_default_cache_is_ignored_by_git_or_the_users() -> None:
    assert default_cache().name in ("cache", "kselect")
