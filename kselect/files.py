"""Write files whole or not at all, read regular files within a limit, and lock folders.

If a file system refuses a lock or a sync, this is reported once, and the work continues without it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import BinaryIO

from kselect.errors import DataError, StoreError, printable

Say = Callable[[str], None]

LOCK_SECONDS = 60.0  # a lock is held while one file is written or the records are gathered
SAY_SECONDS = 2.0
LONGEST_PAUSE = 0.1
CHUNK = 2**20
STALE_SECONDS = 86_400  # the age of an abandoned temporary file, if there are no locks to tell
# How file systems and containers refuse a request. EBADF: on NFS a folder, which is open for reading only,
# takes no exclusive lock.
REFUSALS = frozenset(
    {errno.EPERM, errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF}
)
KINDS = (
    (stat.S_ISFIFO, "is a pipe"),
    (stat.S_ISSOCK, "is a socket"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
)
# A name of an open file descriptor, as in the shell's >(...). Opening it again would not work for a socket, and
# would start at the beginning of a file that others are writing to.
DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}
READER_SECONDS = 20.0  # the time that a reader of a named pipe has to open it


def on_stderr(text: str) -> None:
    """Print a warning on its own line; do nothing if standard error is closed."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"warning: {text}\n")


@cache
def once(say: Say, text: str) -> None:
    """Call ``say(text)``, but only once per process."""
    say(text)


def reason(error: OSError) -> str:
    """Return the system's words for an error."""
    return error.strerror or str(error)


# --- reading ----------------------------------------------------------------------------------------


def read_regular(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file, at most ``most``; raise an OSError that names any other kind of file.

    The kind is checked before the file is opened: opening a device may change it. A pipe that replaces the file
    meanwhile does not block.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    for is_kind, words in KINDS:
        if is_kind(mode):
            raise OSError(errno.EINVAL, f"{words}, not a file")
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        return read_most(stream.read, most, os.fstat(stream.fileno()).st_size + 1)


def read_most(read: Callable[[int], bytes], most: int, first: int = CHUNK) -> bytes:
    """Return all bytes of a stream; raise an OSError before more than ``most`` bytes are kept.

    The first request is for ``first`` bytes: a file that is read at once is not joined from pieces.
    """
    pieces: list[bytes] = []
    size, request = 0, min(first, most + 1)
    while piece := read(request):
        size, request = size + len(piece), CHUNK
        if size > most:
            raise OSError(errno.EFBIG, f"is too large: more than {most} bytes")
        pieces.append(piece)
    return b"".join(pieces)


# --- locks ------------------------------------------------------------------------------------------


@contextmanager
def locked(folder: Path, wait: float = LOCK_SECONDS, say: Say = on_stderr) -> Iterator[None]:
    """Let one process at a time into the block; the lock belongs to the folder and ends with the process.

    After a moment of waiting, report through ``say`` which process has the lock; after ``wait`` seconds, raise a
    StoreError. If the file system has no locks, report it once, and run the block without a lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    started, pause, told = time.monotonic(), 0.001, False
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waited = time.monotonic() - started
            except OSError as error:
                what = "has no locks ({}): start no second run into the same folder"
                tolerate(error, what, say)
                break
            if waited >= wait:
                raise StoreError(
                    f"{printable(folder)}: locked by {holder(handle)} for more than {wait:g} s; "
                    "wait until it has ended, or end it, then give the same command again"
                )
            if waited >= SAY_SECONDS and not told:
                told = True
                say(f"waiting for {holder(handle)}, which has the lock of {printable(folder)}")
            time.sleep(min(pause, max(wait - waited, 0.001)))
            pause = min(2 * pause, LONGEST_PAUSE)
        yield
    finally:
        os.close(handle)


def tolerate(error: OSError, what: str, say: Say) -> None:
    """Report once what the file system lacks; raise any error that is not such a refusal."""
    if error.errno not in REFUSALS:
        raise error
    once(say, f"this file system {what.format(reason(error))}")


def holder(handle: int) -> str:
    """Return the process that has the lock, ``process 812 (kselect)``; only Linux lists the locks."""
    inode = str(os.fstat(handle).st_ino)
    with suppress(OSError):  # also for a process in another container
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            # "2: FLOCK  ADVISORY  WRITE 812 00:35:1234 0 EOF"; a waiting process has "->" in the second
            # column. The device is not compared: overlay file systems list the one below.
            columns = line.split()
            if len(columns) > 5 and columns[1] == "FLOCK" and columns[5].endswith(f":{inode}"):
                # The name only: the arguments may contain a password.
                comm = Path(f"/proc/{columns[4]}/comm")
                name = comm.read_text(encoding="utf-8", errors="replace").strip()
                return f"process {columns[4]} ({printable(name)})"
    return "another process"


# --- writing ----------------------------------------------------------------------------------------


def write_whole(path: Path, content: str | bytes, say: Say = on_stderr) -> None:
    """Write a file so that a reader sees either the old file or the new one.

    A temporary file next to the target is synced and renamed. The folder is synced as well, so that the new name
    survives a power cut. The temporary name is unique, so two processes may write the same file at the same time.
    The temporary file is locked, so that the next process can tell what a killed process left. A symbolic link is
    followed. An existing file keeps its mode and its owner; the umask decides the mode of a new one. Anything that
    is not a regular file, such as a pipe or a device, is written to and not replaced.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        old = os.stat(path)
    except FileNotFoundError:  # a new file, or the missing target of a link
        old = None
    match = DESCRIPTOR.fullmatch(str(path))
    number = int(match[1]) if match else STANDARD.get(str(path))
    if number is not None or (old and not stat.S_ISREG(old.st_mode)):
        with open(open_stream(path) if number is None else os.dup(number), "wb") as out:
            out.write(data)
        return
    path = Path(os.path.realpath(path))
    remove_litter(path.parent, [path.name])
    stream, name = open_temporary(path, old)
    try:
        with stream:
            stream.write(data)
            stream.flush()
            sync(stream.fileno(), say)
            os.replace(name, path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    with suppress(PermissionError):  # a folder that may be written but not read
        handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            sync(handle, say)
        finally:
            os.close(handle)


def write_changed(path: Path, content: str | bytes) -> None:
    """Write a file like ``write_whole``, unless it has this content already."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with suppress(OSError):
        if path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data:
            return
    write_whole(path, data)


def write_named(path: Path, content: str | bytes, flag: str = "") -> None:
    """Write a file that the user names; a failure is a DataError of one line."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise DataError(f"{flag}{printable(path)}: {reason(error)}") from None


def require_writable(path: Path, flag: str) -> None:
    """Refuse a path that cannot be written, before any work; ``flag`` is the flag that names it."""
    shown = f"{flag} {printable(path)}"
    if path.is_dir():
        raise DataError(f"{shown}: that is a folder; add the name of a file")
    if path.exists() and not path.is_file():  # a pipe or a device, which is not replaced
        return
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise DataError(f"{shown}: there is no folder {printable(folder)}; create it first")
    if not os.access(folder, os.W_OK):
        raise DataError(f"{shown}: no permission to write to the folder {printable(folder)}")


def open_stream(path: Path) -> int:
    """Open a pipe or a device for writing; raise an OSError if no process reads a named pipe within a while."""
    started = time.monotonic()
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        except OSError as error:
            if error.errno != errno.ENXIO or not path.is_fifo():
                raise
            if time.monotonic() - started > READER_SECONDS:
                raise OSError(error.errno, "no process reads this pipe", str(path)) from None
            time.sleep(LONGEST_PAUSE)
        else:
            os.set_blocking(handle, True)
            return handle


def open_temporary(path: Path, old: os.stat_result | None = None) -> tuple[BinaryIO, Path]:
    """Create and lock a new file ``.<name>.<token>.tmp`` next to a path, with the mode and owner of the old file.

    Another process may remove it as litter before it is locked; then create another one.
    """
    mode = stat.S_IMODE(old.st_mode) if old else 0o666
    while True:
        name = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        stream = open(os.open(name, flags, mode), "wb")  # noqa: SIM115 - the caller closes it
        with suppress(OSError):  # without locks, the age of a file tells litter
            fcntl.flock(stream, fcntl.LOCK_EX)
        if os.fstat(stream.fileno()).st_nlink:
            break
        stream.close()
    if old:
        for change in (
            partial(os.fchown, uid=old.st_uid, gid=old.st_gid),
            partial(os.fchmod, mode=mode),
        ):
            with suppress(
                OSError
            ):  # only root may give a file away, and some file systems have no modes
                change(stream.fileno())
    return stream, name


def sync(handle: int, say: Say) -> None:
    """Write a file or folder to the disk, if the file system can."""
    try:
        os.fsync(handle)
    except OSError as error:
        tolerate(error, "does not sync ({}): a power cut may cost the last files", say)


# --- what killed processes leave --------------------------------------------------------------------


def remove_litter(folder: Path, names: Iterable[str]) -> None:
    """Delete the temporary files of these names that no process is writing any more."""
    pattern = re.compile(rf"\.(?:{'|'.join(map(re.escape, names))})\.[a-z0-9_]{{8}}\.tmp")
    try:
        found = [e.path for e in os.scandir(folder) if pattern.fullmatch(e.name)]
    except OSError:  # the folder does not exist or may not be read
        return
    for path in found:
        with suppress(OSError):
            remove_abandoned(path)


def remove_abandoned(path: str) -> None:
    """Delete a temporary file if its lock is free; without locks, if it is more than a day old."""
    handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            abandoned = True
        except BlockingIOError:
            abandoned = False
        except OSError:
            abandoned = time.time() - os.fstat(handle).st_mtime > STALE_SECONDS
        if abandoned:
            os.unlink(path)
    finally:
        os.close(handle)
