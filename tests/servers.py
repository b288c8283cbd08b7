"""A loopback server with correct, wrong, truncated or slow answers, and a registry of small data sets for it."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

Answer = Callable[[BaseHTTPRequestHandler], None]


def serve(content: bytes, status: int = 200, promised: int | None = None, **headers: str) -> Answer:
    """Answer with a body; the promised length may be larger than what is sent."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(content) if promised is None else promised))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def endless(piece: bytes, pause: float = 0.0) -> Answer:
    """Answer with an endless body of no stated length; a pause between pieces makes it slow."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(piece)
                time.sleep(pause)
        except OSError:  # the client has disconnected
            pass

    return answer


def slowly(content: bytes, pieces: int, pause: float) -> Answer:
    """Send the whole body in small pieces."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        size = max(1, len(content) // pieces)
        try:
            for start in range(0, len(content), size):
                handler.wfile.write(content[start : start + size])
                time.sleep(pause)
        except OSError:
            pass

    return answer


def break_off(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without an answer."""
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def raw(content: bytes) -> Answer:
    """Send bytes that need not be HTTP."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(content)
        handler.close_connection = True

    return answer


class Server:
    """A server that gives its answers in order and repeats the last one; ``files`` take precedence over answers."""

    def __init__(self, *answers: Answer) -> None:
        self.asked: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.answers = list(answers)
        self.files: dict[str, Answer] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                outer.headers.append(dict(self.headers))
                if answer := outer.files.get(self.path):
                    answer(self)
                    return
                answers = outer.answers
                (answers.pop(0) if len(answers) > 1 else answers[0])(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.port = self.http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Stop answering."""
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def toy_files(count: int, lines: int = 400) -> dict[str, bytes]:
    """Return file name -> svmlight text, with a different text per file."""
    return {
        f"toy{i}_scale": b"".join(b"%d 1:%d 2:%d\n" % (k % 2, i, k) for k in range(lines))
        for i in range(count)
    }


def write_registry(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write a registry.yaml of these files; each data set has the file's name without ``_scale``."""
    entries = {
        name.removesuffix("_scale"): {
            "task": "classification", "rows": content.count(b"\n"), "features": 2,
            "labels": {"0": -1, "1": 1}, "file": name, "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content), "licence": "none stated",
        }
        for name, content in files.items()
    }  # fmt: skip
    path = folder / "registry.yaml"
    path.write_text(yaml.safe_dump(entries), encoding="utf-8")
    return path


def registry_hook(folder: Path) -> str:
    """Return the code of a sitecustomize module that makes ``folder/registry.yaml`` the registry."""
    return (
        "import pathlib, kselect.datasets.registry as registry\n"
        f"registry.HERE = pathlib.Path({str(folder)!r})\n"
    )
