"""Which files are others than they were, by what was remembered of them.

A file whose size and time of change are the remembered ones is taken for the same and not read, but for one case: one
that was changed so shortly before it was looked at that a later change could have got the same time. Such a stamp is
not trusted, and the file is read again (git's "racy" entries: Documentation/technical/racy-git).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

import msgspec
import xxhash

from sylk_ray.codebase.selection import Found, Selection

RACY_NS = 20_000_000
"""Nanoseconds before a look within which a change is not told from a later one: coarser than any clock of a file system
that is in use on Linux (a tick is at most 10 ms)."""


class Stamp(msgspec.Struct, frozen=True):
    """What is remembered of a file."""

    size: int
    mtime_ns: int
    """When it was last changed; 0 if that is not to be trusted."""
    hash: str
    """16 hexadecimal digits of xxh3-64 over its bytes."""
    counts: bool = True
    """False for one that was read and found to be no source: it is remembered so that it is not read again."""


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What is another than it was. Paths are in order; only files that count are named."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    """(before, after) of those among ``removed`` and ``added`` whose contents are the same."""
    stamps: dict[str, Stamp]
    """What to remember now, in place of what was given."""

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def changes(
    selection: Selection,
    remembered: Mapping[str, Stamp],
    *,
    only: Iterable[str] | None = None,
    expecting: Callable[[int], None] | None = None,
    now_ns: Callable[[], int] = time.time_ns,
) -> Changes:
    """Compares a root with what is remembered of it.

    ``only`` names the paths to look at: files and folders, that exist or do not any more; without it the whole root is
    walked. ``expecting`` is told how many files look as if they were new or had changed, before they are read. A file
    that cannot be read is left as it was remembered, or out.
    """
    if only is None:
        present = list(selection.walk())
        gone = remembered.keys() - {found.path for found in present}
    else:
        wanted = set(only)
        present = list({found.path: found for path in sorted(wanted) for found in _present(selection, path)}.values())
        gone = {path for path in remembered if _is_within(path, wanted)} - {found.path for found in present}
    stamps = dict(remembered)
    before = {path: stamps.pop(path) for path in gone}
    added: list[str] = []
    changed: list[str] = []
    removed = {path for path, stamp in before.items() if stamp.counts}
    doubtful = [found for found in present if not _is_as_it_was(found, remembered.get(found.path))]
    if expecting is not None:
        expecting(len(doubtful))
    for found in doubtful:
        known = remembered.get(found.path)
        stamp = _stamp(selection, found, known, now_ns())
        if stamp is None:
            continue
        stamps[found.path] = stamp
        did_count = known is not None and known.counts
        if stamp.counts and not did_count:
            added.append(found.path)
        elif did_count and not stamp.counts:
            removed.add(found.path)
        elif stamp.counts and known and stamp.hash != known.hash:
            changed.append(found.path)
    return Changes(
        added=tuple(sorted(added)),
        changed=tuple(sorted(changed)),
        removed=tuple(sorted(removed)),
        renamed=_renamed(before, added, stamps),
        stamps=stamps,
    )


def _is_as_it_was(found: Found, known: Stamp | None) -> bool:
    return known is not None and known.size == found.size and known.mtime_ns == found.mtime_ns


def _present(selection: Selection, path: str) -> list[Found]:
    if (selection.root / path).is_dir():
        return list(selection.walk(path))
    found = selection.find(path)
    return [found] if found else []


def _is_within(path: str, wanted: set[str]) -> bool:
    """Whether a path is one of some, or stands in one of them that is a folder, or was."""
    while path:
        if path in wanted:
            return True
        path = path.rpartition("/")[0]
    return False


def _stamp(selection: Selection, found: Found, known: Stamp | None, now_ns: int) -> Stamp | None:
    try:
        data = (selection.root / found.path).read_bytes()
    except OSError:
        return None
    digest = xxhash.xxh3_64_hexdigest(data)
    counts = known.counts if known and known.hash == digest else selection.judge(found.path, data).counts
    is_racy = len(data) != found.size or found.mtime_ns + RACY_NS > now_ns
    return Stamp(len(data), 0 if is_racy else found.mtime_ns, digest, counts)


def _renamed(
    gone: Mapping[str, Stamp], added: Iterable[str], stamps: Mapping[str, Stamp]
) -> tuple[tuple[str, str], ...]:
    by_hash: dict[str, list[str]] = {}
    for path in sorted(gone):
        if gone[path].counts and gone[path].size:
            by_hash.setdefault(gone[path].hash, []).append(path)
    pairs: list[tuple[str, str]] = []
    for path in sorted(added):
        if same := by_hash.get(stamps[path].hash):
            pairs.append((same.pop(0), path))
    return tuple(pairs)
