"""What a tool prints: a bounded file, the tail as text, and the latest line for whoever watches.

Reading never stops, since a program that prints more than anybody wants must not block on a full pipe; what
is above the limit is counted and dropped.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

TAIL_BYTES = 64 << 10
_CHUNK = 256 << 10
_PIPE = 1 << 20
_LINE_BYTES = 4096
_LINE_INTERVAL_S = 0.2


class Output:
    """Collects from a pipe on the running event loop. ``write_end`` is for the child, then to be closed."""

    def __init__(self, path: Path | None, limit_bytes: int, on_line: Callable[[str], None] | None = None) -> None:
        self.total_bytes = 0
        self.problem = ""
        """Why the file lacks a part of what is within the limit; empty when it does not."""
        self._limit = limit_bytes
        self._tail = bytearray()
        self._on_line = on_line
        self._partial = b""
        self._line: str | None = None
        self._last_call = float("-inf")
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._file = None if path is None else path.open("wb", buffering=0)
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        with suppress(OSError):  # a user has only so many large pipes; a small one is just slower
            fcntl.fcntl(self._read_end, fcntl.F_SETPIPE_SZ, _PIPE)
        self._loop.add_reader(self._read_end, self._read)

    @property
    def dropped_bytes(self) -> int:
        """How much was printed above the limit."""
        return max(0, self.total_bytes - self._limit)

    def tail(self) -> str:
        """The end of the output, from a line's beginning if it is not all, and is not all of one line."""
        kept = bytes(self._tail[-TAIL_BYTES:])
        if self.total_bytes > len(kept):
            kept = kept[kept.find(b"\n") + 1 :] or kept
        return kept.decode(errors="replace")

    def close_write_end(self) -> None:
        """The child has it now."""
        os.close(self.write_end)
        self.write_end = -1

    def close(self) -> None:
        """Take what is still in the pipe and stop. Somebody may hold the other end, so not until its end."""
        taken = 0
        while taken < 2 * _PIPE and (size := self._read()):
            taken += size
        self._loop.remove_reader(self._read_end)
        os.close(self._read_end)
        if self.write_end != -1:
            self.close_write_end()
        if self._file is not None:
            self._file.close()
        if self._timer is not None:
            self._timer.cancel()
        self._tell()

    def _read(self) -> int:
        try:
            chunk = os.read(self._read_end, _CHUNK)
        except BlockingIOError:
            return 0
        if not chunk:
            self._loop.remove_reader(self._read_end)
            return 0
        self._keep(chunk)
        self.total_bytes += len(chunk)
        self._tail += chunk[-TAIL_BYTES:]
        if len(self._tail) > 4 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]
        if self._on_line is not None:
            self._note_line(chunk)
        return len(chunk)

    def _keep(self, chunk: bytes) -> None:
        """Write what is within the limit. A full disk may cost the file, never the tail that tells of it."""
        if self._file is None or self.problem or self.total_bytes >= self._limit:
            return
        rest = memoryview(chunk)[: self._limit - self.total_bytes]
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self.problem = error.strerror or str(error)

    def _note_line(self, chunk: bytes) -> None:
        end = chunk.rfind(b"\n")
        if end < 0:
            self._partial = (self._partial + chunk)[-_LINE_BYTES:]
            return
        begin = chunk.rfind(b"\n", 0, end) + 1
        line = chunk[begin:end] if begin else self._partial + chunk[:end]
        self._partial = chunk[end + 1 :][-_LINE_BYTES:]
        self._line = line[-_LINE_BYTES:].decode(errors="replace").rstrip("\r").rpartition("\r")[2]
        wait = self._last_call + _LINE_INTERVAL_S - self._loop.time()
        if wait <= 0:
            self._tell()
        elif self._timer is None:
            self._timer = self._loop.call_later(wait, self._tell)

    def _tell(self) -> None:
        self._timer = None
        if self._on_line is not None and self._line is not None:
            line, self._line = self._line, None
            self._last_call = self._loop.time()
            self._on_line(line)
