"""Which lines of files match: imported, and also a program by itself, which reads a regular expression and the files'
names from its input, with NUL between, and writes the lines."""

import os
import re
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MOST, LARGEST, LONGEST = 100, 4 << 20, 200
"""Lines, bytes of a file, and characters of a line."""


def matching(
    pattern: "re.Pattern[str]", names: "Iterable[str]", read: "Callable[[str], bytes | None]"
) -> "Iterator[str]":
    """``path:line: text`` of the first lines, and that there are more. ``read`` gives nothing for what cannot be read,
    and may give more than ``LARGEST`` of what is too large."""
    found = 0
    for name in names:
        data = read(name)
        if data is None or len(data) > LARGEST or b"\0" in data[:8192]:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if pattern.search(line):
                if found == MOST:
                    yield "... and more: ask more narrowly"
                    return
                found += 1
                yield f"{name}:{number}: {line.strip()[:LONGEST]}"


def _read(name: str) -> "bytes | None":
    """Of what is no file of this folder (any more), or holds up who opens it, nothing."""
    real = os.path.realpath(name)
    if not real.startswith(os.getcwd() + os.sep):  # noqa: PTH109 - pathlib is slow to import
        return None
    try:
        file = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(file, "rb") as opened:  # noqa: PTH123
            return opened.read(LARGEST + 1) if stat.S_ISREG(os.fstat(file).st_mode) else None
    except OSError:
        return None


def _main() -> None:
    pattern, *names = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").split("\0")
    with open(1, "w", encoding="utf-8", errors="replace") as out:
        for line in matching(re.compile(pattern), filter(None, names), _read):
            out.write(f"{line}\n")


if __name__ == "__main__":
    _main()
