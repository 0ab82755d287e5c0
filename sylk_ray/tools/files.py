"""Text files read and written whole, byte for byte except for what is meant to change."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sylk_ray.tools.errors import ActionFailed

_PLAIN, _EXECUTE = 0o666, 0o111


def is_binary(data: bytes) -> bool:
    """As git sees it: a zero byte makes it binary."""
    return b"\0" in data


def text_of(data: bytes, name: str) -> str:
    """The text of a file, its line endings as they are; ActionFailed if it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ActionFailed(
            f"{name} is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}",
            hint="Only UTF-8 files can be edited; convert the file first, or leave it out.",
        ) from None


def line_ending(text: str) -> str:
    r"""``\r\n`` if most lines end so, otherwise ``\n``."""
    windows = text.count("\r\n")
    return "\r\n" if windows * 2 > text.count("\n") else "\n"


def with_line_ending(text: str, ending: str) -> str:
    """The text with all its line endings of one kind."""
    return text.replace("\r\n", "\n").replace("\n", ending)


def write_atomically(path: Path, data: bytes, *, executable: bool = False) -> None:
    """Write a whole file or nothing; an existing file keeps its mode, a link its target's place."""
    path = path.resolve()
    mode = path.stat().st_mode & 0o7777 if path.exists() else _PLAIN & ~_umask()
    if executable:
        mode |= _EXECUTE & ~_umask()
    descriptor, temporary = tempfile.mkstemp(prefix=".sylk-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Read, not set and reset: that would be seen by other threads."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("Umask:")).split()[1], 8)
