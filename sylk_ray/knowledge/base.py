"""The knowledge base: one thing to write to and to ask."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType

from msgspec.structs import replace

from sylk_ray.knowledge import upkeep
from sylk_ray.knowledge.carrying import Carrier
from sylk_ray.knowledge.collections import Collections
from sylk_ray.knowledge.embedding import Embedder, EmbedderUnavailable, StaticEmbedder
from sylk_ray.knowledge.encoding import Prepared, encode, point_of
from sylk_ray.knowledge.finding import DomainFound
from sylk_ray.knowledge.gate import LeaseTerms, Verdict, facets_of
from sylk_ray.knowledge.graph import Graph
from sylk_ray.knowledge.guarding import Guards, Written
from sylk_ray.knowledge.looking import Looking
from sylk_ray.knowledge.model import Conflict, Domain, Edge, Node, Provenance
from sylk_ray.knowledge.seeking import Seeker
from sylk_ray.knowledge.store import (
    Database,
    edges,
    generations,
    memos,
    nodes,
    outbox,
    records,
)
from sylk_ray.knowledge.store.outbox import Change, VectorRow
from sylk_ray.knowledge.upkeep import Renewal, Verification
from sylk_ray.knowledge.vectors import Condition
from sylk_ray.knowledge.vectors.owning import Ownership

BATCH = 512
"""Nodes that are embedded together."""
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by sylk: what is known of code, and no code.\n"
"""Of a cache: a directory that lies within a repository is no source of it. Source: https://bford.info/cachedir/"""

_NOTHING: tuple[list[VectorRow], dict[Domain, set[int]]] = ([], {})

Progress = Callable[[int, int], None]
"""Called with how many are done and how many there are."""


class KnowledgeBase(Looking):
    """Nodes with their vectors and edges, in a directory that one process owns. Threads may share it.

    A write that has returned is found by id, by vector and by graph, and denied by no gate, whatever happens to the
    process; one that has not is found whole or not at all.
    """

    def __init__(
        self,
        directory: Path,
        *,
        embedder: Embedder | None = None,
        former: Iterable[Embedder] = (),
        vectors_at: str | None = None,
        power: bool = False,
        clock: Callable[[], float] = time.time,
        lease_terms: LeaseTerms | None = None,
    ) -> None:
        """Open a directory, made if there is none, and carry out what a crash has left undone.

        ``former`` are models that vectors may still be of, and are searched with until they are made anew.
        ``vectors_at`` is the URL of a Qdrant server; without it vectors are kept in the directory.
        Raises StoreInUse, KnowledgeDamaged, KnowledgeTooNew, KnowledgeUnavailable, and the vector store's errors.
        """
        self.directory = directory
        self.embedder = embedder or StaticEmbedder()
        self._clock = clock
        self._writing = threading.RLock()
        self._after: list[Callable[[], None]] | None = None
        """What is to be done when the transaction that is open has been committed."""
        self._written: dict[Domain, Written] = {}
        """What it adds for the gate to know."""
        self._ownership = Ownership(directory)
        try:
            if not (directory / "CACHEDIR.TAG").exists():
                (directory / "CACHEDIR.TAG").write_text(_TAG)
            super().__init__(Database(directory / "knowledge.db", power=power))
        except BaseException:
            self._ownership.release()
            raise
        try:
            self._collections = Collections(vectors_at or directory / "vectors", self.embedder, former)
            self.graph = Graph(self._database)
            self.guards = Guards(directory / "gate", self._database, terms=lease_terms)
            self.search = Seeker(self._collections, self.graph, self.guards, self.by_key, self._edges_at)
            self._carrier = Carrier(self._database, self._collections.of, self._encode_again)
            self._carrier.carry()
        except BaseException:
            self._database.close()
            self._ownership.release()
            raise

    def close(self) -> None:
        """Bring everything to the disk and let go of the directory."""
        with self._writing:
            try:
                self._carrier.flush()
            finally:
                self.guards.close()
                self._collections.close()
                self._database.close()
                self._ownership.release()

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # Nodes

    def insert(self, given: Sequence[Node], *, embed: bool = True, progress: Progress | None = None) -> list[int]:
        """Store new nodes in one transaction; returns their keys. Without ``embed`` no search by vector finds them.

        Raises DuplicateNode, InvalidNode, EmbedderUnavailable; then none is stored.
        """
        with self._writing:
            rows = self._encode(given, progress) if embed else _NOTHING
            with self._write() as after:
                keys = nodes.insert(self._database, given, {node.id for node in given} if embed else (), self._clock())
                self._note(given, keys, rows)
                for place, members in _by_place(given, keys).items():
                    after(partial(self.graph.add, place, members))
        return keys

    def prepare(self, domain: Domain, scope: str) -> None:
        """Much will soon be stored in a scope: do what takes a while and can be done before."""
        with self._writing:
            self._collections.of(domain).prepare(scope)

    def put(
        self,
        given: Sequence[Node],
        *,
        embed: bool = True,
        progress: Progress | None = None,
        prepared: Prepared | None = None,
    ) -> list[Node]:
        """Store nodes, new or in place of those with the same ids, in one transaction; returns those that are new or
        say something else than before. ``prepared`` has some of them encoded. Raises as ``insert`` does."""
        with self._writing:
            known = nodes.find(self._database, [node.id for node in given])
            fresh = [node for node in given if node.id not in known]
            was_embedded = nodes.with_vectors(self._database, known)
            changed = [
                node
                for node in given
                if node.id in known and (not _same(node, known[node.id]) or (node.id in was_embedded) != embed)
            ]
            rows = self._encode([*fresh, *changed], progress, prepared) if embed else _NOTHING
            now = self._clock()
            with self._write() as after:
                made = nodes.insert(self._database, fresh, {node.id for node in fresh} if embed else (), now)
                for place, members in _by_place(fresh, made).items():
                    after(partial(self.graph.add, place, members))
                kept = [nodes.update(self._database, node, embed, now).key for node in changed]
                if not embed:
                    self._unembed([known[node.id] for node in changed if node.id in was_embedded])
                self._note([*fresh, *changed], [*made, *kept], rows)
        return [*fresh, *changed]

    def update(self, node: Node, *, embed: bool = True) -> Node:
        """Put another content, name, place and metadata in a node's place. Raises UnknownNode, InvalidNode."""
        with self._writing:
            rows = self._encode([node], None) if embed else _NOTHING
            with self._write():
                done = nodes.update(self._database, node, embed, self._clock())
                if not embed:
                    self._unembed([done])
                self._note([node], [done.key], rows)
        return done

    def delete(self, names: Iterable[str]) -> int:
        """Remove nodes with their edges, vectors, provenance and conflicts; those that are not there are no error.
        Returns how many there were."""
        with self._write() as after:
            known = nodes.keys_of(self._database, names)
            places: dict[tuple[Domain, str], list[int]] = {}
            for key, domain, scope in known.values():
                places.setdefault((domain, scope), []).append(key)
            nodes.delete(self._database, [key for key, _, _ in known.values()])
            for (domain, scope), keys in places.items():
                outbox.note(self._database, domain, scope, Change(remove=keys))
                after(partial(self.guards.forgotten, domain, len(keys)))
            after(partial(self.graph.remove, [key for key, _, _ in known.values()]))
        return len(known)

    def drop(self, domain: Domain, scope: str) -> int:
        """Forget all of a scope; returns how many nodes it had."""
        with self._write() as after:
            keys = self._keys(domain, scope)
            nodes.delete(self._database, keys)
            memos.forget(self._database, domain, scope)
            outbox.note(self._database, domain, scope, Change(drop=True))
            after(partial(self.guards.forgotten, domain, len(keys)))
            after(partial(self.graph.remove, keys))
            after(partial(self.graph.forget, (domain.value, scope)))
        return len(keys)

    def touch(self, name: str) -> None:
        """Note that a node was used. Raises UnknownNode."""
        nodes.touch(self._database, name, self._clock())

    # Edges

    def connect(self, given: Sequence[Edge], *, progress: Progress | None = None) -> list[int]:
        """Store edges in one transaction; returns their numbers. One with the same ends and type takes the place of the
        former. Raises UnknownNode, InvalidEdge; then none is stored."""
        with self._write() as after:
            made = edges.insert(self._database, given, self._clock())
            after(partial(self.graph.connect, made))
        if progress:
            progress(len(made), len(given))
        return [each.id for each in made]

    def disconnect(self, numbers: Iterable[int]) -> int:
        """Remove edges; returns how many there were."""
        with self._write() as after:
            gone = edges.delete(self._database, numbers)
            after(partial(self.graph.disconnect, gone))
        return len(gone)

    def relink(self, domain: Domain, scope: str, wanted: Mapping[str, Sequence[Edge]]) -> None:
        """Make these the edges from all nodes that stand at each of these paths; what is there already is not written
        again. Raises as ``connect`` does; then nothing has changed."""
        with self._write():
            there = {(e.source, e.target, e.type): e for e in edges.from_paths(self._database, domain, scope, wanted)}
            target = {(e.source, e.target, e.type): e for some in wanted.values() for e in some}
            self.disconnect(edge.id for end, edge in there.items() if end not in target)
            self.connect(
                [
                    edge
                    for end, edge in target.items()
                    if end not in there or (there[end].weight, there[end].metadata) != (edge.weight, edge.metadata)
                ]
            )

    def disconnect_between(self, source: str, target: str) -> int:
        """Remove all edges from one node to another; returns how many there were."""
        return self.disconnect(edge.id for edge in self.edges_between(source, target))

    # Where it comes from, and what contradicts it

    def attribute(self, sources: Sequence[Provenance]) -> list[int]:
        """Note where nodes come from. Raises UnknownNode; then none is noted."""
        return records.attribute(self._database, sources)

    def report(self, conflict: Conflict) -> int:
        """Note that two nodes contradict each other; returns the conflict's number. Raises UnknownNode."""
        return records.detect(self._database, conflict, self._clock())

    def resolve(self, number: int, resolution: str) -> bool:
        """Note how a conflict was settled; false if there is none with this number."""
        return records.resolve(self._database, number, resolution, self._clock())

    # What those who fill it remember

    def note(self, domain: Domain, scope: str, given: Mapping[str, bytes | None]) -> None:
        """Write memos, and remove those that are None, in the transaction that is open or in one of their own. They
        go with their scope."""
        memos.write(self._database, domain, scope, given)

    # Whether there can be anything to find

    def allows(self, domain: Domain, text: str, where: Condition | None = None) -> Verdict:
        """No, with a reason and a hint, if certainly nothing in a domain has any word of a text and meets a condition;
        MAYBE otherwise. Some microseconds. What a No proves is said in ``gate.keys``."""
        return self.guards.check(domain, text, where)

    def also_exists_in(self, text: str, besides: Domain) -> list[Domain]:
        """Other domains that seem to have all words of a text."""
        return [Domain(each) for each in self.guards.gate.also_exists_in(text, besides.value)]

    def search_all(self, text: str, k: int = 10) -> dict[Domain, DomainFound]:
        """What each domain has; those that certainly have nothing are not searched."""
        return self.search.each_domain(text, k)

    # All of it

    @contextmanager
    def batch(self) -> Generator[None]:
        """Everything written within happens, or nothing does; it is found by vector and graph when it has ended."""
        with self._write():
            yield

    def count_vectors(self) -> dict[str, int]:
        """How many vectors each domain has."""
        return self._collections.count()

    def sizes(self) -> dict[str, int]:
        """Bytes on the disk of each part."""
        sizes: dict[str, int] = {"store": 0, "vectors": 0, "gate": 0}
        for file in self.directory.rglob("*"):
            # Files come and go while others write.
            with contextlib.suppress(FileNotFoundError):
                if file.is_file():
                    part = file.relative_to(self.directory).parts[0]
                    sizes[part if part in sizes else "store"] += file.stat().st_blocks * 512
        return sizes

    def flush(self) -> None:
        """Bring the vectors and the gate to the disk."""
        self._carrier.flush()
        self.guards.save()

    def vacuum(self) -> None:
        """Give back the room of what was deleted, and build the vectors' indexes."""
        self.flush()
        self._collections.optimize()
        self._database.outside("VACUUM")
        self._database.outside("PRAGMA wal_checkpoint(TRUNCATE)")

    def verify(self) -> Verification:
        """Look through everything for what does not agree."""
        with self._writing:
            self._carrier.carry()
            return upkeep.verify(self._database, self._collections)

    def mend(self, found: Verification) -> int:
        """Make the vectors agree with the store again; returns how many were made or removed."""
        with self._write():
            return upkeep.mend(self._database, self._collections, found)

    def outdated(self) -> list[tuple[Domain, str]]:
        """Scopes whose vectors are of another model than the one that there is now."""
        places = self._database.rows("SELECT DISTINCT domain, scope FROM nodes WHERE embedded ORDER BY domain, scope")
        return [
            (Domain(domain), scope)
            for domain, scope in places
            if not self._collections.is_current(Domain(domain), scope)
        ]

    def renew(self, domain: Domain, scope: str, *, progress: Progress | None = None) -> None:
        """Make a scope's vectors anew by the model that there is now. Searches and writes go on meanwhile, and the old
        vectors serve until the end. Raises EmbedderUnavailable, RebuildUnderWay; then nothing has changed."""
        renewal = Renewal(self._database, self._collections, domain, scope)
        try:
            renewal.run(progress)
            with self._writing:
                # What is still in the outbox is of the old model, and must not be carried out into the new vectors.
                self._carrier.carry()
                self._carrier.flush()
                renewal.finish()
        except BaseException:
            renewal.abandon()
            raise

    # Within

    @contextmanager
    def _write(self) -> Generator[Callable[[Callable[[], None]], None]]:
        """A transaction; what it is given is called when the outermost one has been committed, and then the outbox is
        carried out, and readers of the gate are waited for."""
        with self._writing:
            loads = self.graph.loads
            if self._after is not None:
                before = len(self._after)
                try:
                    with self._database.transaction():
                        yield self._after.append
                except BaseException:
                    del self._after[before:]
                    self.graph.undo(loads)
                    raise
                return
            after = self._after = list[Callable[[], None]]()
            written = self._written = {}
            fresh: dict[Domain, int] = {}
            try:
                with self._database.transaction():
                    yield after.append
                    if written:
                        fresh = generations.advance(self._database, written)
                versions = self.guards.written(written, fresh)
            except BaseException:
                self.graph.undo(loads)
                if fresh:
                    self.guards.doubt()
                raise
            finally:
                self._after = None
            for call in after:
                call()
            self._carrier.carry()
        self.guards.settle(versions)

    def _encode(
        self, given: Sequence[Node], progress: Progress | None, prepared: Prepared | None = None
    ) -> tuple[list[VectorRow], dict[Domain, set[int]]]:
        """Rows in the nodes' order, without their keys; and what the gate must know, by domain."""
        rows: dict[int, VectorRow] = {}
        keys: dict[Domain, set[int]] = {}
        for (domain, scope), members in _by_place(given, range(len(given))).items():
            model = self._collections.embedder_of(Domain(domain), scope)
            if prepared is not None and model is not None and prepared.model == model.name:
                rows |= {at: prepared.rows[given[at].id] for at in members if given[at].id in prepared.rows}
                keys.setdefault(Domain(domain), set()).update(prepared.keys)
                members = [at for at in members if at not in rows]
            for start in range(0, len(members), BATCH):
                some = members[start : start + BATCH]
                encoded = encode([given[at] for at in some], model)
                rows |= dict(zip(some, encoded.rows, strict=True))
                keys.setdefault(Domain(domain), set()).update(encoded.keys)
                if progress:
                    progress(len(rows), len(given))
        return [rows[at] for at in range(len(given))], keys

    def _note(
        self, given: Sequence[Node], keys: Sequence[int], encoded: tuple[list[VectorRow], dict[Domain, set[int]]]
    ) -> None:
        rows, words = encoded
        for domain, each in words.items():
            self._written.setdefault(domain, Written()).keys.update(each)
        if not rows:
            return
        assert self._after is not None
        for (domain, scope), members in _by_place(given, range(len(given))).items():
            model = self._collections.embedder_of(Domain(domain), scope)
            name = model.name if model else ""
            if isinstance(model, StaticEmbedder):
                change = Change(again=[keys[at] for at in members], model=name)
            else:
                # Others cost time and money, and may be gone when they are asked again.
                change = Change(put=[replace(rows[at], key=keys[at]) for at in members], model=name)
            number = outbox.note(self._database, Domain(domain), scope, change)
            self._after.append(partial(self._carrier.give, number, [point_of(rows[at], keys[at]) for at in members]))
            nodes = self._written[Domain(domain)].nodes
            nodes += ((keys[at], facets_of(scope, rows[at].payload)) for at in members)

    def _encode_again(self, domain: Domain, scope: str, keys: list[int]) -> tuple[list[VectorRow], bool]:
        some = list(nodes.by_key(self._database, keys).values())
        whole = True
        try:
            encoded = encode(some, self._collections.embedder_of(domain, scope))
        except EmbedderUnavailable:
            # Words must do for now: what was stored must be found.
            encoded, whole = encode(some, None), False
        return [replace(row, key=node.key) for row, node in zip(encoded.rows, some, strict=True)], whole

    def _unembed(self, given: Sequence[Node]) -> None:
        for (domain, scope), keys in _by_place(given, [node.key for node in given]).items():
            outbox.note(self._database, Domain(domain), scope, Change(remove=keys))

    def _edges_at(self, name: str) -> list[Edge]:
        return [*self.outgoing(name), *self.incoming(name)]

    def _keys(self, domain: Domain, scope: str) -> list[int]:
        rows = self._database.rows(
            "SELECT key FROM nodes WHERE domain = ? AND scope = ? ORDER BY key", (domain.value, scope)
        )
        return [key for (key,) in rows]


def _by_place(given: Sequence[Node], numbers: Iterable[int]) -> dict[tuple[str, str], list[int]]:
    places: dict[tuple[str, str], list[int]] = {}
    for node, number in zip(given, numbers, strict=True):
        places.setdefault((node.domain.value, node.scope), []).append(number)
    return places


def _same(node: Node, known: Node) -> bool:
    return (node.content, node.name, node.path, node.type, node.metadata) == (
        known.content,
        known.name,
        known.path,
        known.type,
        known.metadata,
    )
