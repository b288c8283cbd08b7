"""Downloads end: at a size, at a time, at the wrong kind of answer; and nothing secret is said."""

from __future__ import annotations

import gzip
import hashlib
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler

import pytest
from servers import Answer, Server, break_off, endless, raw, serve, slowly

from kselect.datasets import fetch as module
from kselect.datasets.fetch import ATTEMPTS, Unreachable, download, redacted
from kselect.datasets.registry import DataSetInfo, as_info
from kselect.errors import DataError

CONTENT = b"-1 1:0.5 2:1\n1 2:-3\n1 1:2\n"
INFO = as_info(
    "toy",
    {
        "task": "classification", "rows": 3, "features": 2, "labels": {"-1": -1, "1": 1}, "file": "toy",
        "sha256": hashlib.sha256(CONTENT).hexdigest(), "bytes": len(CONTENT), "licence": "none stated",
    },
)  # fmt: skip
OF_UNKNOWN_SIZE = replace(INFO, bytes=None)
LARGE = b"x" * 100_000


@pytest.fixture(autouse=True)
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, noted and not slept."""
    waits: list[float] = []
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(module, "pause", waits.append)
    return waits


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that may be told to misbehave."""
    found = Server(serve(CONTENT))
    yield found
    found.close()


def refused(server: Server, info: DataSetInfo, *answers: Answer, kind: type[Exception]) -> str:
    """What is said of a server that answers so."""
    server.answers = list(answers)
    with pytest.raises(kind) as caught:
        download(server.url, info)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(server.url)
    return text


def test_the_bytes(server: Server) -> None:
    assert download(server.url, INFO) == download(server.url, OF_UNKNOWN_SIZE) == CONTENT
    assert server.headers[0]["Accept-Encoding"] == "identity"


def test_the_known_size_is_the_limit(server: Server) -> None:
    """At once, where the server says how much it has; after so many bytes, where it does not."""
    for answer in (serve(CONTENT + b"\n"), endless(b"x" * 10_000), serve(b"", promised=10**15)):
        server.asked.clear()
        text = refused(server, INFO, answer, kind=DataError)
        assert f"too large: more than {len(CONTENT)} bytes; nothing was kept" in text
        assert len(server.asked) == 1


def test_a_limit_follows_from_rows_and_features(server: Server) -> None:
    """Where the size is not known: three rows of two features have no megabyte of text."""
    text = refused(server, OF_UNKNOWN_SIZE, serve(LARGE), kind=DataError)
    assert f"too large: more than {OF_UNKNOWN_SIZE.largest} bytes" in text
    assert OF_UNKNOWN_SIZE.largest < 1000


def test_a_server_that_dawdles(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then never runs into a socket's time-out."""
    monkeypatch.setattr(module, "TOTAL_SECONDS", 0.3)
    started = time.monotonic()
    text = refused(server, INFO, slowly(CONTENT, len(CONTENT), 0.1), kind=Unreachable)
    assert text.endswith("not done within 0.3 s")
    assert time.monotonic() - started < 2


def test_the_time_is_that_of_all_attempts(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOTAL_SECONDS", 0.5)
    monkeypatch.setattr(module, "pause", lambda _: time.sleep(0.3))
    assert "not done within" in refused(server, INFO, break_off, kind=Unreachable)
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
    text = refused(server, INFO, answer, kind=(DataError, Unreachable))  # type: ignore[arg-type]
    assert said in text
    assert text.isprintable()


def test_a_packed_answer_is_not_unpacked(server: Server) -> None:
    bomb = gzip.compress(bytes(2**24))
    text = refused(server, INFO, serve(bomb, Content_Encoding="gzip"), kind=Unreachable)
    assert "sends gzip where plain bytes were asked for" in text


def test_redirected_without_end(server: Server) -> None:
    answer = serve(b"", 302, Location=server.url)
    assert "redirected without end" in refused(server, INFO, answer, kind=Unreachable)


def test_redirections_are_followed(server: Server) -> None:
    server.answers = [serve(b"", 302, Location="/b"), serve(b"", 307, Location="c"), serve(CONTENT)]
    assert download(f"{server.url}/a", INFO) == CONTENT
    assert server.asked == ["/a", "/b", "/c"]


def test_the_body_of_a_redirection_is_not_read(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could be without end."""
    monkeypatch.setattr(module, "TOTAL_SECONDS", 5.0)
    head = raw(b"HTTP/1.1 302 Found\r\nLocation: /b\r\n\r\n")

    def answer(handler: BaseHTTPRequestHandler) -> None:
        head(handler)
        endless(b"x" * 10_000)(handler)

    server.answers = [answer, serve(CONTENT)]
    assert download(f"{server.url}/a", INFO) == CONTENT


def test_another_file_is_asked_for_again(server: Server, naps: list[float]) -> None:
    server.answers = [serve(b"1"), serve(b"2"), serve(CONTENT)]
    assert download(server.url, INFO) == CONTENT
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
    with pytest.raises(Unreachable) as caught:
        download(url, INFO)
    assert "secret" not in str(caught.value)


def test_addresses_without_a_password_are_shown() -> None:
    assert redacted("https://host/a/b?c=d") == "https://host/a/b?c=d"
