"""What happens when time passes, with a clock that the test drives."""

from __future__ import annotations

import asyncio

import pytest

from sylk_ray.messaging import Address, DeadlinePassed, MailboxFull
from sylk_ray.runtime import ManualClock

from .conftest import Add, FakeRouter, Numbers, Slow, Total

ONE = Address("s", "counter", "one")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["a", "b"])
def target(request, place) -> Address:
    return place(ONE, request.param)


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_an_answer_is_waited_for_until_its_deadline_and_no_longer(cells, clock, me, target):
    asking = asyncio.create_task(cells["a"].ask(me, target, Slow(), timeout=60))
    await settle()
    await clock.advance(59)
    assert not asking.done()
    await clock.advance(2)
    with pytest.raises(DeadlinePassed, match="60 s"):
        await asking


async def test_a_request_that_comes_to_its_turn_after_its_deadline_is_not_handled(cells, clock, me, target):
    host, home = cells["a"], cells[FakeRouter.places[target]]
    await host.ask(me, target, Total(), timeout=5)
    agent = home._slots[target].agent
    agent.gate.clear()
    await host.tell(me, target, Add(1), timeout=60)
    asking = asyncio.create_task(host.ask(me, target, Total(), timeout=10))
    await settle()
    await clock.advance(11)
    with pytest.raises(DeadlinePassed):
        await asking
    handled = home._slots[target].handled
    agent.gate.set()
    await settle()
    assert home._slots[target].handled == handled + 1, "the told one, and not the one that nobody waits for"


async def test_a_mailbox_that_stays_full_refuses_at_the_senders_deadline(cells, clock, me, target):
    host, home = cells["a"], cells[FakeRouter.places[target]]
    await host.ask(me, target, Total(), timeout=5)
    agent = home._slots[target].agent
    agent.gate.clear()
    tells = [asyncio.create_task(host.tell(me, target, Add(number), timeout=30)) for number in range(20)]
    for _ in range(40):
        await settle()
        await clock.advance(1)
    outcomes = await asyncio.gather(*tells, return_exceptions=True)
    refused = [outcome for outcome in outcomes if outcome is not None]
    assert len(refused) == 11, "8 in the mailbox and one at work are taken"
    assert all(isinstance(error, MailboxFull | DeadlinePassed) for error in refused)
    agent.gate.set()
    assert await host.ask(me, target, Numbers(), timeout=5) == list(range(9))
