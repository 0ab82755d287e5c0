"""Disks that are small, for tests of what a full one does."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(at: Path, megabytes: int) -> Iterator[Path]:
    """A tmpfs of so many at a new folder, while within; the test is skipped where none may be mounted."""
    at.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "sylk-test", str(at)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode != 0:
        pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


def take_all_room(disk: Path) -> Path:
    """Fill a disk; the file that does."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue  # a smaller piece may have room
    return filler
