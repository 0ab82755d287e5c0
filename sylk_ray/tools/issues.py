"""What an inspection is about and what it finds."""

from __future__ import annotations

import re

import msgspec
import xxhash

from sylk_ray.tools.specs import Severity

_SEVERITIES: dict[str, Severity] = {
    "error": "error",
    "fatal": "error",
    "warning": "warning",
    "warn": "warning",
    "info": "info",
    "note": "info",
    "hint": "info",
}


class ChangedFile(msgspec.Struct, frozen=True):
    """A file of a change; ``added_lines`` are numbers of lines in the new file."""

    path: str
    added_lines: frozenset[int] = frozenset()
    added: int = 0
    removed: int = 0


class Issue(msgspec.Struct, frozen=True):
    """Something to improve; ``file`` is empty if it is about the whole change, ``line`` 0 if unknown."""

    file: str
    line: int
    category: str
    severity: Severity
    message: str
    suggestion: str

    @property
    def id(self) -> str:
        """The same for what is said of a file again, also of another line, and with other numbers."""
        said = "\0".join((self.file, self.category, re.sub(r"\d+", "0", self.message)))
        return f"i-{xxhash.xxh3_64_hexdigest(said.encode(errors='surrogateescape'))[:6]}"


def severity_of(text: str, otherwise: Severity) -> Severity:
    """The severity that a tool's word stands for."""
    return _SEVERITIES.get(text.casefold(), otherwise)
