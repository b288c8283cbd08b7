"""Locks for concurrent runs in one results folder: each run locks its protocol, and each job before computing it.

The locks are byte ranges of one file, a byte per job. The system releases them when their process ends for any
reason.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from kselect.errors import ConfigError, StoreError

LOCK_FILE = "claims.lock"
PROTOCOL_BYTE = 2**60
ATTEMPTS = 50
# A file system without locks answers with one of these; runs then go on without locks.
NO_LOCKS = {errno.EPERM, errno.ENOSYS, errno.ENOLCK, errno.EINVAL, errno.EOPNOTSUPP}
HELD = {errno.EACCES, errno.EAGAIN}


class FolderLocks:
    """The locks of one run in a results folder; ``close`` releases them all."""

    def __init__(self, folder: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.path = folder / LOCK_FILE
        self.say = say
        self.without = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # A single handle: closing any handle of the file would release all locks of the process.
            self.handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise StoreError(f"{error.filename}: cannot write: {error.strerror}") from None

    def close(self) -> None:
        """Release every lock."""
        os.close(self.handle)

    def protocol(self, write: Callable[[], object], same: Callable[[], bool]) -> None:
        """Lock the protocol: the only run in a folder writes its config; others may join with the same one.

        ``write`` stores the config of this run, and ``same`` tells whether the stored one agrees with it.
        """
        for _ in range(ATTEMPTS):
            if self._lock(fcntl.LOCK_EX, PROTOCOL_BYTE):
                write()
                self._lock(fcntl.LOCK_SH, PROTOCOL_BYTE)
                return
            if self._lock(fcntl.LOCK_SH, PROTOCOL_BYTE):
                break
            time.sleep(0.1)  # another run is writing its config
        if not same():
            raise ConfigError(
                f"{self.path.parent}: another run is writing here with another config; "
                "wait for its end, or choose another --output"
            )
        write()

    def job(self, dataset: str, split: int) -> bool:
        """Lock a job; return False if another run holds it."""
        return self._lock(fcntl.LOCK_EX, byte_of(dataset, split))

    def release(self, dataset: str, split: int) -> None:
        """Release a job."""
        self._lock(fcntl.LOCK_UN, byte_of(dataset, split))

    def _lock(self, kind: int, byte: int) -> bool:
        if self.without:
            return True
        try:
            wait_not = 0 if kind == fcntl.LOCK_UN else fcntl.LOCK_NB
            fcntl.lockf(self.handle, kind | wait_not, 1, byte)
        except OSError as error:
            if error.errno in HELD:
                return False
            if error.errno not in NO_LOCKS:
                raise StoreError(f"{self.path}: cannot lock: {error.strerror}") from None
            self.without = True
            self.say(
                f"warning: {self.path}: {error.strerror}: concurrent runs in one folder may repeat work"
            )
        return True


def byte_of(dataset: str, split: int) -> int:
    """Return the byte of a job; all of them lie below PROTOCOL_BYTE."""
    digest = hashlib.sha256(f"{dataset}\x1f{split}".encode()).digest()
    return int.from_bytes(digest[:7], "big")
