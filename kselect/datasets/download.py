"""A registered file over HTTP: its bytes, within a size and a time and with the right sum, or a reason."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from kselect.datasets.registry import DataSetInfo
from kselect.errors import DataError, brief, printable

if TYPE_CHECKING:
    from requests import Response

ATTEMPTS = 3
TIMEOUT_SECONDS = 30  # for a connection, and for each next piece
TOTAL_SECONDS = 300.0  # for all attempts together
CHUNK = 2**14
MOST_REDIRECTIONS = 10
LONGEST_LENGTH = 18  # digits of a Content-Length that can be meant

# The class of an exception -> what it means.
PLAIN = {
    "ConnectionError": "cannot connect",
    "ConnectTimeout": "cannot connect in time",
    "ReadTimeout": "no answer in time",
    "ProxyError": "the proxy does not answer",
    "SSLError": "no secure connection",
}


class Unreachable(Exception):
    """A place could not be reached; the next one is tried."""


class Broken(Exception):
    """An attempt that failed and may do better next time."""


def redacted(url: str) -> str:
    """An address as it may be shown: without user and password."""
    # Up to the last @, which is too much rather than too little: a password may hold any character.
    return printable(re.sub(r"://.*@", "://***@", url, flags=re.DOTALL))


def download(url: str, info: DataSetInfo) -> bytes:
    """The bytes of the file, by one of a few attempts; DataError for another file, Unreachable for none."""
    shown, problem = redacted(url), ""
    deadline = time.monotonic() + TOTAL_SECONDS
    sums: list[str] = []
    for attempt in range(ATTEMPTS):
        if attempt:
            pause(attempt)
        try:
            content = in_time(lambda: get(url, shown, info), shown, deadline)
        except Broken as error:
            problem = str(error)
            continue
        sums.append(info.checksum_of(content))
        if sums[-1] == info.checksum:
            return content
    if sums:
        raise DataError(
            f"{shown}: wrong checksum: {info.checksum_kind} is {sums[-1]}, "
            f"the registry has {info.checksum}; "
            "nothing was kept"
        )
    raise Unreachable(f"{shown}: {problem} ({ATTEMPTS} attempts)")


def pause(seconds: float) -> None:
    """Between one attempt and the next."""
    time.sleep(seconds)


def in_time(work: Callable[[], bytes], shown: str, deadline: float) -> bytes:
    """What a thread of its own brings until the deadline; after that it is left to itself.

    The time-outs of a socket start anew with every byte, so that a server could go on for ever.
    """
    future: Future[bytes] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # whatever it is, it belongs to the one who waits
            future.set_exception(error)

    left = deadline - time.monotonic()
    try:
        if left <= 0:  # a quick attempt could still come before its result is asked for
            raise TimeoutError
        threading.Thread(target=run, daemon=True).start()
        return future.result(left)
    except TimeoutError:
        raise Unreachable(f"{shown}: not done within {TOTAL_SECONDS:g} s") from None


def get(url: str, shown: str, info: DataSetInfo) -> bytes:
    """One attempt."""
    try:
        with ask(url, shown) as answer:
            look_at_head(answer, shown)
            return body(answer, shown, info.bytes or info.largest)
    except ValueError:  # also what requests raises for a wrong URL
        raise Unreachable(f"{shown}: not an address that can be asked") from None
    except OSError as error:  # the base of what requests raises
        raise Broken(PLAIN.get(type(error).__name__, type(error).__name__)) from None


def ask(url: str, shown: str) -> Response:
    """The answer at the end of all redirections, of which the head alone has been read."""
    import requests

    plain_bytes = {"Accept-Encoding": "identity"}  # unpacking could fill the memory
    for _ in range(MOST_REDIRECTIONS):
        with requests.Session() as session:
            # A session that sees a redirection reads its body to the end, if it has one.
            session.get_redirect_target = lambda _: None  # type: ignore[assignment, method-assign]
            answer = session.get(url, stream=True, timeout=TIMEOUT_SECONDS, headers=plain_bytes)
        if not answer.is_redirect:
            return answer
        answer.close()
        url = urljoin(url, answer.headers["Location"])
    raise Unreachable(f"{shown}: redirected without end")


def look_at_head(answer: Response, shown: str) -> None:
    """Go on to the body, or end the attempts, or try again."""
    if 400 <= answer.status_code < 500:
        raise Unreachable(f"{shown}: answered {answer.status_code} {brief(answer.reason)}")
    if answer.status_code >= 500:
        raise Broken("the server failed")
    encoding = answer.headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":
        raise Unreachable(f"{shown}: sends {brief(encoding)} where plain bytes were asked for")


def body(answer: Response, shown: str, most: int) -> bytes:
    """The bytes that were promised, and no more than ``most``."""
    header = answer.headers.get("Content-Length", "")
    promised = int(header) if header.isdecimal() and len(header) <= LONGEST_LENGTH else 0
    content = b"" if promised > most else first_bytes(answer, most + 1)
    if max(promised, len(content)) > most:
        raise DataError(f"{shown}: too large: more than {most} bytes; nothing was kept")
    if len(content) < promised:
        raise Broken("the connection broke")
    return content


def first_bytes(answer: Response, most: int) -> bytes:
    """So many bytes of a body, or few more, or all of them."""
    content = bytearray()
    try:
        for piece in answer.iter_content(CHUNK):
            content += piece
            if len(content) >= most:
                break
    except OSError:
        raise Broken("the connection broke") from None
    return bytes(content)
