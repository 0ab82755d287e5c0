"""What an agent tells itself: until its mailbox has it, once, and one alarm at a time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sylk_ray.messaging import Address, MailboxFull, Message, SessionClosed
from sylk_ray.runtime import Context, ManualClock, Reminders

ME = Address("s", "sleeper", "me")


class Wake(Message, frozen=True):
    note: str


class Mailbox:
    """Stands in for a host: takes what is told, or raises what it was given to raise."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.got: list[str] = []
        self.raises: list[Exception] = []

    async def tell(self, source: Address, target: Address, message: Any, *, timeout: float, direct: bool) -> None:
        assert source == target == ME
        if self.raises:
            raise self.raises.pop(0)
        self.got.append(message.note)


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


@pytest.fixture
def reminders(mailbox):
    made = Reminders(Context(mailbox, ME))
    yield made
    made.close()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_it_is_sent_once(mailbox, reminders):
    reminders.send(Wake("now"))
    await settle()
    await mailbox.clock.advance(3600)
    assert mailbox.got == ["now"]


async def test_a_mailbox_that_is_full_gets_it_later(mailbox, reminders):
    mailbox.raises = [MailboxFull("full"), MailboxFull("still")]
    reminders.send(Wake("now"))
    for _ in range(2):
        await settle()
        assert mailbox.got == []
        await mailbox.clock.advance(0.5)
    await settle()
    assert mailbox.got == ["now"]


async def test_a_closed_session_is_not_reminded_again(mailbox, reminders):
    mailbox.raises = [SessionClosed("over")]
    reminders.send(Wake("now"))
    await settle()
    await mailbox.clock.advance(3600)
    assert (mailbox.got, mailbox.raises) == ([], [])


async def test_an_alarm_comes_at_its_time_and_replaces_the_one_before(mailbox, reminders):
    now = mailbox.clock.now()
    reminders.set_alarm(now + 10, Wake("first"))
    reminders.set_alarm(now + 20, Wake("second"))
    await settle()
    await mailbox.clock.advance(15)
    assert mailbox.got == []
    await mailbox.clock.advance(5)
    assert mailbox.got == ["second"]
    reminders.set_alarm(now + 30, Wake("third"))
    reminders.set_alarm(None, Wake("third"))
    await settle()
    await mailbox.clock.advance(60)
    assert mailbox.got == ["second"]


async def test_closed_it_sends_nothing_more(mailbox, reminders):
    reminders.set_alarm(mailbox.clock.now() + 1, Wake("later"))
    await settle()
    reminders.close()
    await mailbox.clock.advance(2)
    assert mailbox.got == []
