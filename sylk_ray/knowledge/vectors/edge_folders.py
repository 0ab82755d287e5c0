"""Where the embedded engine keeps a scope: a folder named by its hash, with one shard a generation.

``scope.json`` says which generation counts. Another one is built beside it, and counts from the moment that this small
file is replaced, which is atomic; what a crash leaves of others is removed on opening. A shard that was closed in order
is sealed with the sizes of its files, since the engine reads some of them without noticing that they are cut off.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
from pathlib import Path

import msgspec

from sylk_ray.knowledge.vectors.errors import StoreDamaged, VectorStoreFailed
from sylk_ray.knowledge.vectors.model import VectorSpace

FORMAT = 1
RECORD = "scope.json"
SEAL = "sealed.json"
REMOVED = "removed-"
ROOM = 64 << 20
"""Bytes that must be free on the disk for vectors to be opened or written. The engine maps files that are larger than
what they hold yet, and reads all of them when it opens them: where the disk has no room for that, the system kills the
process. Some 60 MB were taken by a scope that was opened on a tmpfs, which gives what is read its room."""
HINT = "drop the scope and store its points again from the nodes that they belong to"


class ScopeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What ``scope.json`` holds."""

    format: int = FORMAT
    scope: str
    space: VectorSpace
    generation: int


def folder_of(directory: Path, scope: str) -> Path:
    return directory / hashlib.blake2b(scope.encode(), digest_size=16).hexdigest()


def generation_of(folder: Path, generation: int) -> Path:
    return folder / f"g{generation}"


def check_room(folder: Path) -> None:
    """Raises VectorStoreFailed where less than ``ROOM`` is free."""
    free = shutil.disk_usage(folder).free
    if free < ROOM:
        raise VectorStoreFailed(
            f"there is no room for vectors in {folder}: {free >> 20} MB are free on its disk, and {ROOM >> 20} MB must "
            "be",
            hint="make room; what was stored before is kept",
        )


def read_record(folder: Path) -> ScopeRecord | None:
    """None for a scope that never came to be. Raises StoreDamaged."""
    try:
        record = msgspec.json.decode((folder / RECORD).read_bytes(), type=ScopeRecord)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, OSError) as error:
        raise StoreDamaged(f"{folder / RECORD} cannot be read: {error}", hint=HINT) from error
    if record.format != FORMAT:
        raise StoreDamaged(
            f"{folder} is of format {record.format}, and this version knows {FORMAT}",
            hint=f"use the version that wrote it, or {HINT}",
        )
    return record


def begin_record(folder: Path, record: ScopeRecord) -> None:
    """Of a new scope: atomic, and on the disk some time later, as its shard is."""
    new = folder / f"{RECORD}.new"
    new.write_bytes(msgspec.json.encode(record))
    new.replace(folder / RECORD)


def write_record(folder: Path, record: ScopeRecord) -> None:
    """Atomic, and on the disk when it returns, with the shard that it names."""
    sync_tree(generation_of(folder, record.generation))
    _write_durably(folder / RECORD, msgspec.json.encode(record))
    sync_directory(folder.parent)


def remove_leftovers(folder: Path, keep: int) -> None:
    """Generations that never counted, or no longer do."""
    for each in folder.glob("g*"):
        if each.name != f"g{keep}":
            shutil.rmtree(each, ignore_errors=True)


def set_aside(folder: Path) -> Path:
    """Rename it, so that it is gone at once though its files are in use; they are removed when they no longer are."""
    for number in range(1_000_000):
        aside = folder.with_name(f"{REMOVED}{folder.name}-{number}")
        with contextlib.suppress(OSError):
            folder.rename(aside)
            break
        if not folder.exists():
            break
    else:
        raise OSError(errno.EEXIST, "too many removed scopes", str(folder))
    sync_directory(folder.parent)
    return aside


def seal(shard: Path) -> None:
    """After the engine has closed it in order."""
    _write_durably(shard / SEAL, msgspec.json.encode(_sizes(shard)))


def break_seal(shard: Path) -> None:
    """Before the engine opens it. Raises StoreDamaged when a file is not as it was."""
    if not shard.is_dir():
        raise StoreDamaged(f"{shard} is missing", hint=HINT)
    try:
        sealed = msgspec.json.decode((shard / SEAL).read_bytes(), type=dict[str, int])
    except FileNotFoundError:
        return
    except msgspec.DecodeError as error:
        raise StoreDamaged(f"{shard / SEAL} cannot be read: {error}", hint=HINT) from error
    found = _sizes(shard)
    for name, size in sealed.items():
        if found.get(name) != size:
            now = "missing" if name not in found else f"of {found[name]} bytes"
            raise StoreDamaged(f"{shard / name} is {now}, and was of {size} bytes", hint=HINT)
    (shard / SEAL).unlink()
    sync_directory(shard)


def copy_shard(source: Path, target: Path) -> None:
    """With its holes, and with its log: a shard without counts its updates from 0 again, and passes over those that
    are older by this number than the points that they change."""
    for folder, _, files in os.walk(source):
        here = target / Path(folder).relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        for name in files:
            _copy_sparse(Path(folder) / name, here / name)


def bytes_on_disk(folder: Path) -> int:
    total = 0
    for each in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += each.stat().st_blocks * 512
    return total


def sync_tree(folder: Path) -> None:
    """It, and all files and directories below it, are on the disk when it returns."""
    for here, _, files in os.walk(folder):
        for name in files:
            descriptor = os.open(Path(here) / name, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_directory(Path(here))


def _sizes(shard: Path) -> dict[str, int]:
    return {
        str(each.relative_to(shard)): each.stat().st_size
        for each in shard.rglob("*")
        if each.is_file() and each.name != SEAL
    }


def _copy_sparse(source: Path, target: Path) -> None:
    with source.open("rb", buffering=0) as read, target.open("wb", buffering=0) as write:
        size = os.fstat(read.fileno()).st_size
        write.truncate(size)
        at = 0
        while at < size:
            try:
                start = os.lseek(read.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    return
                raise
            at = end = os.lseek(read.fileno(), start, os.SEEK_HOLE)
            write.seek(start)
            while start < end:
                sent = os.sendfile(write.fileno(), read.fileno(), start, end - start)
                if not sent:
                    return
                start += sent


def _write_durably(path: Path, content: bytes) -> None:
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_directory(path.parent)


def sync_directory(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
