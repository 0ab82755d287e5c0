"""Files that are there as a whole or not at all, whatever ends the process."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """Written beside its place, and put there when it is complete; by several processes at once, too."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def named_by(path: Path, *made_of: object) -> Path:
    """The path with the beginning of a checksum of what the file is made of: of something else, another file."""
    return path.with_stem(f"{path.stem}-{hashlib.sha256(repr(made_of).encode()).hexdigest()[:12]}")
