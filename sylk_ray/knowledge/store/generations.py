"""What tells whether something that was derived from a domain's nodes is still of all of them.

A generation is a number drawn at random with every write that adds to what a search can find, and not a count: a file
that has lost its last writes in a power cut, or was put back from a copy, then never comes to a number that it had with
other nodes.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from sylk_ray.knowledge.model import Domain
from sylk_ray.knowledge.store.database import Database

NOTHING = 0
"""The generation of a domain that never had a node."""


def read(database: Database) -> dict[Domain, int]:
    """The generation of every domain."""
    known = {Domain(domain): number for domain, number in database.rows("SELECT domain, generation FROM generations")}
    return {domain: known.get(domain, NOTHING) for domain in Domain}


def advance(database: Database, domains: Iterable[Domain]) -> dict[Domain, int]:
    """Give domains another generation, in the transaction that is open."""
    fresh = {domain: 1 + secrets.randbits(62) for domain in domains}
    with database.transaction() as connection:
        connection.executemany(
            "INSERT INTO generations(domain, generation) VALUES (?, ?)"
            " ON CONFLICT DO UPDATE SET generation = excluded.generation",
            [(domain.value, number) for domain, number in fresh.items()],
        )
    return fresh
