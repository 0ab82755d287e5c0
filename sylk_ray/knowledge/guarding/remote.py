"""The gate of a process that owns nothing: a reader of each domain, and what it and the owner say to each other.

::

    remote = RemoteGate()
    granted = lease(guards, remote.renewal())              # in the owner: what travels are bytes
    confirm(guards, remote.accept(granted, snapshots))     # snapshots of the domains in remote.wanting(granted)
    confirm(guards, remote.follow(pushed(domain, push)))   # at every write
    remote.gate.check("code", "kubernetes operator")       # No, or MAYBE

As bytes, because whoever carries it would need a quarter of a second to import the types of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import msgspec

from sylk_ray.knowledge.gate import Confirm, Gate, Grant, LeaseTerms, Push, Reader, Renew, SnapshotDamaged
from sylk_ray.knowledge.gate.durations import lease_clock
from sylk_ray.knowledge.guarding.guards import Guards
from sylk_ray.knowledge.model import Domain

log = logging.getLogger("sylk.gate")

_encode = msgspec.msgpack.Encoder().encode
_asked = msgspec.msgpack.Decoder(dict[str, Renew])
_granted = msgspec.msgpack.Decoder(dict[str, Grant])
_pushed = msgspec.msgpack.Decoder(tuple[str, Push])
_said = msgspec.msgpack.Decoder(dict[str, Confirm])


class RemoteGate:
    """Refuses nothing without a lease. ``gate`` is for any thread, the rest for one."""

    def __init__(self, *, terms: LeaseTerms | None = None, clock: Callable[[], float] = lease_clock) -> None:
        self.terms = terms or LeaseTerms()
        self._readers = {domain.value: Reader(terms=self.terms, clock=clock) for domain in Domain}
        self.gate = Gate(self._readers)

    def renewal(self) -> bytes:
        """To be sent now, every ``terms.renew_every_s``."""
        return _encode({domain: reader.renew() for domain, reader in self._readers.items()})

    def wanting(self, granted: bytes) -> list[str]:
        """Domains whose snapshot is needed to accept what was granted."""
        grants = _granted.decode(granted)
        return [domain for domain, grant in grants.items() if self._readers[domain].needs_snapshot(grant)]

    def accept(self, granted: bytes, snapshots: Mapping[str, object]) -> bytes:
        """What to confirm. A domain whose snapshot is missing, or another one than was granted, has to wait."""
        said: dict[str, Confirm] = {}
        for domain, grant in _granted.decode(granted).items():
            try:
                confirmed = self._readers[domain].accept(grant, snapshots.get(domain))
            except SnapshotDamaged as problem:
                log.warning("the gate's snapshot of %s is not used: %s", domain, problem)
                continue
            if confirmed is not None:
                said[domain] = confirmed
        return _encode(said)

    def follow(self, pushed: bytes) -> bytes:
        """What to confirm of a write."""
        domain, push = _pushed.decode(pushed)
        said = self._readers[domain].follow(push)
        return _encode({domain: said} if said is not None else {})


def lease(guards: Guards, asked: bytes) -> bytes:
    """What the owner grants, to be made when it is sent: nothing of a domain that it does not know enough of itself."""
    grants = {domain: guards.granted(Domain(domain), renew) for domain, renew in _asked.decode(asked).items()}
    return _encode({domain: grant for domain, grant in grants.items() if grant is not None})


def pushed(domain: Domain, push: Push) -> bytes:
    """What the owner sends to its readers at every write."""
    return _encode((domain.value, push))


def confirm(guards: Guards, said: bytes) -> None:
    """What a reader has answered."""
    for domain, each in _said.decode(said).items():
        guards.confirmed(Domain(domain), each)
