"""Server-sent events out of bytes, as they come."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST = 16 << 20
"""Bytes of one event; a longer one is no answer of a model."""


class EventTooLong(Exception):
    """An event has no end."""


class EventStream:
    """Takes bytes cut anywhere, gives the ``data`` of whole events (WHATWG HTML, section 9.2.6).

    Lines end at CR, LF or both and at nothing else: the JSON within may hold other separators, as they are.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[bytes] = []

    def feed(self, more: bytes) -> Iterator[bytes]:
        """The events that are now complete. Raises EventTooLong."""
        self._rest += more
        while (end := self._line_end()) is not None:
            at, length = end
            line = bytes(self._rest[:at])
            del self._rest[: at + length]
            if not line:
                if self._data:
                    yield b"\n".join(self._data)
                    self._data = []
            elif line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
        if len(self._rest) + sum(map(len, self._data)) > LONGEST:
            raise EventTooLong

    def _line_end(self) -> tuple[int, int] | None:
        """Where the first line ends, and how long its end is."""
        line, carriage = self._rest.find(b"\n"), self._rest.find(b"\r")
        if carriage < 0 or 0 <= line < carriage:
            return (line, 1) if line >= 0 else None
        if carriage + 1 == len(self._rest):
            return None  # its line feed may be still to come
        return carriage, 2 if self._rest[carriage + 1] == ord("\n") else 1
