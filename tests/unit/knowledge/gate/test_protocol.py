"""There is never a wrong "no", however messages and processes fare; and a protocol with a flaw is found out."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sylk_ray.knowledge.gate import Publisher, Reader, Renew, Snapshot, View

from .world import TERMS, World, WrongNo, wander

which = st.integers(0, 40)
rates = st.floats(1 - TERMS.drift, 1 + TERMS.drift)


class NoWrongNo(RuleBasedStateMachine):
    """Every interleaving of writes, messages that are late, lost, doubled or swapped, deaths and drifting clocks."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    @rule(rate=rates)
    def start_writer(self, rate):
        self.world.start_writer(rate)

    @rule()
    def write(self):
        self.world.write()

    @rule(rate=rates)
    def start_reader(self, rate):
        self.world.start_reader(rate)

    @rule(n=which)
    def kill_reader(self, n):
        self.world.kill_reader(n)

    @rule(n=which)
    def renew(self, n):
        self.world.renew(n)

    @rule(n=which, again=st.booleans())
    def deliver(self, n, again):
        self.world.deliver(n, again=again)

    @rule()
    def deliver_all(self):
        for _ in range(len(self.world.network) * 2):
            self.world.deliver(0)

    @rule(n=which)
    def lose(self, n):
        self.world.lose(n)

    @rule(seconds=st.floats(0, 3))
    def pass_time(self, seconds):
        self.world.pass_time(seconds)

    @rule()
    def begin_rebuild(self):
        self.world.begin_rebuild()

    @rule()
    def finish_rebuild(self):
        self.world.finish_rebuild()

    @invariant()
    def no_reader_refuses_what_was_acknowledged(self):
        self.world.acknowledge()
        self.world.check()


TestNoWrongNo = NoWrongNo.TestCase
TestNoWrongNo.settings = settings(max_examples=120, stateful_step_count=60, deadline=None)


def test_no_random_course_of_events_leads_to_a_wrong_no():
    acknowledged = 0
    for seed in range(300):
        world = World()
        wander(world, seed)
        acknowledged += len(world.acknowledged)
    assert acknowledged > 2000


class CountsFromReceipt(Reader):
    """Its lease begins when the answer comes."""

    def accept(self, grant, snapshot=None):
        if grant.number in self._asked_at:
            self._asked_at[grant.number] = self._clock()
        return super().accept(grant, snapshot)


class TakesAnyDelta(Reader):
    """It takes a delta though one before it is missing."""

    def follow(self, push):
        if self._view is not None and push.deltas:
            self._view.version = max(self._view.version, push.deltas[-1].version - 1)
        return super().follow(push)


class GoesBack(Reader):
    """It takes a snapshot that is older than what it has, and forgets the rest."""

    def _updated(self, grant, snapshot):
        if self.needs_snapshot(grant):
            return View(Snapshot(snapshot), grant.deltas)
        return super()._updated(grant, snapshot)


class NeverExpires(Reader):
    """It goes on without a lease."""

    def may_say_no(self):
        return self._until > float("-inf")


class BelievesOtherEpochs(Publisher):
    """It takes a confirmation of what another writer pushed for one of its own."""

    def confirmed(self, said):
        super().confirmed(msgspec.structs.replace(said, epoch=self.epoch))


class DoesNotWait(Publisher):
    """It begins as if there had been no writer before it."""

    def __init__(self, *args, **options):
        super().__init__(*args, **{**options, "owners_gone": True})


class LosesDeltas(Publisher):
    """What was published while it rebuilt is in neither the snapshot nor what follows."""

    def finish_rebuild(self, built):
        lost = self.version
        if not super().finish_rebuild(built):
            return False
        self._view = View(Snapshot(self._snapshot))
        self._view.version = lost
        return True


class IgnoresDrift(Publisher):
    """Its clock may be quicker than a reader's, and it counts as long as they do."""

    def granted(self, asked):
        grant = super().granted(asked)
        leases = self._holders[asked.reader].leases
        leases[-1] = (leases[-1][0], self._clock() + self.terms.duration_s)
        return grant


class TakesGrantsForConfirmed(Publisher):
    """It counts as confirmed what it only sent."""

    def granted(self, asked):
        grant = super().granted(asked)
        self._holders[asked.reader].confirmed = self.version
        return grant


class CountsNoEarlierLease(Publisher):
    """It looks at the last lease alone, which may never have been accepted, and forgets the one before."""

    def granted(self, asked):
        grant = super().granted(asked)
        del self._holders[asked.reader].leases[:-1]
        return grant


class DoesNotWaitForReaders(Publisher):
    """It acknowledges what it published at once."""

    def acknowledged(self, version):
        return self._clock() >= self._quiet_until


FLAWED_READERS = [CountsFromReceipt, TakesAnyDelta, GoesBack, NeverExpires]
FLAWED_WRITERS = [
    BelievesOtherEpochs,
    DoesNotWait,
    LosesDeltas,
    IgnoresDrift,
    TakesGrantsForConfirmed,
    CountsNoEarlierLease,
    DoesNotWaitForReaders,
]


@pytest.mark.parametrize("flawed", [*FLAWED_READERS, *FLAWED_WRITERS], ids=lambda each: each.__name__)
def test_a_protocol_with_a_flaw_is_found_out(flawed):
    for seed in range(3000):
        world = World(make_reader=flawed) if flawed in FLAWED_READERS else World(make_publisher=flawed)
        try:
            wander(world, seed)
        except WrongNo:
            return
    pytest.fail("3,000 courses of events did not show it")


def test_a_reader_that_accepts_nothing_holds_a_write_up_for_one_lease_and_no_longer():
    now = [100.0]
    publisher = Publisher(np.empty(0, dtype=np.uint64), clock=lambda: now[0], owners_gone=True)
    terms = publisher.terms
    publisher.granted(Renew("r", 1))
    publisher.publish([7])
    version = publisher.version
    for number in range(2, 5):
        assert not publisher.acknowledged(version)
        now[0] += terms.renew_every_s
        publisher.granted(Renew("r", number))
    now[0] += terms.renew_every_s
    assert publisher.acknowledged(version)
    assert publisher.longest_wait_s(version) == 0
    assert publisher.readers == 1
