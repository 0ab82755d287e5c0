"""The gate of a whole knowledge base: a guard for each domain, built again in a thread when that is worth it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from sylk_ray.errors import SylkError
from sylk_ray.knowledge.encoding import payload_of, text_of
from sylk_ray.knowledge.gate import MAYBE, Gate, Grant, LeaseTerms, Push, Renew, Verdict, document_keys, facets_of
from sylk_ray.knowledge.gate.durations import lease_clock
from sylk_ray.knowledge.gate.messages import Confirm
from sylk_ray.knowledge.guarding.guard import Guard, GuardNumbers, Pieces, Written
from sylk_ray.knowledge.guarding.leased import Leased
from sylk_ray.knowledge.model import Domain
from sylk_ray.knowledge.store import Database, generations, nodes
from sylk_ray.knowledge.vectors import Condition

log = logging.getLogger("sylk.gate")


class Guards:
    """Threads may share it; writes are told to it one after the other, in the order in which they were committed."""

    def __init__(
        self,
        directory: Path,
        database: Database,
        *,
        terms: LeaseTerms | None = None,
        clock: Callable[[], float] = lease_clock,
    ) -> None:
        self._database = database
        self._terms = terms or LeaseTerms()
        self._leased = Leased(directory / "leased", clock)
        gone = not self._leased.may_be_held()
        self._domains = {
            domain: Guard(
                directory / f"{domain.value}.gate", generation, terms=self._terms, clock=clock, owners_gone=gone
            )
            for domain, generation in generations.read(database).items()
        }
        self.gate = Gate({domain.value: guard for domain, guard in self._domains.items()})
        self.pushed: Callable[[Domain, Push], None] | None = None
        """Called with what readers should know soon, after every write."""
        self._starting = threading.Lock()
        self._builder: threading.Thread | None = None
        self._closing = threading.Event()

    def close(self) -> None:
        """Bring everything to the disk."""
        self._closing.set()
        with self._starting:
            builder = self._builder
        if builder is not None:
            builder.join()
        self.save()
        if not any(guard.readers for guard in self._domains.values()):
            self._leased.over()

    def save(self) -> None:
        """Write the files of what has changed."""
        for guard in self._domains.values():
            guard.save()

    # Asked

    def check(self, domain: Domain, text: str, where: Condition | None = None) -> Verdict:
        """No, if certainly nothing that is stored can be found; MAYBE."""
        verdict = self.gate.check(domain.value, text, where)
        if verdict is MAYBE and not self._domains[domain].sure:
            self._build_soon()
        return verdict

    def numbers(self) -> dict[Domain, GuardNumbers]:
        """How it stands with each domain."""
        return {domain: self._numbers(domain, guard) for domain, guard in self._domains.items()}

    # Written

    def written(self, what: Mapping[Domain, Written], fresh: Mapping[Domain, int]) -> dict[Domain, int]:
        """What a transaction has added, and the generations that it has made; returns what to ``settle``."""
        versions: dict[Domain, int] = {}
        for domain, written in what.items():
            guard = self._domains[domain]
            push, versions[domain] = guard.publish(written, fresh[domain])
            if self.pushed is not None:
                self.pushed(domain, push)
            if guard.wants_rebuild():
                self._build_soon()
        return versions

    def forgotten(self, domain: Domain, count: int) -> None:
        """So many nodes of a domain are gone."""
        self._domains[domain].forget(count)
        if self._domains[domain].wants_rebuild():
            self._build_soon()

    def doubt(self) -> None:
        """A transaction has ended in a way that does not tell whether it was committed: see."""
        for domain, generation in generations.read(self._database).items():
            self._domains[domain].doubt(generation)

    def settle(self, versions: Mapping[Domain, int]) -> None:
        """Wait until no reader denies what was written."""
        for domain, version in versions.items():
            self._domains[domain].settle(version)

    # Readers

    def granted(self, domain: Domain, asked: Renew) -> Grant | None:
        """A lease for a reader in another process; None while something is not known, or when it cannot be noted on
        the disk that there is one."""
        try:
            self._leased.note(self._terms.writer_s)
        except OSError as problem:
            log.warning("no lease of the gate can be granted: %s", problem)
            return None
        grant = self._domains[domain].granted(asked)
        if grant is None:
            self._build_soon()
        return grant

    def confirmed(self, domain: Domain, said: Confirm) -> None:
        """What such a reader answers."""
        self._domains[domain].confirmed(said)

    def snapshots(self) -> dict[Domain, tuple[bytes, int, bytes]]:
        """Epoch, version and content of what readers of each domain read, where it is known."""
        every = {domain: guard.snapshot() for domain, guard in self._domains.items()}
        return {domain: snapshot for domain, snapshot in every.items() if snapshot is not None}

    # Built

    def rebuild(self, domains: Iterable[Domain] = tuple(Domain)) -> None:
        """Read everything from the store again, now and in this thread. Searches and writes go on meanwhile."""
        for domain in domains:
            self._domains[domain].rebuild(lambda domain=domain: self._stored(domain), anew=True)

    def _build_soon(self) -> None:
        with self._starting:
            if self._closing.is_set() or (self._builder is not None and self._builder.is_alive()):
                return
            self._builder = threading.Thread(target=self._build, name="gate", daemon=True)
            self._builder.start()

    def _build(self) -> None:
        for domain, guard in self._domains.items():
            try:
                if guard.wants_rebuild():
                    guard.rebuild(lambda domain=domain: self._stored(domain))
                    guard.save()
            except _Closing:
                return
            except SylkError as problem:
                log.warning("the gate of %s could not be built, all is let through: %s", domain, problem)

    def _stored(self, domain: Domain) -> Pieces:
        last = 0
        while some := nodes.embedded(self._database, domain, after=last):
            if self._closing.is_set():
                raise _Closing
            yield (
                document_keys(*map(text_of, some)),
                [(node.key, facets_of(node.scope, payload_of(node))) for node in some],
            )
            last = some[-1].key

    def _numbers(self, domain: Domain, guard: Guard) -> GuardNumbers:
        counts = self.gate.counts[domain.value]
        return GuardNumbers(
            noes=counts.noes,
            maybes=counts.maybes,
            unknown=counts.unknown,
            in_vain=counts.in_vain,
            bytes=guard.size,
            pending=guard.pending,
            readers=guard.readers,
            sure=guard.sure,
        )


class _Closing(Exception):
    """The knowledge base is being closed."""
