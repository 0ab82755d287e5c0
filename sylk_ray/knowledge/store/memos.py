"""What those who fill a knowledge base remember beside its nodes: how far they were, what they had read."""

from __future__ import annotations

from collections.abc import Mapping

from sylk_ray.knowledge.model import Domain
from sylk_ray.knowledge.store.database import Database


def read(database: Database, domain: Domain, scope: str, prefix: str = "") -> dict[str, bytes]:
    """The memos of a scope whose names begin so, by name, in order."""
    rows = database.rows(
        "SELECT name, body FROM memos WHERE domain = ? AND scope = ? AND name >= ? AND name < ? ORDER BY name",
        (domain.value, scope, prefix, f"{prefix}\U0010ffff"),
    )
    return dict(rows)


def write(database: Database, domain: Domain, scope: str, given: Mapping[str, bytes | None]) -> None:
    """Write memos in the place of those with the same names, and remove those that are None."""
    with database.transaction() as connection:
        for name, body in given.items():
            if body is None:
                connection.execute(
                    "DELETE FROM memos WHERE domain = ? AND scope = ? AND name = ?", (domain.value, scope, name)
                )
            else:
                connection.execute(
                    "INSERT INTO memos(domain, scope, name, body) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT DO UPDATE SET body = excluded.body",
                    (domain.value, scope, name, body),
                )


def forget(database: Database, domain: Domain, scope: str) -> None:
    """Remove all memos of a scope."""
    with database.transaction() as connection:
        connection.execute("DELETE FROM memos WHERE domain = ? AND scope = ?", (domain.value, scope))
