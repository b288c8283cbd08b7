"""Files written whole or not at all, plain files read within a limit, and folders locked.

What a file system refuses (locks, the sync of a folder) is said once, and the work goes on without it.
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
from functools import cache
from pathlib import Path
from typing import BinaryIO

from kselect.errors import StoreError, printable

Say = Callable[[str], None]

LOCK_SECONDS = 60.0  # a lock is held while one file is written or the records are gathered
SAY_SECONDS = 2.0
LONGEST_PAUSE = 0.1
CHUNK = 2**20
STALE_SECONDS = 86_400  # where no lock tells whether a temporary file is still being written
# How file systems and containers answer a request that they do not serve. EBADF: over NFS a folder,
# which is open for reading only, takes no exclusive lock.
REFUSALS = frozenset(
    {errno.EPERM, errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF}
)
KINDS = (
    (stat.S_ISFIFO, "is a pipe"),
    (stat.S_ISSOCK, "is a socket"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
)


def on_stderr(text: str) -> None:
    """A warning as a line of its own; the work goes on where nobody can hear it."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"warning: {text}\n")


@cache
def once(say: Say, text: str) -> None:
    """Say the same thing to the same listener once in a process."""
    say(text)


def reason(error: OSError) -> str:
    """The system's words for an error."""
    return error.strerror or str(error)


# --- reading ----------------------------------------------------------------------------------------


def read_regular(path: Path, most: int) -> bytes:
    """The bytes of a plain file of at most so many; anything else is an OSError that says what it is.

    The kind is asked before the file is opened: a pipe without a writer would keep the caller waiting,
    and a device such as /dev/zero never ends.
    """
    require_regular(os.stat(path))
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        require_regular(os.fstat(stream.fileno()))
        return read_most(stream.read, most)


def require_regular(facts: os.stat_result) -> None:
    """An OSError for what is no plain file."""
    if stat.S_ISDIR(facts.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    for is_kind, words in KINDS:
        if is_kind(facts.st_mode):
            raise OSError(errno.EINVAL, f"{words}, not a file")


def read_most(read: Callable[[int], bytes], most: int) -> bytes:
    """All that a stream holds; more than ``most`` bytes are an OSError, raised before they are kept."""
    pieces: list[bytes] = []
    size = 0
    while piece := read(CHUNK):
        size += len(piece)
        if size > most:
            raise OSError(errno.EFBIG, f"is too large: more than {most} bytes")
        pieces.append(piece)
    return b"".join(pieces)


# --- locks ------------------------------------------------------------------------------------------


@contextmanager
def locked(folder: Path, wait: float = LOCK_SECONDS, say: Say = on_stderr) -> Iterator[None]:
    """One process at a time in here; the lock is the folder's own and ends with the process.

    ``say`` is told whom it waits for, after a moment; after ``wait`` seconds that is a StoreError. Where the
    file system has no locks it is told that, once, and the work goes on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        take(handle, folder, wait, say)
        yield
    finally:
        os.close(handle)


def take(handle: int, folder: Path, wait: float, say: Say) -> None:
    """Wait for the lock of an open folder, a little longer between one attempt and the next."""
    started, pause, told = time.monotonic(), 0.001, False
    while not try_lock(handle, say):
        waited = time.monotonic() - started
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


def try_lock(handle: int, say: Say) -> bool:
    """Whether the lock was free, or there are no locks here."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        once(
            say,
            f"this file system has no locks ({reason(error)}): start no second run into the same folder",
        )
    return True


def holder(handle: int) -> str:
    """Who has the lock: ``process 812 (kselect)``; Linux lists the locks, elsewhere nobody knows."""
    inode = str(os.fstat(handle).st_ino)
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return "another process"
    for line in lines:
        # "2: FLOCK  ADVISORY  WRITE 812 00:35:1234 0 EOF"; who waits has "->" in the second column. The
        # device is not compared: overlay file systems list the one below.
        columns = line.split()
        if len(columns) > 5 and columns[1] == "FLOCK" and columns[5].rpartition(":")[2] == inode:
            return named_process(columns[4])
    return "another process"


def named_process(pid: str) -> str:
    """A process with its name; its arguments are left out, they may hold a password."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:  # it lives in another container
        return "another process"
    return f"process {pid} ({printable(name)})"


# --- writing ----------------------------------------------------------------------------------------


def write_whole(path: Path, content: str | bytes, say: Say = on_stderr) -> None:
    """Temporary file beside the target, fsync, ``os.replace``: a reader sees the old file or the new one.

    The folder is synced as well: the new name is there after a power cut. The temporary name is unique, so
    that two processes may write the same file at the same time, and locked, so that the next one may tell
    what a killed process left. The mode follows the umask.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_litter(path.parent, [path.name])
    stream, name = open_temporary(path)
    try:
        with stream:
            stream.write(data)
            stream.flush()
            sync(stream.fileno(), say)
            os.replace(name, path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    sync_folder(path.parent, say)


def open_temporary(path: Path) -> tuple[BinaryIO, Path]:
    """A new locked file ``.<name>.<token>.tmp`` beside a path.

    One that was removed between its making and its lock, as litter, is made again.
    """
    while True:
        name = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        stream = open(os.open(name, flags, 0o666), "wb")  # noqa: SIM115 - the caller closes it
        with suppress(OSError):  # without locks, litter is told by its age
            fcntl.flock(stream, fcntl.LOCK_EX)
        if os.fstat(stream.fileno()).st_nlink:
            return stream, name
        stream.close()


def sync(handle: int, say: Say) -> None:
    """To the disk, as far as the file system knows how."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        once(
            say,
            f"this file system does not sync ({reason(error)}): a power cut may cost the last files",
        )


def sync_folder(folder: Path, say: Say) -> None:
    """A rename lasts once its folder is on the disk."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:  # a folder that may be written and not read
        return
    try:
        sync(handle, say)
    finally:
        os.close(handle)


# --- what killed processes leave --------------------------------------------------------------------


def remove_litter(folder: Path, names: Iterable[str]) -> None:
    """Delete the temporary files of these names that nobody is writing any more."""
    pattern = re.compile(rf"\.(?:{'|'.join(map(re.escape, names))})\.[a-z0-9_]{{8}}\.tmp")
    try:
        found = [e.path for e in os.scandir(folder) if pattern.fullmatch(e.name)]
    except OSError:  # no such folder, or one that may not be read: nothing to tidy
        return
    for path in found:
        with suppress(OSError):
            remove_abandoned(path)


def remove_abandoned(path: str) -> None:
    """Delete a temporary file unless somebody is writing it."""
    handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if abandoned(handle):
            os.unlink(path)
    finally:
        os.close(handle)


def abandoned(handle: int) -> bool:
    """Whether the lock of a temporary file is free; where there are no locks, whether it is of yesterday."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return time.time() - os.fstat(handle).st_mtime > STALE_SECONDS
    return True
