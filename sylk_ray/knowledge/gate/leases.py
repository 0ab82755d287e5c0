"""The reader's side: a view that follows the writer's, and a lease without which it refuses nothing."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable

from sylk_ray.knowledge.gate.durations import LeaseTerms, lease_clock
from sylk_ray.knowledge.gate.messages import Confirm, Grant, Push, Renew
from sylk_ray.knowledge.gate.snapshots import Snapshot
from sylk_ray.knowledge.gate.views import View

OUTSTANDING = 64
"""So many requests are remembered; the answer to an older one is of no use."""


class Reader:
    """The state of one reader of one domain.

    It asks with ``renew`` every ``terms.renew_every_s``, hands the answers to ``accept`` and what is pushed to
    ``follow``, and sends back what these give. Only ``view`` and ``may_say_no`` are for other threads.
    """

    def __init__(self, *, terms: LeaseTerms | None = None, clock: Callable[[], float] = lease_clock) -> None:
        self.name = uuid.uuid4().hex
        self.terms = terms or LeaseTerms()
        self._clock = clock
        self._number = 0
        self._asked_at: OrderedDict[int, float] = OrderedDict()
        self._accepted = 0
        self._until = float("-inf")
        self._view: View | None = None

    @property
    def view(self) -> View | None:
        return self._view

    def may_say_no(self) -> bool:
        """Whether the lease holds."""
        return self._clock() < self._until

    def renew(self) -> Renew:
        """To be sent now."""
        self._number += 1
        # Before it is sent, and so before it can be granted.
        self._asked_at[self._number] = self._clock()
        while len(self._asked_at) > OUTSTANDING:
            self._asked_at.popitem(last=False)
        view = self._view
        if view is None:
            return Renew(self.name, self._number)
        return Renew(self.name, self._number, view.snapshot.epoch, view.snapshot.version, view.version)

    def needs_snapshot(self, grant: Grant) -> bool:
        """Whether the snapshot ``base`` of its epoch has to be given to ``accept`` with it."""
        if grant.number <= self._accepted or grant.number not in self._asked_at:
            return False
        view = self._view
        if view is None or view.snapshot.epoch != grant.epoch:
            return True
        return grant.whole and grant.base > view.snapshot.version

    def accept(self, grant: Grant, snapshot: object = None) -> Confirm | None:
        """``snapshot`` is any buffer. What to send back, if anything. Raises SnapshotDamaged."""
        asked_at = self._asked_at.get(grant.number)
        if asked_at is None or grant.number <= self._accepted:
            return None
        view = self._updated(grant, snapshot)
        if view is None:
            return None
        self._accepted = grant.number
        until = asked_at + self.terms.duration_s
        if self._view is not None and self._view.snapshot.epoch == grant.epoch:
            self._until, self._view = max(self._until, until), view
        else:
            # The lease of one epoch is none of another: between the two nothing is refused.
            self._until = float("-inf")
            self._view = view
            self._until = until
        for number in [each for each in self._asked_at if each <= grant.number]:
            del self._asked_at[number]
        return Confirm(self.name, grant.epoch, view.version)

    def follow(self, push: Push) -> Confirm | None:
        """Take what comes next in order; the rest comes with the next lease."""
        view = self._view
        if view is None or view.snapshot.epoch != push.epoch:
            return None
        for each in push.deltas:
            view.add(each)
        return Confirm(self.name, push.epoch, view.version)

    def _updated(self, grant: Grant, snapshot: object) -> View | None:
        """A view with all up to ``grant.version`` and no less than there was; None when that cannot be made."""
        view = self._view
        if self.needs_snapshot(grant):
            if snapshot is None:
                return None
            read = Snapshot(snapshot)
            if (read.epoch, read.version) != (grant.epoch, grant.base):
                return None
            known = view.deltas if view is not None and view.snapshot.epoch == grant.epoch else []
            view = View(read, grant.deltas)
            for each in known:
                view.add(each)
        else:
            assert view is not None
            for each in grant.deltas:
                view.add(each)
        return view if view.version >= grant.version else None
