"""Who computes what, where several runs share a folder: each claims its protocol, and each job before it starts.

The claims are byte-range locks on one file: a byte per job. They end with their process, however it ends.
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

NAME = "claims.lock"
PROTOCOL_BYTE = 2**60
ATTEMPTS = 50
# A file system that has no locks answers with one of these: runs go on without claims.
NO_LOCKS = {errno.EPERM, errno.ENOSYS, errno.ENOLCK, errno.EINVAL, errno.EOPNOTSUPP}
HELD = {errno.EACCES, errno.EAGAIN}


class Claims:
    """The claims of one run on a results folder; what it holds is given back at its end."""

    def __init__(self, folder: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.path = folder / NAME
        self.say = say
        self.without = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # One handle for all: closing any handle of the file would give every claim back.
            self.handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise StoreError(f"{error.filename}: cannot write: {error.strerror}") from None

    def close(self) -> None:
        """Give everything back."""
        os.close(self.handle)

    def protocol(self, write: Callable[[], object], same: Callable[[], bool]) -> None:
        """Who is alone in the folder writes its config; others may join where they have the same.

        ``write`` puts the config there, and ``same`` tells whether what is there agrees with it.
        """
        for _ in range(ATTEMPTS):
            if self._lock(fcntl.LOCK_EX, PROTOCOL_BYTE):
                write()
                self._lock(fcntl.LOCK_SH, PROTOCOL_BYTE)
                return
            if self._lock(fcntl.LOCK_SH, PROTOCOL_BYTE):
                break
            time.sleep(0.1)  # the other is just writing its config
        if not same():
            raise ConfigError(
                f"{self.path.parent}: another run is writing here with another config; "
                "wait for its end, or choose another --output"
            )
        write()

    def job(self, dataset: str, split: int) -> bool:
        """Whether a job is ours now; False where another run has it in hand."""
        return self._lock(fcntl.LOCK_EX, byte_of(dataset, split))

    def release(self, dataset: str, split: int) -> None:
        """A job that is done, or given up."""
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
                f"warning: {self.path}: {error.strerror}: runs in one folder are not kept apart"
            )
        return True


def byte_of(dataset: str, split: int) -> int:
    """The byte of a job, below that of the protocol."""
    digest = hashlib.sha256(f"{dataset}\x1f{split}".encode()).digest()
    return int.from_bytes(digest[:7], "big")
