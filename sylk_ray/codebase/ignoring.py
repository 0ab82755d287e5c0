"""What the .gitignore files of a tree leave out, and which line of which file says so.

The rules of a folder are those of its own file on top of its parents', and the last pattern that matches wins. Nothing
within a folder that is left out can be taken in again, so a path is asked about folder by folder, as git does.
Source: gitignore(5).
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import NamedTuple

from sylk_ray.codebase.globs import read_glob

IGNORE_FILE = ".gitignore"


class IgnoreRule(NamedTuple):
    """A line of an ignore file."""

    file: str
    line: int
    pattern: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.pattern}"


_FOLDER = "ps_d"
"""The group of pathspec's expressions that is there when what is below a match would match too."""


class IgnoreFile:
    """One ignore file, and the folder that its patterns are relative to (``base``: ``""`` or ``"src/"``)."""

    def __init__(self, base: str, shown_as: str, text: str) -> None:
        self.base = base
        self._rules: list[tuple[IgnoreRule, bool, re.Pattern[str]]] = []
        """The last first, each with whether it leaves out."""
        for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                # Git takes a line that is no pattern for one that matches nothing.
                with contextlib.suppress(ValueError, re.error):
                    if glob := read_glob(line):
                        rule = IgnoreRule(shown_as, number, line.strip())
                        self._rules.insert(0, (rule, not glob.takes_out, glob.regex))
        # Most paths are said nothing of, and one expression tells so sooner than one for each line.
        every = (regex.pattern.replace(f"?P<{_FOLDER}>", "?:") for _, _, regex in self._rules)
        self._any = re.compile("|".join(f"(?:{each})" for each in every))

    def verdict(self, path: str) -> tuple[bool, IgnoreRule] | None:
        """Whether it leaves a path out (True) or takes it in again (False); None if it says nothing."""
        inner = path[len(self.base) :]
        if self._rules and self._any.search(inner):
            for rule, leaves_out, regex in self._rules:
                if _matches(regex, inner):
                    return leaves_out, rule
        return None


def _matches(regex: re.Pattern[str], path: str) -> bool:
    """Whether a pattern is of this path itself. That it is of a folder above says nothing here: folders are asked for
    one by one, from the top, and what is in one that is left out is never asked for."""
    if _FOLDER not in regex.groupindex:
        return regex.search(path) is not None
    return any(match.end() == len(path) for match in regex.finditer(path))


class Ignoring:
    """The ignore files that hold in one folder, outermost first."""

    def __init__(self, files: tuple[IgnoreFile, ...] = ()) -> None:
        self._files = files

    @classmethod
    def of_root(cls, root: Path) -> tuple[Ignoring, str]:
        """What holds in a folder by what stands above it, and the folder's own path within its repository.

        That path ends in a slash, or is empty at the top of a repository or outside of one.
        """
        top = next((each for each in (root, *root.parents) if (each / ".git").exists()), None)
        if top is None:
            return cls(), ""
        ignoring = cls()._with("", ".git/info/exclude", _exclude_file(top))
        prefix = ""
        for name in root.relative_to(top).parts:
            ignoring = ignoring.within(prefix, top / prefix)
            prefix += f"{name}/"
        return ignoring, prefix

    def within(self, base: str, folder: Path) -> Ignoring:
        """With the folder's own .gitignore, if it has one and that is no symbolic link."""
        file = folder / IGNORE_FILE
        return self if file.is_symlink() else self._with(base, f"{base}{IGNORE_FILE}", file)

    def _with(self, base: str, shown_as: str, file: Path) -> Ignoring:
        text = _text_of(file)
        return Ignoring((*self._files, IgnoreFile(base, shown_as, text))) if text else self

    def rule_for(self, path: str) -> IgnoreRule | None:
        """The rule that leaves a path out, None if none does. A folder's path ends in a slash."""
        for file in reversed(self._files):
            verdict = file.verdict(path)
            if verdict is not None:
                return verdict[1] if verdict[0] else None
        return None


def _exclude_file(top: Path) -> Path:
    """Of a repository, or of the one that a worktree belongs to."""
    git = top / ".git"
    pointer = _text_of(git)
    if pointer.startswith("gitdir:"):
        git = top / pointer.removeprefix("gitdir:").strip()
        git /= _text_of(git / "commondir").strip()
    return git / "info" / "exclude"


def _text_of(file: Path) -> str:
    """Empty if it cannot be read, or is no regular file: a pipe would be waited for."""
    try:
        return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    except (OSError, ValueError):
        return ""
