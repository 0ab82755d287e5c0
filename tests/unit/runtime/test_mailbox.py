from __future__ import annotations

import asyncio

import pytest

from sylk_ray.messaging import Address, MailboxFull
from sylk_ray.messaging.wire import Envelope
from sylk_ray.runtime import ManualClock
from sylk_ray.runtime.mailbox import Mailbox

ME = Address("s", "a", "b")


def letter(number: int) -> Envelope:
    return Envelope(str(number), ME, ME, number)


async def test_a_full_mailbox_takes_waiting_letters_in_order_as_room_comes():
    mailbox = Mailbox(2, ManualClock())
    assert mailbox.offer(letter(0))
    assert mailbox.offer(letter(1))
    waiting = [asyncio.create_task(mailbox.put(letter(number), 5)) for number in (2, 3)]
    await asyncio.sleep(0)
    assert not mailbox.offer(letter(4)), "nobody overtakes who waits"
    taken = [mailbox.take().message for _ in range(4)]
    await asyncio.gather(*waiting)
    assert taken == [0, 1, 2, 3]
    assert len(mailbox) == 0


async def test_who_waits_too_long_is_refused_and_leaves_no_letter():
    clock = ManualClock()
    mailbox = Mailbox(1, clock)
    mailbox.offer(letter(0))
    waiting = asyncio.create_task(mailbox.put(letter(1), 60))
    await asyncio.sleep(0)
    await clock.advance(59)
    assert not waiting.done()
    await clock.advance(2)
    with pytest.raises(MailboxFull):
        await waiting
    assert mailbox.take().message == 0
    assert len(mailbox) == 0


async def test_a_cancelled_sender_leaves_no_letter():
    mailbox = Mailbox(1, ManualClock())
    mailbox.offer(letter(0))
    waiting = asyncio.create_task(mailbox.put(letter(1), 5))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    mailbox.take()
    assert len(mailbox) == 0


async def test_clearing_gives_the_letters_back_and_tells_who_waits():
    mailbox = Mailbox(1, ManualClock())
    mailbox.offer(letter(0))
    waiting = asyncio.create_task(mailbox.put(letter(1), 5))
    await asyncio.sleep(0)
    assert [left.message for left in mailbox.clear()] == [0, 1]
    with pytest.raises(MailboxFull):
        await waiting
