"""Nodes in the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence

import msgspec
import xxhash

from sylk_ray.knowledge.model import Domain, Node, NodeType
from sylk_ray.knowledge.store.database import Database, Row
from sylk_ray.knowledge.store.errors import DuplicateNode, UnknownNode
from sylk_ray.knowledge.store.rules import check_node

_COLUMNS = (
    "key, id, domain, type, scope, name, path, content, content_hash, metadata, created_at, updated_at, accessed_at"
)
_SELECT = f"SELECT {_COLUMNS} FROM nodes"
_json = msgspec.json.Encoder()
_keys = msgspec.json.Decoder(dict[str, int]).decode


def content_hash(content: str) -> str:
    """16 hexadecimal digits of xxh3-64."""
    return xxhash.xxh3_64_hexdigest(content.encode("utf-8", "surrogatepass"))


def _node(row: Row) -> Node:
    key, name, domain, kind, scope, called, path, content, digest, metadata, created, updated, accessed = row
    return Node(
        id=name,
        domain=Domain(domain),
        type=NodeType(kind),
        scope=scope,
        name=called,
        path=path,
        content=content,
        metadata=msgspec.json.decode(metadata),
        content_hash=digest,
        key=key,
        created_at=created,
        updated_at=updated,
        accessed_at=accessed,
    )


def insert(database: Database, nodes: Sequence[Node], embedded: Collection[str], now: float) -> list[int]:
    """Store new nodes; returns their keys, in order. Raises DuplicateNode and InvalidNode; then none is stored."""
    for node in nodes:
        check_node(node)
    keys: list[int] = []
    with database.transaction() as connection:
        for node in nodes:
            digest = node.content_hash or content_hash(node.content)
            try:
                made = connection.execute(
                    "INSERT INTO nodes(id, domain, type, scope, name, path, content, content_hash, metadata, embedded,"
                    " created_at, updated_at, accessed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        node.id,
                        node.domain.value,
                        node.type.value,
                        node.scope,
                        node.name,
                        node.path,
                        node.content,
                        digest,
                        _json.encode(node.metadata).decode(),
                        node.id in embedded,
                        now,
                        now,
                        now,
                    ),
                )
            except sqlite3.IntegrityError as problem:
                raise DuplicateNode(
                    f"there is a node {node.id!r} already", hint="Update it, or choose another id."
                ) from problem
            keys.append(int(made.lastrowid or 0))
    return keys


def update(database: Database, node: Node, embedded: bool, now: float) -> Node:
    """Put another content, name, place, type and metadata in a node's place; its domain and scope stay.

    Raises UnknownNode, InvalidNode.
    """
    check_node(node)
    digest = content_hash(node.content)
    with database.transaction() as connection:
        done = connection.execute(
            "UPDATE nodes SET type = ?, name = ?, path = ?, content = ?, content_hash = ?, metadata = ?, embedded = ?,"
            " updated_at = ? WHERE id = ? AND domain = ? AND scope = ?",
            (
                node.type.value,
                node.name,
                node.path,
                node.content,
                digest,
                _json.encode(node.metadata).decode(),
                embedded,
                now,
                node.id,
                node.domain.value,
                node.scope,
            ),
        )
        if not done.rowcount:
            raise unknown(node.id)
    return get(database, node.id)


def delete(database: Database, keys: Iterable[int]) -> None:
    """Remove nodes with their edges, provenance and conflicts."""
    with database.transaction() as connection:
        connection.executemany("DELETE FROM nodes WHERE key = ?", [(key,) for key in keys])


def touch(database: Database, name: str, now: float) -> None:
    """Note that a node was used. Raises UnknownNode."""
    with database.transaction() as connection:
        if not connection.execute("UPDATE nodes SET accessed_at = ? WHERE id = ?", (now, name)).rowcount:
            raise unknown(name)


def get(database: Database, name: str) -> Node:
    """The node with an id. Raises UnknownNode."""
    rows = database.rows(f"{_SELECT} WHERE id = ?", (name,))
    if not rows:
        raise unknown(name)
    return _node(rows[0])


def find(database: Database, names: Iterable[str]) -> dict[str, Node]:
    """Those that are there, by id."""
    return {row[1]: _node(row) for row in database.rows_in(f"{_SELECT} WHERE id IN ({{}})", names)}


def by_key(database: Database, keys: Iterable[int]) -> dict[int, Node]:
    """Those that are there, by key."""
    return {row[0]: _node(row) for row in database.rows_in(f"{_SELECT} WHERE key IN ({{}})", keys)}


def briefs(database: Database, keys: Iterable[int]) -> dict[int, Node]:
    """As ``by_key``, without their contents: a third of the time."""
    rows = database.rows_in(
        "SELECT key, id, domain, type, scope, name, path, '', content_hash, metadata, created_at, updated_at,"
        " accessed_at FROM nodes WHERE key IN ({})",
        keys,
    )
    return {row[0]: _node(row) for row in rows}


def names_in(database: Database, domain: Domain, scope: str, paths: Iterable[str]) -> list[tuple[str, str]]:
    """(path, name) of every named node that stands at one of these paths."""
    rows = database.rows_in(
        "SELECT path, name FROM nodes WHERE domain = ? AND scope = ? AND path IN ({})"
        " AND type NOT IN ('file', 'section')",
        paths,
        before=(domain.value, scope),
    )
    return [(path, name) for path, name in rows]


def names(database: Database, domain: Domain, scope: str, limit: int) -> list[str]:
    """The names of a scope's nodes, each once, in no order."""
    rows = database.rows(
        "SELECT DISTINCT name FROM nodes WHERE scope = ? AND domain = ? AND type NOT IN ('file', 'section') LIMIT ?",
        (scope, domain.value, limit),
    )
    return [name for (name,) in rows]


def other_cases(database: Database, domain: Domain, scope: str, name: str) -> list[str]:
    """The names that differ from one in the case of their letters alone."""
    rows = database.rows(
        "SELECT DISTINCT name FROM nodes WHERE scope = ? AND name = ? COLLATE NOCASE AND domain = ? AND name <> ?",
        (scope, name, domain.value, name),
    )
    return [found for (found,) in rows]


def paths_of(database: Database, domain: Domain, scope: str) -> list[str]:
    """Every path at which a node stands, in order."""
    rows = database.rows(
        "SELECT DISTINCT path FROM nodes WHERE scope = ? AND domain = ? AND path <> '' ORDER BY path",
        (scope, domain.value),
    )
    return [path for (path,) in rows]


def keys_of(database: Database, names: Iterable[str]) -> dict[str, tuple[int, Domain, str]]:
    """Key, domain and scope of those that are there, by id."""
    # A row for all of a scope, not for each: another thread may take Python's lock at every row.
    rows = database.rows_in(
        "SELECT domain, scope, json_group_object(id, key) FROM nodes WHERE id IN ({}) GROUP BY domain, scope", names
    )
    found: dict[str, tuple[int, Domain, str]] = {}
    for domain, scope, keys in rows:
        place = Domain(domain)
        found.update((name, (key, place, scope)) for name, key in _keys(keys).items())
    return found


def ids_at(database: Database, domain: Domain, scope: str, path: str) -> list[str]:
    """The ids of the nodes that stand at a path."""
    rows = database.rows(
        "SELECT id FROM nodes WHERE scope = ? AND path = ? AND domain = ?", (scope, path, domain.value)
    )
    return [name for (name,) in rows]


def with_vectors(database: Database, names: Iterable[str]) -> set[str]:
    """Those of these ids whose nodes have vectors."""
    return {name for (name,) in database.rows_in("SELECT id FROM nodes WHERE embedded AND id IN ({})", names)}


def select(
    database: Database,
    *,
    domain: Domain | None = None,
    types: Collection[NodeType] = (),
    scope: str | None = None,
    path: str | None = None,
    name: str | None = None,
    digest: str | None = None,
    limit: int | None = None,
) -> list[Node]:
    """Nodes with all that is given, in the order in which they were stored."""
    wanted = [
        ("domain", domain.value if domain else None),
        ("scope", scope),
        ("path", path),
        ("name", name),
        ("content_hash", digest),
    ]
    given = [(column, value) for column, value in wanted if value is not None]
    conditions = [f"{column} = ?" for column, _ in given]
    values: list[object] = [value for _, value in given]
    if name is not None:
        # The index is of names whatever their case.
        conditions.append("name = ? COLLATE NOCASE")
        values.append(name)
    if types:
        conditions.append(f"type IN ({', '.join('?' * len(types))})")
        values += [each.value for each in types]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    values.append(-1 if limit is None else limit)
    return [_node(row) for row in database.rows(f"{_SELECT}{where} ORDER BY key LIMIT ?", values)]


def embedded(database: Database, domain: Domain, *, after: int = 0, limit: int = 500) -> list[Node]:
    """Those that a search can find, with greater keys, in the order of these."""
    rows = database.rows(
        f"{_SELECT} WHERE key > ? AND domain = ? AND embedded ORDER BY key LIMIT ?", (after, domain.value, limit)
    )
    return [_node(row) for row in rows]


def unreferred(database: Database, domain: Domain, scope: str, kind: NodeType) -> list[str]:
    """The ids of the nodes of a type that no edge leads to."""
    rows = database.rows(
        "SELECT id FROM nodes WHERE domain = ? AND type = ? AND scope = ?"
        " AND NOT EXISTS (SELECT 1 FROM edges WHERE target = nodes.key)",
        (domain.value, kind.value, scope),
    )
    return [name for (name,) in rows]


def unknown(name: str) -> UnknownNode:
    """What to raise for an id that is not there."""
    return UnknownNode(f"there is no node {name!r}", hint="It was never stored, or has been deleted.")
