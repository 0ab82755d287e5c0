"""Nodes, edges, provenance and conflicts in the file."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from sylk_ray.knowledge.model import NODE_TYPES, Conflict, Domain, Edge, EdgeType, Node, NodeType, Provenance
from sylk_ray.knowledge.store import (
    Database,
    DuplicateNode,
    InvalidEdge,
    InvalidNode,
    KnowledgeDamaged,
    KnowledgeTooNew,
    UnknownNode,
    edges,
    nodes,
    outbox,
    records,
    statistics,
)
from sylk_ray.knowledge.store.outbox import Change, VectorRow
from sylk_ray.knowledge.store.rules import EDGE_RULES


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "knowledge.db")


def _node(id: str, domain: Domain = Domain.CODE, **more: object) -> Node:
    kind = {Domain.CODE: NodeType.FUNCTION, Domain.HISTORY: NodeType.DECISION, Domain.ACADEMIC: NodeType.DOC}[domain]
    return Node(id=id, domain=domain, **{"type": kind, "scope": "repo", **more})  # type: ignore[arg-type]


def _insert(database: Database, *given: Node) -> list[int]:
    return nodes.insert(database, given, embedded=(), now=1.0)


def test_a_node_comes_back_as_it_was_stored(database: Database) -> None:
    given = _node("a", name="parse", path="src/a.py", content="def parse(): …", metadata={"lines": [1, 3], "π": "é"})
    [key] = _insert(database, given)
    found = nodes.get(database, "a")
    assert found.key == key
    assert (found.name, found.path, found.content, found.metadata) == (
        "parse",
        "src/a.py",
        given.content,
        given.metadata,
    )
    assert found.content_hash == nodes.content_hash(given.content)
    assert (found.created_at, found.updated_at, found.accessed_at) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(("domain", "kind"), [(d, k) for d, kinds in NODE_TYPES.items() for k in sorted(kinds)])
def test_every_type_of_every_domain_is_stored(database: Database, domain: Domain, kind: NodeType) -> None:
    _insert(database, _node("a", domain, type=kind))
    assert nodes.select(database, domain=domain, types=[kind])[0].id == "a"


def test_a_type_of_another_domain_is_refused_and_nothing_is_stored(database: Database) -> None:
    with pytest.raises(InvalidNode, match="cannot be a decision in the domain code"):
        _insert(database, _node("a"), _node("b", type=NodeType.DECISION))
    assert nodes.select(database) == []


def test_of_a_batch_with_a_known_id_nothing_is_stored(database: Database) -> None:
    _insert(database, _node("a"))
    with pytest.raises(DuplicateNode, match="'a'"):
        _insert(database, _node("b"), _node("a"))
    assert [each.id for each in nodes.select(database)] == ["a"]


def test_an_update_computes_the_hash_and_keeps_key_and_birth(database: Database) -> None:
    [key] = _insert(database, _node("a", content="one"))
    changed = nodes.update(database, _node("a", content="two"), embedded=False, now=5.0)
    assert (changed.key, changed.created_at, changed.updated_at) == (key, 1.0, 5.0)
    assert changed.content_hash == nodes.content_hash("two")
    assert [n.id for n in nodes.select(database, digest=nodes.content_hash("two"))] == ["a"]
    with pytest.raises(UnknownNode):
        nodes.update(database, _node("b"), embedded=False, now=5.0)


def test_a_touched_node_says_when(database: Database) -> None:
    _insert(database, _node("a"))
    nodes.touch(database, "a", 9.0)
    assert nodes.get(database, "a").accessed_at == 9.0
    with pytest.raises(UnknownNode):
        nodes.touch(database, "b", 9.0)


def test_a_key_is_never_used_twice(database: Database) -> None:
    [first] = _insert(database, _node("a"))
    nodes.delete(database, [first])
    [second] = _insert(database, _node("a"))
    assert second > first


def test_a_deleted_node_takes_its_edges_provenance_and_conflicts_along(database: Database) -> None:
    [key, _] = _insert(database, _node("a"), _node("b"))
    edges.insert(database, [Edge(source="a", target="b", type=EdgeType.CALLS)], now=1.0)
    edges.insert(database, [Edge(source="b", target="a", type=EdgeType.CALLS)], now=1.0)
    records.attribute(database, [Provenance(node="a", source_type="file", source_id="a.py")])
    records.detect(database, Conflict(node_a="b", node_b="a", type="contradicts"), now=1.0)
    nodes.delete(database, [key])
    counted = statistics(database)
    assert (counted.edges, counted.provenance, counted.conflicts) == ({}, 0, 0)


@pytest.mark.parametrize("kind", list(EdgeType))
@pytest.mark.parametrize("source", list(Domain))
@pytest.mark.parametrize("target", list(Domain))
def test_edges_cross_domains_only_as_the_table_says(
    database: Database, kind: EdgeType, source: Domain, target: Domain
) -> None:
    _insert(database, _node("a", source), _node("b", target))
    edge = Edge(source="a", target="b", type=kind)
    if (source, target) in EDGE_RULES[kind]:
        edges.insert(database, [edge], now=1.0)
        assert [each.type for each in edges.outgoing(database, "a")] == [kind]
    else:
        with pytest.raises(InvalidEdge, match="cannot go from 'a'"):
            edges.insert(database, [edge], now=1.0)


@pytest.mark.parametrize("weight", [0, -1, 1.5, float("nan")])
def test_a_weight_outside_its_range_is_refused(database: Database, weight: float) -> None:
    _insert(database, _node("a"), _node("b"))
    with pytest.raises(InvalidEdge, match="weighs"):
        edges.insert(database, [Edge(source="a", target="b", type=EdgeType.CALLS, weight=weight)], now=1.0)


def test_an_edge_to_nowhere_is_refused_with_its_whole_batch(database: Database) -> None:
    _insert(database, _node("a"), _node("b"))
    good = Edge(source="a", target="b", type=EdgeType.CALLS)
    with pytest.raises(UnknownNode, match="'c'"):
        edges.insert(database, [good, Edge(source="a", target="c", type=EdgeType.CALLS)], now=1.0)
    assert edges.outgoing(database, "a") == []


def test_edges_are_asked_for_by_end_and_type(database: Database) -> None:
    _insert(database, _node("a"), _node("b"), _node("c"))
    [call, use, _] = edges.insert(
        database,
        [
            Edge(source="a", target="b", type=EdgeType.CALLS, weight=0.5, metadata={"line": 3}),
            Edge(source="a", target="b", type=EdgeType.IMPORTS),
            Edge(source="c", target="b", type=EdgeType.CALLS),
        ],
        now=2.0,
    )
    assert [each.type for each in edges.between(database, "a", "b")] == [EdgeType.CALLS, EdgeType.IMPORTS]
    assert [each.id for each in edges.outgoing(database, "a", [EdgeType.IMPORTS])] == [use.id]
    assert [each.source for each in edges.incoming(database, "b", [EdgeType.CALLS])] == ["a", "c"]
    found = edges.get(database, call.id)
    assert found is not None
    assert (found.weight, found.metadata, found.created_at) == (0.5, {"line": 3}, 2.0)
    assert edges.delete(database, [call.id, 999]) == [call.id]
    assert edges.get(database, call.id) is None


def test_edges_that_are_there_are_found_by_their_index(database: Database) -> None:
    statement = edges._NUMBERED.format("(?, ?, ?), (?, ?, ?)")  # noqa: SLF001
    plan = database.rows(f"EXPLAIN QUERY PLAN {statement}", (1, 2, "calls", 2, 3, "calls"))
    assert any("SEARCH edges" in told for *_, told in plan)
    assert not any("SCAN edges" in told for *_, told in plan)


def test_numbers_of_many_edges_are_theirs_whether_they_are_new_or_not(database: Database) -> None:
    names = [f"n{number}" for number in range(40)]
    _insert(database, *map(_node, names))
    given = [Edge(source=one, target=other, type=EdgeType.CALLS) for one in names for other in names]
    for some in (given[::7], given[: edges.A_STATEMENT * 3], given[: edges.A_STATEMENT * 3], given[::-1]):
        made = edges.insert(database, some, now=1.0)
        for edge, joined in zip(some, made, strict=True):
            found = edges.get(database, joined.id)
            assert found is not None
            assert (found.source, found.target) == (edge.source, edge.target)


def test_many_edges_at_once_are_told_in_order_and_the_last_of_the_same_holds(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edges, "A_STATEMENT", 3)
    _insert(database, *map(_node, "abcd"))
    given = [
        Edge(source=source, target=target, type=EdgeType.CALLS, weight=weight)
        for source, target, weight in (
            ("c", "d", 0.1),
            ("a", "b", 0.2),
            ("c", "d", 0.3),
            ("b", "a", 0.4),
            ("a", "b", 0.5),
        )
    ]
    made = edges.insert(database, given, now=1.0)
    stored = {
        each.id: (each.source, each.target, each.weight) for name in "abcd" for each in edges.outgoing(database, name)
    }
    assert [stored[each.id][:2] for each in made] == [(each.source, each.target) for each in given]
    assert sorted(stored.values()) == [("a", "b", 0.5), ("b", "a", 0.4), ("c", "d", 0.3)]


def test_the_same_edge_again_changes_its_weight(database: Database) -> None:
    _insert(database, _node("a"), _node("b"))
    [first] = edges.insert(database, [Edge(source="a", target="b", type=EdgeType.CALLS, weight=0.2)], now=1.0)
    [again] = edges.insert(database, [Edge(source="a", target="b", type=EdgeType.CALLS, weight=0.9)], now=2.0)
    assert first.id == again.id
    assert [each.weight for each in edges.outgoing(database, "a")] == [0.9]


def test_a_conflict_is_open_until_it_is_resolved(database: Database) -> None:
    _insert(database, _node("a"), _node("b"), _node("c"))
    number = records.detect(database, Conflict(node_a="a", node_b="b", type="contradicts"), now=3.0)
    records.detect(database, Conflict(node_a="b", node_b="c", type="outdated"), now=4.0)
    assert [each.detected_at for each in records.conflicts_of(database, "b")] == [3.0, 4.0]
    assert records.resolve(database, number, "a is newer", now=5.0)
    assert not records.resolve(database, 999, "", now=5.0)
    assert [each.type for each in records.conflicts_of(database, open_only=True)] == ["outdated"]


def test_provenance_is_kept_in_order(database: Database) -> None:
    _insert(database, _node("a"))
    records.attribute(database, [Provenance(node="a", source_type=t, source_id="x", confidence=0.5) for t in "12"])
    assert [each.source_type for each in records.provenance_of(database, "a")] == ["1", "2"]


def test_a_transaction_that_fails_leaves_nothing_behind(database: Database) -> None:
    def fail() -> None:
        with database.transaction():
            _insert(database, _node("a"))
            outbox.note(database, Domain.CODE, "repo", Change(remove=[1]))
            assert len(nodes.select(database)) == 1
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert nodes.select(database) == []
    assert outbox.pending(database) == []


def test_what_is_interrupted_right_after_it_began_is_ended(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = type(database._writer).execute

    def interrupted(connection: sqlite3.Connection, statement: str, *values: object) -> sqlite3.Cursor:
        begin(connection, statement, *values)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(type(database._writer), "execute", interrupted)
        with pytest.raises(KeyboardInterrupt), database.transaction():
            pass
    assert not database._writer.in_transaction
    _insert(database, _node("a"))
    with sqlite3.connect(database.path) as another:
        assert another.execute("SELECT id FROM nodes").fetchall() == [("a",)]


def test_the_outbox_keeps_its_order_and_its_bytes(database: Database) -> None:
    row = VectorRow(7, b"\x00\x01", b"\x02", b"\x03", {"path": "a.py"})
    first = outbox.note(database, Domain.CODE, "repo", Change(put=[row]))
    second = outbox.note(database, Domain.HISTORY, "s", Change(remove=[7]))
    assert [each.change for each in outbox.pending(database)] == [Change(put=[row]), Change(remove=[7])]
    assert [each.number for each in outbox.pending(database, after=first)] == [second]
    outbox.forget(database, [first])
    assert outbox.length(database) == 1


def test_readers_see_whole_batches_while_one_writes(database: Database) -> None:
    seen: set[int] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(database.rows("SELECT count(*) FROM nodes")[0][0])

    reader = threading.Thread(target=read)
    reader.start()
    for batch in range(20):
        _insert(database, *(_node(f"{batch}-{number}") for number in range(50)))
    done.set()
    reader.join()
    assert seen <= {50 * number for number in range(21)}


def test_a_batch_of_ten_thousand_is_one_transaction(database: Database) -> None:
    keys = _insert(database, *(_node(str(number), content="x") for number in range(10_000)))
    assert len(set(keys)) == 10_000
    assert len(nodes.find(database, map(str, range(10_000)))) == 10_000


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "knowledge.db") as other:
        other.execute("CREATE TABLE theirs(x)")
    with pytest.raises(KnowledgeDamaged, match="another program's"):
        Database(tmp_path / "knowledge.db")


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    database = Database(tmp_path / "knowledge.db")
    database.outside("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(KnowledgeTooNew, match="version 99"):
        Database(tmp_path / "knowledge.db")


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "knowledge.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(KnowledgeDamaged, match=r"knowledge\.db"):
        Database(tmp_path / "knowledge.db")


@pytest.mark.parametrize(
    "question",
    [
        "SELECT * FROM nodes WHERE id = ?",
        "SELECT * FROM nodes WHERE scope = 'r' AND path = ?",
        "SELECT * FROM nodes WHERE scope = 'r' AND name = ? COLLATE NOCASE",
        "SELECT * FROM nodes WHERE content_hash = ?",
        "SELECT * FROM edges WHERE source = ?",
        "SELECT * FROM edges WHERE target = ?",
        "SELECT * FROM provenance WHERE node = ?",
        "DELETE FROM nodes WHERE key = ?",
    ],
)
def test_what_is_asked_often_has_an_index(database: Database, question: str) -> None:
    plan = [row[3] for row in database.rows(f"EXPLAIN QUERY PLAN {question}", (1,))]
    assert all(step.startswith("SEARCH") for step in plan), plan
