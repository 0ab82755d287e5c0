"""Keys of providers: where they are read from, and how they are kept out of everything else."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from sylk_ray.llm.errors import KeyMissing

HIDDEN = "***"
_LOOKS_LIKE_A_KEY = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{12,}"  # OpenAI, Anthropic, OpenRouter
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"
    r"|\bhf_[A-Za-z0-9]{20,}|\bgsk_[A-Za-z0-9]{20,}|\bxai-[A-Za-z0-9]{20,}|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\bAKIA[A-Z0-9]{16}\b|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"  # a JSON web token
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?i:(?<=bearer )[A-Za-z0-9._~+/-]{12,}=*)",
    re.DOTALL,
)


class Key:
    """A key that is read anew for each request, so that a changed one holds at once, and that nothing prints."""

    def __init__(self, variable: str = "", file: Path | None = None, environment: Mapping[str, str] | None = None):
        self._variable = variable
        self._file = file
        self._environment = os.environ if environment is None else environment

    def read(self) -> str:
        """The key, or nothing when the settings name none. Raises KeyMissing."""
        if self._file is not None:
            return _read(self._file.expanduser())
        if not self._variable:
            return ""
        key = self._environment.get(self._variable, "").strip()
        if not _is_one(key):
            raise KeyMissing(
                f"the environment's {self._variable} does not hold a model's key",
                hint=f"export {self._variable} where `sylk up` is called, or use api_key_file",
            )
        return key

    def hide(self, text: str) -> str:
        """A text without the key, and without what looks like any key."""
        try:
            return hide_keys(text, [self.read()])
        except KeyMissing:
            return hide_keys(text)

    def standing(self) -> str:
        """Where it is, and whether it is there."""
        where = self._variable or str(self._file or "")
        if not where:
            return "none needed"
        try:
            self.read()
        except KeyMissing:
            return f"{where} (not there)"
        return where

    def __repr__(self) -> str:
        """Where it is, not what it is."""
        return f"Key({self._variable or self._file or ''!s})"

    def __reduce__(self) -> tuple[object, ...]:
        """Only where it is leaves the process."""
        return (Key, (self._variable, self._file))


def hide_keys(text: str, known: Iterable[str] = ()) -> str:
    """A text with ``***`` for the known keys and for all that has the form of one."""
    for key in known:
        if len(key) >= 4:
            text = text.replace(key, HIDDEN)
    return _LOOKS_LIKE_A_KEY.sub(HIDDEN, text)


def _read(file: Path) -> str:
    try:
        with file.open() as opened:
            found = os.fstat(opened.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_uid not in (os.getuid(), 0):
                raise KeyMissing(f"{file}, which holds a model's key, is not a file of yours")
            if stat.S_IMODE(found.st_mode) & 0o077:
                raise KeyMissing(f"others may read {file}, which holds a model's key", hint=f"chmod 600 {file}")
            key = opened.read(4097).strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise KeyMissing(f"the file of a model's key cannot be read: {problem}") from None
    if not _is_one(key):
        raise KeyMissing(f"{file} does not hold one key", hint="put the key alone into it, on one line")
    return key


def _is_one(key: str) -> bool:
    """Whether it can be in a header."""
    return 0 < len(key) <= 4096 and key.isascii() and key.isprintable() and " " not in key
