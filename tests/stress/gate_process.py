"""A writer or a reader of the gate as a process: ``python gate_process.py writer|reader DIRECTORY SEED``.

They talk by datagrams of which some are lost on purpose, read snapshots where they are mapped from files, and say what
happened in files that only grow: ``stored``, ``acknowledged``, ``refused`` (what absent words were) and ``wrong``.
"""

from __future__ import annotations

import contextlib
import mmap
import random
import socket
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np

from sylk_ray.knowledge.gate import (
    Built,
    Confirm,
    Gate,
    Grant,
    LeaseTerms,
    No,
    Publisher,
    Push,
    Reader,
    Renew,
    document_keys,
)

TERMS = LeaseTerms(duration_s=0.5)
LOST = 0.05
REBUILD_AT = 150
WRITE_EVERY_S = 0.002

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Renew | Confirm | Grant | Push).decode


def word(number: int) -> str:
    """A name of letters alone for each number."""
    return "q" + "".join(chr(ord("a") + int(digit)) for digit in str(number))


class Post:
    """Datagrams to names in the directory."""

    def __init__(self, directory: Path, name: str, chance: random.Random) -> None:
        self._directory = directory
        self._chance = chance
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        path = directory / f"{name}.sock"
        path.unlink(missing_ok=True)
        self._socket.bind(str(path))

    def send(self, name: str, message: object) -> None:
        if self._chance.random() >= LOST:
            with contextlib.suppress(OSError):
                self._socket.sendto(encode(message), str(self._directory / f"{name}.sock"))

    def received(self, wait_s: float) -> list[Renew | Confirm | Grant | Push]:
        """Those that are there, or come in that time."""
        until = time.monotonic() + wait_s
        found: list[Renew | Confirm | Grant | Push] = []
        self._socket.settimeout(max(1e-4, wait_s))
        with contextlib.suppress(TimeoutError, BlockingIOError):
            while True:
                found.append(decode(self._socket.recv(1 << 20)))
                if time.monotonic() > until:
                    break
                self._socket.settimeout(1e-4)
        return found


def add(file: BinaryIO, number: int) -> None:
    """One line, whole or not at all, that outlives this process."""
    file.write(b"%d\n" % number)


class Lines:
    """What others add to a file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._rest = b""

    def new(self) -> list[int]:
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        return [int(each) for each in lines]


def short(name: str) -> str:
    return name[:12]


def write(directory: Path, seed: int) -> None:
    chance = random.Random(seed)
    post = Post(directory, "writer", chance)
    stored = Lines(directory / "stored").new()
    keys = {key for number in stored for key in document_keys(word(number))}
    publisher = Publisher(np.fromiter(keys, dtype=np.uint64), terms=TERMS)
    save_snapshot(directory, publisher)
    next_number = len(stored)
    waiting: list[tuple[int, int]] = []
    readers: set[str] = set()
    building: Future[Built] | None = None
    last_write = 0.0
    with (
        (directory / "stored").open("ab", buffering=0) as store,
        (directory / "acknowledged").open("ab", buffering=0) as acknowledge,
        ThreadPoolExecutor(1) as builders,
    ):
        while True:
            for message in post.received(WRITE_EVERY_S):
                if isinstance(message, Renew):
                    readers.add(short(message.reader))
                    post.send(short(message.reader), publisher.granted(message))
                elif isinstance(message, Confirm):
                    publisher.confirmed(message)
            if time.monotonic() - last_write > WRITE_EVERY_S and len(waiting) < 100:
                last_write = time.monotonic()
                add(store, next_number)
                push = publisher.publish(document_keys(word(next_number)))
                waiting.append((push.deltas[-1].version, next_number))
                next_number += 1
                for reader in readers:
                    post.send(reader, push)
            while waiting and publisher.acknowledged(waiting[0][0]):
                add(acknowledge, waiting.pop(0)[1])
            if building is None and publisher.pending > REBUILD_AT:
                building = builders.submit(publisher.begin_rebuild().build)
            elif building is not None and building.done():
                publisher.finish_rebuild(building.result())
                save_snapshot(directory, publisher)
                building = None


def snapshot_path(directory: Path, epoch: bytes, base: int) -> Path:
    return directory / f"{epoch.hex()}-{base}.snapshot"


def save_snapshot(directory: Path, publisher: Publisher) -> None:
    path = snapshot_path(directory, publisher.epoch, publisher.base)
    new = path.with_suffix(".new")
    new.write_bytes(publisher.snapshot)
    new.replace(path)
    for each in sorted(directory.glob("*.snapshot"), key=lambda each: each.stat().st_mtime_ns)[:-3]:
        each.unlink()


def mapped(path: Path) -> mmap.mmap | None:
    """None when it was replaced since."""
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    except OSError:
        return None


def read(directory: Path, seed: int) -> None:
    chance = random.Random(seed)
    reader = Reader(terms=TERMS)
    gate = Gate({"code": reader})
    post = Post(directory, short(reader.name), chance)
    acknowledged = Lines(directory / "acknowledged")
    known: list[int] = []
    renew_at = 0.0
    with (
        (directory / "refused").open("ab", buffering=0) as refused,
        (directory / "wrong").open("ab", buffering=0) as wrong,
    ):
        while True:
            if time.monotonic() > renew_at:
                renew_at = time.monotonic() + TERMS.renew_every_s / 2
                post.send("writer", reader.renew())
            for message in post.received(0.001):
                said = None
                if isinstance(message, Grant):
                    needs = reader.needs_snapshot(message)
                    snapshot = mapped(snapshot_path(directory, message.epoch, message.base)) if needs else None
                    said = reader.accept(message, snapshot)
                elif isinstance(message, Push):
                    said = reader.follow(message)
                if said is not None:
                    post.send("writer", said)
            fresh = acknowledged.new()
            known += fresh
            for number in fresh + chance.sample(known, min(20, len(known))):
                if isinstance(gate.check("code", word(number)), No):
                    add(wrong, number)
            absent = chance.randrange(10**12, 10**13)
            if isinstance(gate.check("code", word(absent)), No):
                add(refused, absent)


if __name__ == "__main__":
    {"writer": write, "reader": read}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
