"""One process at a time opens a directory: it holds a lock that the kernel lets go when the process ends, however."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from sylk_ray.knowledge.vectors.errors import StoreInUse

FILE = "owner"


class Ownership:
    """Held from its creation until ``release``. Raises StoreInUse that names the process which has it."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.open(directory / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._file, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise StoreInUse(
                f"process {holder} has opened {directory}",
                hint="ask it through the runtime, or end it: one process at a time may open it",
            ) from None
        except BaseException:
            os.close(self._file)
            raise
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """More than once is once."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Ownership:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()
