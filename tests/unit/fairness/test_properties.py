"""What holds after any calls in any order, with a driven clock."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sylk_ray.fairness import Capacity, Decision, FairShare, Granted, Group, Lane, Refused, Request, Returned
from sylk_ray.fairness.session_queue import kind_of

SESSIONS, HOLDERS = ("a", "b", "c"), ("cell-1", "cell-2")
PATIENCE_S = 6.0
RESOURCES = ("cpu", "engineers", "memory")

demands = st.dictionaries(st.sampled_from(RESOURCES), st.sampled_from([0.5, 1, 2, 3]), min_size=1)
group_strategy = st.builds(
    Group,
    weight=st.sampled_from([1.0, 2.0, 4.0]),
    max_engineers=st.sampled_from([None, 1, 2, 4]),
    cpu_slots=st.sampled_from([None, 1.0, 2.0]),
    tokens_per_minute=st.sampled_from([None, 60.0]),
    token_budget=st.sampled_from([None, None, 150.0]),
)
capacities = st.fixed_dictionaries(
    {"cpu": st.sampled_from([1, 2, 4]), "engineers": st.sampled_from([2, 4]), "tokens:fast": st.sampled_from([60, 600])}
)
requests = st.tuples(
    st.sampled_from(SESSIONS),
    st.sampled_from(HOLDERS),
    demands,
    st.sampled_from(list(Lane)),
    st.sampled_from([{}, {}, {"fast": 20.0}]),
)
calls = st.lists(
    st.one_of(
        st.tuples(st.just("request"), requests),
        st.tuples(st.just("request"), requests),
        st.tuples(st.just("release"), st.integers(0, 50)),
        st.tuples(st.just("release"), st.integers(0, 50)),
        st.tuples(st.just("withdraw"), st.integers(0, 50)),
        st.tuples(st.just("again"), st.tuples(st.integers(0, 50), st.sampled_from(HOLDERS))),
        st.tuples(st.just("charge"), st.tuples(st.integers(0, 50), st.integers(0, 100))),
        st.tuples(st.just("heartbeat"), st.sampled_from(HOLDERS)),
        st.tuples(st.just("tick"), st.sampled_from([0.1, 1.0, 3.0, 10.0])),
        st.tuples(st.just("group"), st.tuples(st.sampled_from(SESSIONS), group_strategy)),
        st.tuples(st.just("capacity"), capacities),
        st.tuples(st.just("close"), st.sampled_from(SESSIONS)),
    ),
    max_size=60,
)


def backwards(amounts: dict[str, float]) -> dict[str, float]:
    return dict(reversed(amounts.items()))


class Machine:
    """Makes the calls, and keeps books of its own from the decisions alone."""

    def __init__(self, capacity: dict[str, float], *, reverse: bool = False) -> None:
        self._turn = backwards if reverse else dict
        self.share = FairShare(Capacity(self._turn(capacity)), now=0.0, patience_s=PATIENCE_S)
        self.now = 0.0
        self.requests: dict[str, Request] = {}
        self.waiting: dict[str, str] = {}
        self.held: dict[str, str] = {}
        self.ends: Counter[str] = Counter()

    def call(self, what: str, value: Any) -> list[Decision]:
        decisions = getattr(self, what)(value)
        for each in decisions:
            self._note(each)
        return decisions

    def request(self, value: Any) -> list[Decision]:
        session, holder, demand, lane, tokens = value
        key = f"{session}/{len(self.requests)}"
        self.requests[key] = Request(key, session, self._turn(demand), lane, self.now, tokens)
        self.waiting[key] = holder
        return self.share.request(self.requests[key], holder, self.now)

    def release(self, number: int) -> list[Decision]:
        key = self._pick(self.held, number)
        self.held.pop(key, None)
        self.ends[key] += 1
        return self.share.release(key, self.now)

    def withdraw(self, number: int) -> list[Decision]:
        key = self._pick(self.waiting, number)
        self.waiting.pop(key, None)
        self.ends[key] += 1
        return self.share.withdraw(key, self.now)

    def again(self, value: tuple[int, str]) -> list[Decision]:
        number, holder = value
        both = self.held | self.waiting
        key = self._pick(both, number)
        if key not in both:
            return []
        (self.held if key in self.held else self.waiting)[key] = holder
        decisions = self.share.request(self.requests[key], holder, self.now)
        assert decisions == ([Granted(key, holder)] if key in self.held else [])
        return []

    def charge(self, value: tuple[int, int]) -> list[Decision]:
        return self.share.charge(self._pick(self.held, value[0]), value[1], value[1], self.now)

    def heartbeat(self, holder: str) -> list[Decision]:
        held = [self.requests[key] for key, by in self.held.items() if by == holder]
        waiting = [self.requests[key] for key, by in self.waiting.items() if by == holder]
        return self.share.heartbeat(holder, self._order(held), self._order(waiting), self.now)

    def tick(self, seconds: float) -> list[Decision]:
        self.now += seconds
        return self.share.tick(self.now)

    def group(self, value: tuple[str, Group]) -> list[Decision]:
        return self.share.set_group(value[0], value[1], self.now)

    def capacity(self, amounts: dict[str, float]) -> list[Decision]:
        return self.share.set_capacity(Capacity(self._turn(amounts)), self.now)

    def close(self, session: str) -> list[Decision]:
        return self.share.close_session(session, self.now)

    def _order(self, requests: list[Request]) -> list[Request]:
        return sorted(requests, key=lambda each: each.key)

    def _pick(self, keys: dict[str, str], number: int) -> str:
        return sorted(keys)[number % len(keys)] if keys else "none/0"

    def _note(self, each: Decision) -> None:
        if isinstance(each, Granted):
            assert self.waiting.pop(each.key) == each.holder
            self.held[each.key] = each.holder
        else:
            assert isinstance(each, Refused | Returned)
            held_by = self.waiting.pop(each.key, None) or self.held.pop(each.key)
            assert held_by == each.holder
            self.ends[each.key] += 1


def check_books(machine: Machine) -> None:
    """What the share has is what its decisions said."""
    books = machine.share._books
    assert {key: lease.holder for key, lease in books.leases.items()} == machine.held
    assert {key: entry.holder for key, entry in books.waiting.items()} == machine.waiting
    for resource in RESOURCES:
        held = sum(lease.request.demand.get(resource, 0) for lease in books.leases.values())
        assert abs(books.system.held.get(resource, 0) - held) < 1e-6
    assert sum(books.kinds.values()) == len(books.waiting)
    for session in books.sessions.values():
        assert len(session.queue) == sum(entry.request.session == session.name for entry in books.waiting.values())
        assert session.leases == {
            key: each for key, each in books.leases.items() if each.request.session == session.name
        }


def check_limits(machine: Machine, granted: list[Granted]) -> None:
    """Whatever a grant took, there is no more of it held than there may be."""
    books = machine.share._books
    for each in granted:
        lease = books.leases[each.key]
        session = books.session_of(lease.request)
        for pool in (books.system, session.pool):
            for resource, _ in lease.kind.demand:
                assert pool.held[resource] <= pool.limits.get(resource, float("inf")) + 1e-6


def check_work_conserving(machine: Machine) -> None:
    """What waits does not fit, or what it wants is kept for its session's front or for a reservation."""
    books, dispatch, now = machine.share._books, machine.share._dispatch, machine.now
    for entry in books.waiting.values():
        session = books.session_of(entry.request)
        tokens = session.has_tokens(entry.kind, now) and books.have_tokens(entry.kind, now)
        if not (tokens and session.pool.fits(entry.kind.demand)):
            continue
        front = session.front
        patient = front is not None and now - session.front_since >= PATIENCE_S
        kept = dict(front.kind.demand) if patient and front is not entry else {}
        if session.pool.fits(entry.kind.demand, kept):
            others = {
                resource: amount
                for each in dispatch.reservations.all()
                if each.entry is not entry
                for resource, amount in each.kept.items()
            }
            assert not books.system.fits(entry.kind.demand, others), entry.request.key


@settings(max_examples=400, deadline=None)
@given(capacities, calls)
def test_the_books_agree_the_limits_hold_and_nothing_that_fits_waits(capacity: dict[str, float], made: list[Any]):
    machine = Machine(capacity)
    for what, value in made:
        decisions = machine.call(what, value)
        check_books(machine)
        check_limits(machine, [each for each in decisions if isinstance(each, Granted)])
        check_work_conserving(machine)


@settings(max_examples=200, deadline=None)
@given(capacities, calls)
def test_every_request_ends_exactly_once(capacity: dict[str, float], made: list[Any]):
    machine = Machine(capacity)
    for what, value in made:
        machine.call(what, value)
    for session in SESSIONS:
        machine.call("group", (session, Group()))
    for _ in range(500):
        if not (machine.held or machine.waiting):
            break
        for holder in HOLDERS:
            machine.call("heartbeat", holder)
        machine.call("tick", 1.0)
        machine.call("release", 0)
    assert not machine.held
    assert not machine.waiting
    assert {key: machine.ends[key] for key in machine.requests} == dict.fromkeys(machine.requests, 1)
    totals = machine.share.snapshot(machine.now).totals
    assert totals.released + totals.refused + totals.withdrawn + totals.returned == len(machine.requests)
    assert machine.share.snapshot(machine.now).held == {}


@settings(max_examples=150, deadline=None)
@given(capacities, calls)
def test_decisions_do_not_depend_on_the_order_of_dicts(capacity: dict[str, float], made: list[Any]):
    one, other = Machine(capacity), Machine(capacity, reverse=True)
    for session in SESSIONS:
        one.call("group", (session, Group()))
    for session in reversed(SESSIONS):
        other.call("group", (session, Group()))
    for what, value in made:
        assert one.call(what, value) == other.call(what, value)
        assert one.share.next_wakeup(one.now) == other.share.next_wakeup(other.now)


@settings(max_examples=150, deadline=None)
@given(capacities, calls)
def test_a_share_that_is_rebuilt_from_heartbeats_has_what_the_old_one_had(capacity: dict[str, float], made: list[Any]):
    machine = Machine(capacity)
    for what, value in made:
        machine.call(what, value)
    capacity_now = machine.share._books
    resources = {**capacity_now.system.limits, **{f"tokens:{n}": b.per_minute for n, b in capacity_now.buckets.items()}}
    groups = {name: each.group for name, each in capacity_now.sessions.items() if each.opened}
    machine.share = FairShare(Capacity(resources), now=machine.now, settle_s=2.5, patience_s=PATIENCE_S)
    for session, group in groups.items():
        machine.call("group", (session, group))
    for holder in HOLDERS:
        machine.call("heartbeat", holder)
    assert {key: each.holder for key, each in machine.share._books.leases.items()} == machine.held
    check_books(machine)


@settings(max_examples=150, deadline=None)
@given(capacities, calls)
def test_a_tick_at_the_wakeup_leaves_no_other_wakeup_at_that_time(capacity: dict[str, float], made: list[Any]):
    machine = Machine(capacity)
    for what, value in made:
        machine.call(what, value)
        machine.call("tick", 0.0)
        wakeup = machine.share.next_wakeup(machine.now)
        if wakeup is not None:
            assert wakeup > machine.now


@given(demands)
def test_a_kind_is_the_same_whatever_the_order_of_its_demand(demand: dict[str, float]):
    assert kind_of(Request("a/1", "a", demand)) == kind_of(Request("a/2", "a", backwards(demand)))
