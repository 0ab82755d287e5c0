"""The text of a file of a root, the same for who indexes it and for who shows it."""

from __future__ import annotations

import os
from pathlib import Path

from sylk_ray.codebase.left_out import text_of


def text_at(root: Path, path: str) -> str | None:
    """With line feeds alone between its lines, and without a byte order mark; None if it cannot be read, is no text, or
    is not where the path says: no symbolic link is followed."""
    file = root / path
    try:
        # As ``file.resolve() != file``, in half the time.
        if os.path.realpath(file) != str(file):
            return None
        text = text_of(file.read_bytes())
    except (OSError, ValueError):
        return None
    return None if text is None else text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def lines_at(root: str, path: str) -> list[str] | None:
    """The lines of a file; see ``text_at``."""
    text = text_at(Path(root), path)
    return None if text is None else text.split("\n")
