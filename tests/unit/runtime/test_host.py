from __future__ import annotations

import asyncio
import threading

import pytest

from sylk_ray.messaging import (
    SHARED,
    Address,
    CellLost,
    DeadlinePassed,
    Event,
    HandlerFailed,
    MailboxFull,
    NoHandler,
    NotAllowed,
    NotDecodable,
    NotEncodable,
    Request,
    SessionClosed,
    UnknownAddress,
)
from sylk_ray.messaging.wire import Packet, encode_batch
from sylk_ray.runtime.directory import router_of
from sylk_ray.runtime.history import ReadHistory

from .conftest import Add, Anything, Blob, Boom, FakeRouter, Forward, Numbers, Peek, Slow, Total

ONE = Address("s", "counter", "one")


class Mumble(Request[None], frozen=True):
    """Nobody understands it."""


@pytest.fixture(params=["a", "b"])
def target(request, place) -> Address:
    """An agent that lives beside the sender, and one that lives in another cell."""
    return place(ONE, request.param)


async def test_a_request_is_answered(cells, me, target):
    await cells["a"].tell(me, target, Add(2), timeout=5)
    await cells["a"].tell(me, target, Add(3), timeout=5)
    assert await cells["a"].ask(me, target, Total(), timeout=5) == 5


async def test_order_is_kept_from_one_sender_to_one_receiver(cells, me, target):
    await asyncio.gather(*(cells["a"].tell(me, target, Add(number), timeout=5) for number in range(200)))
    await cells["a"].tell_all(me, target, [Add(number) for number in range(200, 400)], timeout=5)
    assert await cells["a"].ask(me, target, Numbers(), timeout=5) == list(range(400))


async def test_a_handler_that_raises_fails_the_request_with_its_traceback_and_the_agent_lives_on(cells, me, target):
    with pytest.raises(HandlerFailed) as failure:
        await cells["a"].ask(me, target, Boom(), timeout=5)
    assert "the roof is on fire" in failure.value.message
    assert "conftest.py" in failure.value.message
    assert await cells["a"].ask(me, target, Total(), timeout=5) == 0


async def test_an_answer_that_does_not_come_in_time_is_a_passed_deadline(cells, me, target):
    with pytest.raises(DeadlinePassed):
        await cells["a"].ask(me, target, Slow(), timeout=0.05)


async def test_a_message_nobody_handles_is_refused(cells, me, target):
    with pytest.raises(NoHandler):
        await cells["a"].ask(me, target, Mumble(), timeout=5)


async def test_an_unknown_role_is_an_unknown_address_with_the_nearest_name(cells, me):
    with pytest.raises(UnknownAddress) as failure:
        await cells["a"].ask(me, Address("s", "conter", "x"), Total(), timeout=5)
    assert "counter" in failure.value.hint


async def test_an_agent_cannot_address_another_session(cells, me):
    with pytest.raises(NotAllowed):
        await cells["a"].tell(me, Address("t", "counter", "x"), Add(1), timeout=5)


async def test_only_agents_of_one_pipeline_speak_directly(cells, me):
    with pytest.raises(NotAllowed):
        await cells["a"].tell(me, ONE, Add(1), timeout=5, direct=True)


async def test_a_full_mailbox_pushes_back_on_the_sender_until_there_is_room(cells, me, target, place):
    host = cells["a"]
    await host.ask(me, target, Total(), timeout=5)
    home = cells[FakeRouter.places[target]]
    agent = home._slots[target].agent
    agent.gate.clear()
    tells = [asyncio.create_task(host.tell(me, target, Add(number), timeout=5)) for number in range(40)]
    done, _ = await asyncio.wait(tells, timeout=0.1)
    assert len(done) <= 9, "8 in the mailbox and one at work"
    agent.gate.set()
    await asyncio.gather(*tells)
    assert await host.ask(me, target, Numbers(), timeout=5) == list(range(40))


async def test_a_mailbox_that_stays_full_refuses_with_a_typed_error(cells, me, target):
    host = cells["a"]
    await host.ask(me, target, Total(), timeout=5)
    agent = cells[FakeRouter.places[target]]._slots[target].agent
    agent.gate.clear()
    tells = [host.tell(me, target, Add(number), timeout=0.1) for number in range(40)]
    outcomes = await asyncio.gather(*tells, return_exceptions=True)
    refused = [outcome for outcome in outcomes if outcome is not None]
    assert len(refused) >= 31, "8 in the mailbox and one at work"
    assert all(isinstance(error, MailboxFull | DeadlinePassed) for error in refused)
    agent.gate.set()


async def test_a_full_receiver_does_not_hold_up_the_others(cells, me, place):
    host = cells["a"]
    full, free = place(ONE, "b"), place(Address("s", "counter", "two"), "b")
    await host.ask(me, full, Total(), timeout=5)
    agent = cells["b"]._slots[full].agent
    agent.gate.clear()
    waiting = [asyncio.create_task(host.tell(me, full, Add(1), timeout=5)) for _ in range(30)]
    assert await host.ask(me, free, Total(), timeout=1) == 0
    agent.gate.set()
    await asyncio.gather(*waiting)


async def test_a_concurrent_handler_runs_while_another_is_at_work(cells, me, target):
    host = cells["a"]
    slow = asyncio.create_task(host.ask(me, target, Slow(), timeout=5))
    assert await host.ask(me, target, Peek(), timeout=1) == "open"
    assert not slow.done()
    slow.cancel()


async def test_agents_ask_each_other_across_cells_and_back(cells, me, place):
    one, two = place(ONE, "b"), place(Address("s", "counter", "two"), "a")
    await cells["a"].tell(me, two, Add(7), timeout=5)
    assert await cells["a"].ask(me, one, Forward(two), timeout=5) == 7


async def test_a_message_without_a_wire_form_is_a_typed_error_to_its_sender(cells, me, place):
    place(ONE, "b")
    with pytest.raises(NotEncodable):
        await cells["a"].tell(me, ONE, Anything(threading.Lock()), timeout=5)


async def test_a_large_message_arrives(cells, me, target):
    assert await cells["a"].ask(me, target, Blob(b"x" * 50_000_000), timeout=20) == 50_000_000


async def test_a_packet_that_does_not_decode_is_refused_to_its_sender(cells, me, place):
    import msgspec

    host = cells["b"]
    packet = Packet("x-1", str(me), str(ONE), "Add", msgspec.Raw(msgspec.msgpack.encode({"number": "seven"})))
    batch = encode_batch("a", "e", 1, [msgspec.msgpack.encode(packet)])
    from sylk_ray.messaging.wire import decode_refusals

    (refusal,) = decode_refusals(await host.receive(batch))
    assert refusal.failure.code == NotDecodable.code


async def test_a_repeated_batch_is_handled_once(cells, me, place):
    import msgspec

    place(ONE, "b")
    host = cells["b"]
    packet = Packet("x-1", str(me), str(ONE), "Add", msgspec.Raw(msgspec.msgpack.encode(Add(5))))
    batch = encode_batch("a", "e", 1, [msgspec.msgpack.encode(packet)])
    assert await host.receive(batch) == await host.receive(batch)
    assert await cells["a"].ask(me, ONE, Numbers(), timeout=5) == [5]


async def test_an_idle_agent_is_put_away_and_comes_back_with_its_state(cells, me, target):
    host, home = cells["a"], cells[FakeRouter.places[target]]
    await host.tell(me, target, Add(4), timeout=5)
    assert await host.ask(me, target, Total(), timeout=5) == 4
    while home._slots[target].busy:
        await asyncio.sleep(0)
    assert await home.deactivate_idle(0) >= 1
    assert target not in home._slots
    assert await host.ask(me, target, Total(), timeout=5) == 4


async def test_an_idle_agent_that_keeps_things_in_its_attributes_is_not_put_away(cells, me):
    router = cells["a"]
    await router.publish(me, Event("task.started", "s", "one"))
    while not FakeRouter.events:
        await asyncio.sleep(0)
    before = {agent.address for agent in router.agents()}
    await asyncio.sleep(0)
    await router.deactivate_idle(0)
    assert {agent.address for agent in router.agents()} == before


async def test_a_closed_session_refuses_and_its_requests_in_flight_fail(cells, me, place):
    place(ONE, "b")
    slow = asyncio.create_task(cells["a"].ask(me, ONE, Slow(), timeout=5))
    while ONE not in cells["b"]._slots:
        await asyncio.sleep(0)
    await cells["b"].close_session("s")
    with pytest.raises(SessionClosed):
        await slow
    with pytest.raises(SessionClosed):
        await cells["a"].tell(me, ONE, Add(1), timeout=5)
    assert cells["b"].agents() == []


async def test_a_dead_cell_fails_what_waits_for_it(cells, me, place):
    place(ONE, "b")
    slow = asyncio.create_task(cells["a"].ask(me, ONE, Slow(), timeout=5))
    while ONE not in cells["b"]._slots:
        await asyncio.sleep(0)
    cells["transport"].leave("b")
    with pytest.raises(CellLost):
        await cells["a"].tell(me, ONE, Add(1), timeout=5)
    with pytest.raises(CellLost):
        await slow


async def test_an_agent_is_activated_once_however_many_messages_come_at_once(cells, me, target):
    host = cells["a"]
    asks = [host.ask(me, target, message, timeout=5) for message in (Peek(), Total(), Peek(), Total(), Peek())]
    await asyncio.gather(*asks)
    assert cells[FakeRouter.places[target]]._slots[target].agent.activated == 1


async def test_an_agent_that_cannot_be_made_refuses_its_own_message_alone(cells, me, place):
    broken, good = place(Address("s", "broken", "x"), "b"), place(ONE, "b")
    outcomes = await asyncio.gather(
        cells["a"].tell(me, good, Add(1), timeout=5),
        cells["a"].tell(me, broken, Add(1), timeout=5),
        cells["a"].tell(me, good, Add(2), timeout=5),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), HandlerFailed, type(None)]
    assert await cells["a"].ask(me, good, Numbers(), timeout=5) == [1, 2]


async def test_a_cell_that_was_only_away_gets_what_is_sent_after_it_came_back(cells, me, place):
    place(ONE, "b")
    await cells["a"].tell(me, ONE, Add(1), timeout=5)
    cells["transport"].leave("b")
    with pytest.raises(CellLost):
        await cells["a"].tell(me, ONE, Add(2), timeout=5)
    cells["transport"].join("b", cells["b"].receive)
    for number in (3, 4, 5):
        await cells["a"].tell(me, ONE, Add(number), timeout=5)
    assert await cells["a"].ask(me, ONE, Numbers(), timeout=5) == [1, 3, 4, 5]


async def test_a_router_that_is_not_where_it_was_is_asked_of_the_fleet_and_never_of_itself(cells, me):
    stranger = Address(SHARED, "operator", "x")
    with pytest.raises(UnknownAddress):
        await cells["system"].ask(stranger, router_of("nowhere"), ReadHistory(), timeout=2)


async def test_more_concurrent_requests_than_may_run_at_once_wait_for_their_turn(cells, me, target):
    answers = await asyncio.gather(*(cells["a"].ask(me, target, Peek(), timeout=5) for _ in range(300)))
    assert answers == ["open"] * 300


async def test_what_is_published_reaches_the_router(cells, me):
    await cells["b"].publish(me, Event("task.started", "s", "one"))
    while not FakeRouter.events:
        await asyncio.sleep(0)
    assert FakeRouter.events[0].kind == "task.started"


async def test_stopping_lets_a_handler_finish(cells, me, place):
    place(ONE, "b")
    host = cells["a"]
    await host.ask(me, ONE, Total(), timeout=5)
    agent = cells["b"]._slots[ONE].agent
    agent.gate.clear()
    await host.tell(me, ONE, Add(1), timeout=5)
    stopping = asyncio.create_task(cells["b"].stop(grace_s=5))
    await asyncio.sleep(0)
    agent.gate.set()
    await stopping
    assert agent.state.numbers == [1]
