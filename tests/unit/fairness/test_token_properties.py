"""What holds of tokens, whatever is reported, in whatever order and however often."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sylk_ray.fairness import Capacity, FairShare, Granted, Group, Request, TokenLedger

reports = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y", "z"]), st.integers(1, 50)), max_size=30)


@given(reports, st.randoms(), st.integers(0, 30))
def test_a_ledger_counts_each_token_once(growth, shuffle: random.Random, kept_at: int):
    """Reports come out of order, twice, and to a ledger that was lost and read anew in the middle."""
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    told: list[tuple[str, str, int]] = []
    for session, source, tokens in growth:
        counts[session, source] += tokens
        told.append((session, source, counts[session, source]))
    told += [(session, source, tokens) for (session, source), tokens in counts.items()] * 2
    shuffle.shuffle(told)
    ledger = TokenLedger()
    for number, (session, source, tokens) in enumerate(told):
        if number == kept_at:
            kept = {name: ledger.counts(name) for name in "ab"}
            ledger = TokenLedger()
            for name in "ab":
                ledger.take_up(name, kept[name])
        ledger.report(session, source, tokens)
    for name in "ab":
        assert ledger.total(name) == sum(tokens for (session, _), tokens in counts.items() if session == name)


calls = st.lists(
    st.tuples(st.floats(0, 200), st.lists(st.floats(0, 100), max_size=4), st.booleans(), st.booleans()), max_size=30
)


@settings(deadline=None)
@given(calls, st.floats(0, 1_000), st.integers(1, 4))
def test_a_budget_is_exceeded_by_no_more_than_the_calls_in_flight(calls, budget: float, slots: int):
    """Reports may come twice; FairShare may be started anew between any two, from what holders tell."""

    def started() -> FairShare:
        fair = FairShare(Capacity({"model:fast": slots}), now=0.0)
        fair.set_group("a", Group(token_budget=budget), 0.0, tokens_used=sum(used.values()))
        held = [Request(key, "a", {"model:fast": 1}, tokens={"fast": estimates[key]}) for key in running]
        fair.heartbeat("cell", held, [], 0.0, used={key: used[key] for key in running})
        return fair

    used: dict[str, float] = {}
    estimates: dict[str, float] = {}
    running: list[str] = []
    in_flight: set[str] = set()
    """When the budget was not used up yet, for the last time."""
    share = started()
    for number, (estimate, pieces, restart, ends) in enumerate(calls):
        key = f"a/{number}"
        before = sum(used.values())
        decisions = share.request(Request(key, "a", {"model:fast": 1}, tokens={"fast": estimate}), "cell", 0.0)
        if decisions and isinstance(decisions[0], Granted):
            assert before < budget
            running.append(key)
            used[key], estimates[key] = 0.0, estimate
        else:
            share.withdraw(key, 0.0)
        for piece in pieces:
            if sum(used.values()) < budget:
                in_flight = set(running)
            for each in running:
                used[each] += piece
                share.charge(each, used[each], 0, 0.0)
                share.charge(each, used[each], 0, 0.0)
            share.used_in_all("a", sum(used.values()), 0.0)
        ahead = sum(max(0.0, estimates[each] - used[each]) for each in running)
        view = share.snapshot(0.0).sessions[0]
        assert view.tokens_used == pytest.approx(sum(used.values()) + ahead, abs=1e-6)
        assert sum(used.values()) <= budget + sum(used[each] for each in in_flight) + 1e-6
        if ends and running:
            share.charge(running[0], used[running[0]], 0, 0.0)
            share.release(running.pop(0), 0.0)
        if restart:
            share = started()


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([(1.0, 1.0), (1.0, 2.0), (1.0, 4.0)]), st.tuples(st.integers(20, 200), st.integers(20, 200)))
def test_tokens_come_to_be_shared_by_weight(weights, sizes):
    """Two sessions that always want more, with calls of different sizes; the provider's rate is what is scarce."""
    rate = 60_000.0
    share = FairShare(Capacity({"model:fast": 64, "tokens:fast": rate}), now=0.0)
    for name, weight in zip("ab", weights, strict=True):
        share.set_group(name, Group(weight=weight), 0.0)
    used = {"a": 0.0, "b": 0.0}
    numbers = {"a": 0, "b": 0}
    size = dict(zip("ab", sizes, strict=True))
    now = 0.0

    def ask(name: str) -> list:
        numbers[name] += 1
        request = Request(f"{name}/{numbers[name]}", name, {"model:fast": 1}, at=now, tokens={"fast": 10})
        return share.request(request, "cell", now)

    granted = [decision for name in "abababab" for decision in ask(name)]
    since, at_half = 0.0, dict(used)
    while now < 300.0:
        ready, granted = granted, []
        for decision in ready:
            name = decision.key[0]
            used[name] += size[name]
            granted += share.charge(decision.key, 10, size[name] - 10, now)
            granted += share.release(decision.key, now)
            granted += ask(name)
        if not granted:
            now = max(now + 1e-3, min(share.next_wakeup(now) or now + 1, now + 1.0))
            granted += [each for each in share.tick(now) if isinstance(each, Granted)]
            share._books.holders.heard("cell", now)
        if not since and now >= 120.0:
            since, at_half = now, dict(used)
    had = {name: used[name] - at_half[name] for name in used}
    assert had["a"] / sum(had.values()) == pytest.approx(weights[0] / sum(weights), rel=0.05)
    assert sum(had.values()) <= (now - since) * rate / 60 + max(sizes) * 10
