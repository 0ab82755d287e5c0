"""Mail that has been committed leaves here: in order, again and again until its receiver's cell has it.

It is safe in the journal meanwhile. What nobody can ever take is reported, and becomes a dead letter.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from sylk_ray.errors import SylkError
from sylk_ray.messaging import (
    Address,
    Message,
    NoHandler,
    NotAllowed,
    NotDecodable,
    NotEncodable,
    SessionClosed,
    said_by,
)
from sylk_ray.messaging.wire import Envelope, decode_envelope, encode_envelope
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.journal import DeadLetter, Journal, Mail

TRY_S = 30.0
"""How long one try waits for a full mailbox, or for a cell that is slow to answer."""
GIVE_UP_S = 300.0
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0

log = logging.getLogger("sylk.host")


class Awake(Message, frozen=True):
    """Come to life, if you are not, and take what waits for you: for a session that lost a cell. Every agent
    understands it.

    ``again`` is the id of a message that is to be handled once more, though it is remembered as handled.
    """

    flow = said_by("host", to="any")

    again: str = ""


class Sender(Protocol):
    """What the outbox needs of its host."""

    clock: Clock

    def next_id(self) -> str:
        """An id for a message."""
        ...

    def journal_of(self, session: str) -> Journal | None:
        """The journal of a session that is open here."""
        ...

    @property
    def send(self) -> Callable[[Envelope], Awaitable[None]]:
        """Bring an envelope to its receiver's mailbox; raises a DeliveryError."""
        ...


def mail_of(envelope: Envelope) -> Mail:
    """The envelope as the journal keeps it; raises NotEncodable."""
    return Mail(envelope.id, envelope.source, envelope.target, encode_envelope(envelope))


class Outbox:
    """The kept mail of one host's agents, and of agents that are being recovered here."""

    def __init__(self, host: Sender) -> None:
        self._host = host

    async def send(self, envelope: Envelope) -> SylkError | None:
        """Return when the receiver has it, or when that is no use any more; the error, when nobody can ever take it."""
        clock = self._host.clock
        give_up, pause = clock.now() + GIVE_UP_S, _FIRST_PAUSE_S
        while True:
            envelope.deadline = clock.now() + TRY_S
            try:
                await self._host.send(envelope)
            except SessionClosed:
                return None
            except (NoHandler, NotAllowed, NotDecodable, NotEncodable) as error:
                return error
            except SylkError as error:
                if clock.now() >= give_up:
                    return error
                log.info("%s for %s: %s; again in %.2g s", envelope.message.kind, envelope.target, error, pause)
            else:
                return None
            await clock.sleep(pause)
            if not await self._still_waits(envelope):
                return None
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    async def _still_waits(self, envelope: Envelope) -> bool:
        """Kept mail may have come to its receiver by another way meanwhile, through the journal."""
        journal = self._host.journal_of(envelope.target.session)
        if journal is None or isinstance(envelope.message, Awake):
            return journal is not None
        try:
            return await journal.waits(envelope.id)
        except SylkError as error:
            log.warning("the journal of %s does not answer: %s", envelope.target.session, error)
            return True

    async def awaken(self, source: Address, agent: Address, *, again: str = "") -> None:
        """Bring an agent to life, wherever it lives now, and to the mail that the journal has for it."""
        error = await self.send(Envelope(self._host.next_id(), source, agent, Awake(again)))
        if error is not None:
            log.warning("%s could not be brought to life: %s", agent, error)

    async def resend(self, mail: Mail) -> SylkError | None:
        """As ``send``, for kept mail that may have been lost with a cell, or have come to its receiver meanwhile."""
        try:
            envelope = decode_envelope(mail.packet)
        except NotDecodable as error:
            return error
        return await self.send(envelope) if await self._still_waits(envelope) else None

    async def bury(self, mail: Mail, error: SylkError) -> None:
        """Make a dead letter of mail that still waits, without anybody being told."""
        journal = self._host.journal_of(mail.target.session)
        if journal is None:
            return
        try:
            if not await journal.waits(mail.id):
                return
            log.error("mail %s from %s to %s is a dead letter: %s", mail.id, mail.source, mail.target, error)
            await journal.bury(DeadLetter(mail, error.code, error.message, self._host.clock.now()))
        except SylkError as problem:
            log.warning("it could not be written to the dead letters: %s", problem)
