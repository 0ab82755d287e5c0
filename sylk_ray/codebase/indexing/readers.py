"""Files read, cut and encoded: here, or when there are many, in processes of their own.

Reading is most of the work of an indexing, and in Python it would hold up every search of the process that owns the
knowledge. A reader's process also takes the parser's crashes upon itself: its files are then read again one by one, and
the one that does it is read as plain text.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO

import msgspec

from sylk_ray.codebase import processes
from sylk_ray.codebase.indexing.collecting import without_collector
from sylk_ray.codebase.indexing.nodes import FileNodes, nodes_of
from sylk_ray.codebase.outline import Outline
from sylk_ray.codebase.texts import text_at
from sylk_ray.knowledge import Node
from sylk_ray.knowledge.embedding import Embedder, StaticEmbedder
from sylk_ray.knowledge.embedding.shipped import NAME
from sylk_ray.knowledge.encoding import Encoded, encode
from sylk_ray.knowledge.store.outbox import VectorRow

log = logging.getLogger("sylk.codebase")

AHEAD = 2
"""Batches that each process is given before the first is taken."""
_LENGTH = struct.Struct("<I")


class FileRead(msgspec.Struct, frozen=True, gc=False):
    """One file as it is stored."""

    outline: Outline
    searched: list[Node]
    named: list[Node]
    rows: list[VectorRow]
    """Of ``searched``; none where they were not encoded."""


class FilesRead(msgspec.Struct, frozen=True, gc=False):
    """Files that were read together."""

    files: list[FileRead]
    keys: set[int] = set()
    """What the gate must know of them; nothing where they were not encoded."""


class _Batch(msgspec.Struct):
    scope: str
    root: str
    paths: list[str]
    encoded: bool
    as_text: bool = False
    following: list[str] = []
    """What will probably be asked for next: it is begun when these were read, and not only when it is asked for."""


_encode = msgspec.msgpack.Encoder().encode
_decode_batch = msgspec.msgpack.Decoder(_Batch).decode
_decode_files = msgspec.msgpack.Decoder(FilesRead).decode


def read_files(
    root: Path, scope: str, paths: Sequence[str], embedder: Embedder | None = None, *, as_text: bool = False
) -> FilesRead:
    """The files that can be read, in order; encoded if there is an embedder."""
    from sylk_ray.codebase.reading import read

    found: list[tuple[Outline, FileNodes]] = []
    for path in paths:
        text = text_at(root, path)
        if text is None:
            continue
        outline = read(path, text, "text" if as_text else None)
        found.append((outline, nodes_of(scope, outline, text)))
    encoded = Encoded([], set())
    if embedder is not None:
        encoded = encode([node for _, made in found for node in made.searched], embedder)
    rows = iter(encoded.rows)
    files = [
        FileRead(outline, made.searched, made.named, list(islice(rows, len(made.searched)))) for outline, made in found
    ]
    return FilesRead(files, encoded.keys)


class Readers:
    """Reads the files of one root. ``embedder`` is the one that their nodes are to be encoded by.

    ::

        with Readers(root, scope, embedder) as readers:
            readers.expect(1000)
            for batch in readers.read([paths]):
                ...
    """

    def __init__(self, root: Path, scope: str, embedder: Embedder | None, *, how_many: int | None = None) -> None:
        self._root = root
        self._scope = scope
        # Theirs is the shipped model. Another embedder may hold a connection, or be what a process cannot make again.
        self._encodes = isinstance(embedder, StaticEmbedder) and embedder.name == NAME
        self._how_many = processes.how_many() if how_many is None else how_many
        self._started: list[_Reader] = []

    def __enter__(self) -> Readers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def expect(self, files: int) -> None:
        """So many may have to be read: where that is many, processes for them start now, and else those that were begun
        are not wanted."""
        if files < processes.MANY:
            processes.end_begun()
        elif not self._started:
            self._started = [_Reader(self._root, self._scope, self._encodes) for _ in range(self._how_many)]
            for reader in self._started:
                reader.start()

    def close(self) -> None:
        """End what was started."""
        for reader in self._started:
            reader.end()
        self._started = []

    def read(
        self, batches: Sequence[Sequence[str]], meanwhile: Callable[[], None] | None = None
    ) -> Generator[FilesRead]:
        """Files by batches of paths, in order. What was begun is ended with the last one, or when the iterator is
        closed. ``meanwhile`` is called while processes start."""
        files = sum(map(len, batches))
        try:
            self.expect(files)
            readers = self._started if files >= processes.MANY else []
            if not readers:
                for batch in batches:
                    yield read_files(self._root, self._scope, batch)
                return
            with ThreadPoolExecutor(len(readers)) as threads:
                waiting: list[Future[FilesRead]] = []
                ahead = AHEAD * len(readers)
                nothing: Sequence[str] = ()
                following = zip_longest(batches, batches[len(readers) :], fillvalue=nothing)
                for number, (batch, after) in enumerate(following):
                    reader = readers[number % len(readers)]
                    waiting.append(threads.submit(reader.read, list(batch), list(after)))
                    if number == 0 and meanwhile is not None:
                        meanwhile()
                    if len(waiting) >= ahead:
                        yield waiting.pop(0).result()
                while waiting:
                    yield waiting.pop(0).result()
        finally:
            self.close()


class _Reader:
    """One process, started anew when it has died."""

    def __init__(self, root: Path, scope: str, encodes: bool) -> None:
        self._root, self._scope, self._encodes = root, scope, encodes
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False
        self._works = True
        """Whether a process can be had at all: one that ends even of a plain text is not ended by the text."""
        self._following: list[str] = []

    def start(self) -> None:
        """Have the process begin, which takes a while."""
        with self._lock, contextlib.suppress(OSError):
            self._running()

    def read(self, paths: list[str], following: list[str]) -> FilesRead:
        """A batch; one by one, where reading them together ends the process."""
        with self._lock:
            self._following = following
            found = self._ask(paths)
            self._following = []
            if found is not None:
                return found
            each = [self._ask([path]) or self._ask([path], as_text=True) or self._read_here([path]) for path in paths]
            keys = {key for one in each for key in one.keys}
            return FilesRead([file for one in each for file in one.files], keys)

    def _ask(self, paths: list[str], *, as_text: bool = False) -> FilesRead | None:
        """None if the process has died of it."""
        if self._ended:
            return FilesRead([])
        if not self._works:
            return None
        try:
            process = self._running()
        except OSError as problem:
            log.warning("no process can be started to read files, which takes longer now: %s", problem)
            self._works = False
            return None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            asked = _Batch(self._scope, str(self._root), paths, self._encodes, as_text, self._following)
            _write(process.stdin, _encode(asked))
            answer = _read(process.stdout)
        except (BrokenPipeError, EOFError):
            processes.end(process)
            self._process = None
            return None
        with without_collector():
            return _decode_files(answer)

    def _read_here(self, paths: list[str]) -> FilesRead:
        if self._works:
            log.warning("processes that read files end by themselves: they are read without, which takes longer")
            self._works = False
        return read_files(self._root, self._scope, paths)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = processes.take()
        return self._process

    def end(self) -> None:
        self._ended = True
        if self._process is not None:
            processes.end(self._process)


def _write(file: IO[bytes], data: bytes) -> None:
    file.write(_LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def _read(file: IO[bytes]) -> bytes:
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    [length] = _LENGTH.unpack(head)
    data = file.read(length)
    if len(data) < length:
        raise EOFError
    return data


def main() -> None:
    """A reader's process: batches on standard input, files on standard output, until its owner is gone."""
    # What is made here holds no cycles.
    gc.disable()
    asked, told = sys.stdin.buffer, sys.stdout.buffer
    embedder = StaticEmbedder()
    ready: tuple[list[str], bytes] = ([], b"")
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt), ThreadPoolExecutor(1) as telling:
        while True:
            batch = _decode_batch(_read(asked))

            def answer(paths: list[str], batch: _Batch = batch) -> bytes:
                encoded = embedder if batch.encoded else None
                return _encode(read_files(Path(batch.root), batch.scope, paths, encoded, as_text=batch.as_text))

            files = ready[1] if ready[0] == batch.paths and not batch.as_text else answer(batch.paths)
            # The owner takes it when it finds time for that.
            told_all = telling.submit(_write, told, files)
            ready = (batch.following, answer(batch.following) if batch.following else b"")
            told_all.result()
