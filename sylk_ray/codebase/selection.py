"""Which files of a folder count as its code, and for any other why not.

A walk judges by names, ignore files and sizes, and reads nothing; what a file holds (``judge``) is judged by whoever
reads it anyway. ``decide`` does all of it for one path. Symbolic links are not followed: what they lead to counts where
it stands, if it stands within the root.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from sylk_ray.codebase.ignoring import IGNORE_FILE, Ignoring
from sylk_ray.codebase.left_out import (
    contents_are_left_out,
    folder_is_left_out,
    folder_shows_itself,
    name_is_left_out,
)

MAX_BYTES = 1_000_000


class Decision(msgspec.Struct, frozen=True):
    """Whether a path counts."""

    counts: bool
    reason: str
    """``source``, or why it does not: ``ignored``, ``binary``, ``generated``, …"""
    rule: str = ""
    """What says so, where something does: ``src/.gitignore:3: *.tmp``, or the folder that is left out as a whole."""


class Found(msgspec.Struct, frozen=True):
    """A file that a walk came across."""

    path: str
    """Relative to the root, with forward slashes."""
    size: int
    mtime_ns: int


_COUNTS = Decision(True, "source")


class Selection:
    """The files of one root that count. It holds no state of the disk: each question looks anew.

    ``max_bytes`` is the size above which a file is not read.
    """

    def __init__(self, root: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self.root = root.resolve()
        self._max_bytes = max_bytes

    def walk(self, within: str = "") -> Iterator[Found]:
        """The files that count by name, ignore files and size, folder by folder. What cannot be listed is
        passed over. ``within`` is a folder of the root to stay in."""
        ignoring, prefix = Ignoring.of_root(self.root)
        if within and not self.decide_by_name(within).counts:
            return
        relative = ""
        for name in within.split("/") if within else ():
            ignoring = ignoring.within(prefix + relative, self.root / relative)
            relative += f"{name}/"
        todo = [(str(self.root / within), relative, ignoring)]
        while todo:
            folder, relative, ignoring = todo.pop()
            try:
                with os.scandir(folder) as entries:
                    here = sorted(entries, key=lambda entry: entry.name)
            except OSError:
                continue
            names = {entry.name for entry in here}
            if relative and (folder_shows_itself(relative[:-1].rsplit("/", 1)[-1], names) or ".git" in names):
                continue
            if IGNORE_FILE in names:
                ignoring = ignoring.within(prefix + relative, Path(folder))
            folders: list[tuple[str, str, Ignoring]] = []
            for entry in here:
                path = relative + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if not folder_is_left_out(entry.name, names) and not ignoring.rule_for(f"{prefix}{path}/"):
                        folders.append((entry.path, f"{path}/", ignoring))
                elif entry.is_file(follow_symlinks=False) and not name_is_left_out(entry.name):
                    found = self._stat(entry, path)
                    if found and not ignoring.rule_for(prefix + path):
                        yield found
            todo.extend(reversed(folders))

    def _stat(self, entry: os.DirEntry[str], path: str) -> Found | None:
        try:
            known = entry.stat(follow_symlinks=False)
        except OSError:
            return None
        return Found(path, known.st_size, known.st_mtime_ns) if known.st_size <= self._max_bytes else None

    def find(self, path: str) -> Found | None:
        """One file as a walk would give it; None if it would not."""
        if not self.decide_by_name(path).counts:
            return None
        try:
            known = (self.root / path).lstat()
        except OSError:
            return None
        return Found(path, known.st_size, known.st_mtime_ns) if stat.S_ISREG(known.st_mode) else None

    def judge(self, path: str, data: bytes) -> Decision:
        """Whether a file that a walk gave counts by its contents too."""
        reason = contents_are_left_out(path, data)
        return Decision(False, reason, path) if reason else _COUNTS

    def decide(self, path: str | Path) -> Decision:
        """Whether one file or folder counts, with what says so. The path is relative to the root, or absolute."""
        by_name = self.decide_by_name(path)
        absolute = Path(os.path.normpath(self.root / path))
        if not by_name.counts or absolute.is_dir():
            return by_name
        try:
            data = absolute.read_bytes()
        except OSError as error:
            return Decision(False, f"cannot be read: {error.strerror or error}")
        return self.judge(absolute.relative_to(self.root).as_posix(), data)

    def decide_by_name(self, path: str | Path) -> Decision:
        """As ``walk`` would: without a look at what it holds."""
        try:
            parts = Path(os.path.normpath(self.root / path)).relative_to(self.root).parts
        except ValueError:
            return Decision(False, "outside of the root", str(self.root))
        ignoring, prefix = Ignoring.of_root(self.root)
        relative = ""
        for name in parts:
            folder = self.root / relative
            try:
                names = {each.name for each in folder.iterdir()}
                mode = (folder / name).lstat()
            except OSError as error:
                return Decision(False, f"cannot be read: {error.strerror or error}", f"{relative}{name}")
            ignoring = ignoring.within(prefix + relative, folder) if IGNORE_FILE in names else ignoring
            here = self._decide_entry(name, relative, names, mode, ignoring, prefix)
            if not here.counts:
                return here
            relative += f"{name}/"
        return _COUNTS

    def _decide_entry(
        self, name: str, relative: str, names: set[str], mode: os.stat_result, ignoring: Ignoring, prefix: str
    ) -> Decision:
        path = relative + name
        is_folder = stat.S_ISDIR(mode.st_mode)
        if stat.S_ISLNK(mode.st_mode):
            return Decision(False, "a symbolic link", path)
        if not is_folder and not stat.S_ISREG(mode.st_mode):
            return Decision(False, "no regular file", path)
        if is_folder:
            within = _names_in(self.root / path)
            reason = folder_is_left_out(name, names) or folder_shows_itself(name, within)
            reason = reason or ("a repository of its own" if ".git" in within else "")
        else:
            reason = name_is_left_out(name)
        if reason:
            return Decision(False, reason, f"{path}/" if is_folder else path)
        if rule := ignoring.rule_for(f"{prefix}{path}/" if is_folder else prefix + path):
            return Decision(False, "ignored", str(rule))
        if not is_folder and mode.st_size > self._max_bytes:
            return Decision(False, f"{mode.st_size:,} bytes, over the {self._max_bytes:,} that are read", path)
        return _COUNTS


def _names_in(folder: Path) -> set[str]:
    try:
        return {each.name for each in folder.iterdir()}
    except OSError:
        return set()


def walk(root: Path, *, max_bytes: int = MAX_BYTES) -> Iterator[Found]:
    """The files of a folder that count by name, ignore files and size."""
    return Selection(root, max_bytes=max_bytes).walk()
