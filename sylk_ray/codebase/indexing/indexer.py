"""Keeping a knowledge base in step with the files of a root."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from sylk_ray.codebase.changes import Changes, Stamp, changes
from sylk_ray.codebase.indexing.collecting import without_collector
from sylk_ray.codebase.indexing.edges import edges_of, holding_edges, meaning_edges
from sylk_ray.codebase.indexing.nodes import external_id, file_id, package_id
from sylk_ray.codebase.indexing.readers import Readers
from sylk_ray.codebase.indexing.storing import stored_beside
from sylk_ray.codebase.outline import Outline
from sylk_ray.codebase.selection import Selection
from sylk_ray.knowledge import Domain, Edge, EdgeType, KnowledgeBase, Node, NodeType
from sylk_ray.knowledge.encoding import Prepared

if TYPE_CHECKING:
    from sylk_ray.codebase.resolution import Resolver

TOGETHER = 96
"""Files that are read and stored in one transaction, at most: searchable from then on."""
BYTES_TOGETHER = 300_000
"""In such files at most, unless one alone has more: any batch then takes about as long as another."""
LINKED_TOGETHER = 48
"""Files whose edges are stored in one transaction."""
STATE = "state:"
"""What the names of the memos begin with that say how far an indexing is; there is one from the first time on."""
_KNOWN = f"{STATE}known"
_FORMAT = b"6"
"""Of the nodes that a file becomes: what was stored in another one is read again."""
_UNLINKED = f"{STATE}unlinked"
"""Is there from the first change that is stored until the last edge is: after a crash all is linked again."""
_STAMP = "stamp:"
_OUTLINE = "outline:"
_CODE = Domain.CODE

_encode = msgspec.msgpack.Encoder().encode
_stamp = msgspec.msgpack.Decoder(Stamp).decode
_outline = msgspec.msgpack.Decoder(Outline).decode


class Progress(msgspec.Struct, frozen=True):
    """How far an indexing is."""

    stage: str
    """``reading`` or ``linking``."""
    done: int
    total: int
    """Files."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What an indexing has done."""

    root: str
    files: int
    """That are known now."""
    added: int
    changed: int
    removed: int
    symbols: int
    """Definitions in the files that were read."""
    broken: tuple[str, ...]
    """Files of those that were read that could be parsed in part only."""
    seconds: float


class Indexer:
    """The files of one root as a scope of a knowledge base. Not for several threads at once.

    What reads source is imported when there is something to read: a search of what has not changed starts without it.
    It may be stopped or killed between any two files: what was stored is searched, and the next ``sync`` does the rest.
    """

    def __init__(self, base: KnowledgeBase, root: Path, *, max_bytes: int | None = None) -> None:
        self.selection = Selection(root, max_bytes=max_bytes) if max_bytes else Selection(root)
        self.scope = str(self.selection.root)
        self._base = base
        self._resolver: Resolver | None = None

    def sync(self, only: Iterable[str] | None = None, *, progress: Callable[[Progress], None] | None = None) -> Report:
        """Take in what has changed since the last time: everywhere, or in these paths.

        Raises EmbedderUnavailable, and what the knowledge base raises; what was taken in before stays.
        """
        began = time.perf_counter()
        tell = progress or _tell_nobody
        state = self._base.memos(_CODE, self.scope, STATE)
        remembered = self._remembered()
        if state.get(_KNOWN, _FORMAT) != _FORMAT:
            remembered = {path: msgspec.structs.replace(each, mtime_ns=0, hash="") for path, each in remembered.items()}
        unlinked = _UNLINKED in state
        first_time = not state and not remembered
        outlines: list[Outline] = []
        with Readers(self.selection.root, self.scope, self._base.embedder) as readers:
            found = changes(self.selection, remembered, only=only, expecting=readers.expect if first_time else None)
            if found or unlinked:
                outlines = self._bring_in(readers, found, remembered, tell, unlinked=unlinked, first_time=first_time)
        known = self._as_read(found, remembered, outlines)
        if known != remembered or state != {_KNOWN: _FORMAT}:
            stored = remembered | {outline.path: known[outline.path] for outline in outlines}
            changed = {path: stamp for path, stamp in known.items() if stored.get(path) != stamp}
            gone = dict.fromkeys(remembered.keys() - known.keys() - set(found.removed))
            self._base.note(_CODE, self.scope, _stamped(changed | gone) | {_KNOWN: _FORMAT, _UNLINKED: None})
        return Report(
            root=self.scope,
            files=sum(stamp.counts for stamp in known.values()),
            added=len(found.added),
            changed=len(found.changed),
            removed=len(found.removed),
            symbols=sum(len(each.symbols) for each in outlines),
            broken=tuple(each.path for each in outlines if each.broken),
            seconds=time.perf_counter() - began,
        )

    def _bring_in(
        self,
        readers: Readers,
        found: Changes,
        remembered: Mapping[str, Stamp],
        tell: Callable[[Progress], None],
        *,
        unlinked: bool,
        first_time: bool,
    ) -> list[Outline]:
        """Forget what is gone, take in what is new or has changed, and link what that concerns."""
        try:
            resolver = self._ready(anew=first_time)
            self._base.note(_CODE, self.scope, {_UNLINKED: b""})
            self._remove(found.removed, remembered.keys())
            learning = resolver if first_time else None
            outlines = self._take_in(readers, [*found.added, *found.changed], found.stamps, tell, learning)
            with without_collector():
                self._link(resolver, outlines, found, tell, everything=unlinked, first_time=first_time)
        except BaseException:
            # It may know of files that were not stored, or not of some that were.
            self._resolver = None
            raise
        return outlines

    def _remembered(self) -> dict[str, Stamp]:
        bodies = self._base.memos(_CODE, self.scope, _STAMP)
        return {name.removeprefix(_STAMP): _stamp(body) for name, body in bodies.items()}

    @staticmethod
    def _as_read(found: Changes, remembered: Mapping[str, Stamp], outlines: Iterable[Outline]) -> dict[str, Stamp]:
        """What to remember: of a file that could not be read just now what was known before, so that it is tried again
        the next time."""
        known = dict(found.stamps)
        for path in {*found.added, *found.changed} - {outline.path for outline in outlines}:
            if path in remembered:
                known[path] = remembered[path]
            else:
                del known[path]
        return known

    def _ready(self, *, anew: bool) -> Resolver:
        """The resolver as it was after the last time; made of what was read then, the first time in this process.
        ``anew``: what it knows is not there any more."""
        from sylk_ray.codebase.resolution import Resolver

        if self._resolver is None or anew:
            self._resolver = Resolver()
            known = [_outline(body) for body in self._base.memos(_CODE, self.scope, _OUTLINE).values()]
            self._resolver.update(known, manifests=self._manifests(outline.path for outline in known))
        return self._resolver

    def _remove(self, paths: Sequence[str], known: Collection[str]) -> None:
        if not paths:
            return
        with self._base.batch():
            for path in paths:
                self._base.delete(self._base.ids_at(_CODE, self.scope, path))
            folders = {_folder(path) for path in paths} - {_folder(path) for path in set(known) - set(paths)}
            self._base.delete(package_id(self.scope, folder) for folder in folders)
            outlines = {f"{_OUTLINE}{path}": None for path in paths}
            self._base.note(_CODE, self.scope, outlines | _stamped(dict.fromkeys(paths)))

    def _take_in(
        self,
        readers: Readers,
        paths: Sequence[str],
        stamps: Mapping[str, Stamp],
        tell: Callable[[Progress], None],
        learning: Resolver | None,
    ) -> list[Outline]:
        """``learning`` is the resolver if nothing was there before. It then learns of files while the next ones are
        read, and the edges that need no other file are stored with the nodes."""
        outlines: list[Outline] = []
        embedder = self._base.embedder
        prepare = None if learning is None else partial(self._base.prepare, _CODE, self.scope)
        with contextlib.closing(readers.read(_batches(paths, stamps), prepare)) as batches:
            for batch in batches:
                files = batch.files
                searched = [node for file in files for node in file.searched]
                named = [node for file in files for node in file.named]
                rows = {node.id: row for file in files for node, row in zip(file.searched, file.rows, strict=False)}
                prepared = Prepared(embedder.name, rows, batch.keys) if rows else None
                now = [file.outline for file in files]
                with without_collector(), self._base.batch():
                    self._forget_what_is_gone([each.path for each in now], {node.id for node in (*searched, *named)})
                    self._base.put(searched, prepared=prepared)
                    self._base.put(named, embed=False)
                    memos = {f"{_OUTLINE}{outline.path}": _encode(outline) for outline in now}
                    self._base.note(_CODE, self.scope, memos | _stamped({each.path: stamps[each.path] for each in now}))
                    if learning is not None:
                        learning.add(now)
                        edges = (holding_edges(self.scope, outline.path, learning) for outline in now)
                        self._base.connect(list(chain.from_iterable(edges)))
                outlines += now
                tell(Progress("reading", len(outlines), len(paths)))
        return outlines

    def _forget_what_is_gone(self, paths: Sequence[str], kept: set[str]) -> None:
        for path in paths:
            gone = [name for name in self._base.ids_at(_CODE, self.scope, path) if name not in kept]
            if gone:
                self._base.delete(gone)

    # Links

    def _link(
        self,
        resolver: Resolver,
        outlines: Sequence[Outline],
        found: Changes,
        tell: Callable[[Progress], None],
        *,
        everything: bool,
        first_time: bool,
    ) -> None:
        manifests = self._manifests([*(outline.path for outline in outlines), *found.removed])
        affected = resolver.update(() if first_time else outlines, found.removed, manifests)
        known = resolver.paths
        paths = known if everything or first_time else sorted(affected.intersection(known))
        edges = meaning_edges if first_time else edges_of
        # SQLite stores the edges of some files, and lets other threads run, while those of the next are found.
        with stored_beside(self._base.batch) as store:
            for start in range(0, len(paths), LINKED_TOGETHER):
                some = paths[start : start + LINKED_TOGETHER]
                modules = sorted({module for path in some for module, _ in resolver.external_modules(path)})
                found_edges = {path: edges(self.scope, path, resolver) for path in some}
                store(partial(self._relink, modules, found_edges, first_time=first_time))
                tell(Progress("linking", min(start + LINKED_TOGETHER, len(paths)), len(paths)))
        self._base.delete(self._base.unreferred(_CODE, self.scope, NodeType.IMPORT))

    def _relink(self, modules: Sequence[str], edges: Mapping[str, Sequence[Edge]], *, first_time: bool) -> None:
        self._make_sure_of([self._external(module) for module in modules])
        folders = sorted({_folder(path) for path in edges})
        self._make_sure_of([self._package(folder) for folder in folders])
        of_packages = [
            Edge(source=package_id(self.scope, _folder(path)), target=file_id(self.scope, path), type=EdgeType.CONTAINS)
            for path in edges
        ]
        if first_time:
            self._base.connect([*chain.from_iterable(edges.values()), *of_packages])
        else:
            self._base.relink(_CODE, self.scope, edges)
            self._base.connect(of_packages)

    def _make_sure_of(self, nodes: Sequence[Node]) -> None:
        known = self._base.find(node.id for node in nodes)
        self._base.insert([node for node in nodes if node.id not in known], embed=False)

    def _manifests(self, paths: Iterable[str]) -> dict[str, str | None]:
        from sylk_ray.codebase.resolution import MANIFESTS

        texts: dict[str, str | None] = {}
        for path in paths:
            if path.rsplit("/", 1)[-1] in MANIFESTS:
                try:
                    texts[path] = (self.selection.root / path).read_text("utf-8", "replace")
                except OSError:
                    texts[path] = None
        return texts

    def _external(self, module: str) -> Node:
        return Node(
            id=external_id(self.scope, module),
            domain=_CODE,
            type=NodeType.IMPORT,
            scope=self.scope,
            name=module,
            content=module,
        )

    def _package(self, folder: str) -> Node:
        return Node(
            id=package_id(self.scope, folder),
            domain=_CODE,
            type=NodeType.PACKAGE,
            scope=self.scope,
            name=folder.rsplit("/", 1)[-1],
            content=folder,
            metadata={"folder": folder},
        )


def _batches(paths: Iterable[str], stamps: Mapping[str, Stamp]) -> list[list[str]]:
    found: list[list[str]] = []
    size = 0
    for path in paths:
        size += stamps[path].size
        if not found or len(found[-1]) == TOGETHER or size > BYTES_TOGETHER:
            found.append([])
            size = stamps[path].size
        found[-1].append(path)
    return found


def _stamped(stamps: Mapping[str, Stamp | None]) -> dict[str, bytes | None]:
    """Stamps as memos, one a file, so that taking in a file does not write of all others."""
    return {f"{_STAMP}{path}": None if stamp is None else _encode(stamp) for path, stamp in stamps.items()}


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _tell_nobody(progress: Progress) -> None:
    pass
