from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sylk_ray.fairness import Capacity, FairShare, Granted, Group
from sylk_ray.fairness.standings import Standings
from tests.unit.fairness.driven import want

steps = st.lists(
    st.tuples(
        st.sampled_from(["request", "request", "release", "wait", "weight", "charge", "capacity"]),
        st.integers(0, 11),
        st.floats(0.0, 3.0),
    ),
    max_size=80,
)


class Checked(Standings):
    """Works out everybody's standing each time as well."""

    def first(self, now: float):
        found = super().first(now)
        assert found is (min(self, key=lambda each: self._standing(each, now)) if self._sessions else None)
        return found


@settings(max_examples=200, deadline=None)
@given(steps)
def test_who_is_next_is_found_without_looking_at_everybody(steps):
    share = FairShare(Capacity({"cpu": 3, "tokens:fast": 600}), now=0.0)
    share._dispatch._contending = Checked(share._dispatch._standing)
    held: list[str] = []
    now = 0.0
    for number, (what, which, amount) in enumerate(steps):
        session = "abcdefghijkl"[which]
        decisions = []
        if what == "request":
            demand = {"cpu": 1.0, "memory": 1.0} if which % 2 else {"cpu": 1.0}
            tokens = {"fast": amount} if which % 3 == 0 else None
            decisions = share.request(want(f"{session}/{number}", at=now, tokens=tokens, **demand), "cell", now)
        elif what == "release" and held:
            decisions = share.release(held.pop(which % len(held)), now)
        elif what == "wait":
            now += amount
            share._books.holders.heard("cell", now)
            decisions = share.tick(now)
        elif what == "weight":
            decisions = share.set_group(session, Group(weight=amount + 0.1), now)
        elif what == "charge" and held:
            decisions = share.charge(held[which % len(held)], amount * 100, 0, now)
        elif what == "capacity":
            decisions = share.set_capacity(Capacity({"cpu": 1 + which % 5, "tokens:fast": 600}), now)
        held += [each.key for each in decisions if isinstance(each, Granted)]
