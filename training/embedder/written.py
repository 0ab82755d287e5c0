"""Files that are there as a whole or not at all, whatever ends the process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """Written beside its place, and put there when it is complete; by several processes at once, too."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    with part.open("wb") as file:
        yield file
    part.replace(path)
