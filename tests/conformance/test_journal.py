"""What every journal must do. A new implementation joins by a line in ``journals``."""

from __future__ import annotations

import pytest

from sylk_ray.messaging import Address
from sylk_ray.runtime import Journal, MemoryJournal, Transaction

ONE = Address("s", "engineer", "one")
TWO = Address("s", "engineer", "two")
OTHER = Address("t", "engineer", "one")


@pytest.fixture(params=[MemoryJournal], ids=["memory"])
def journal(request) -> Journal:
    return request.param()


async def test_an_agent_without_history_has_no_state(journal):
    assert await journal.state_of(ONE) is None
    assert not journal.is_handled(ONE, "m1")


async def test_a_transaction_holds_state_and_handled_message_together(journal):
    await journal.commit(Transaction(ONE, "m1", b"a"))
    assert await journal.state_of(ONE) == b"a"
    assert journal.is_handled(ONE, "m1")
    assert not journal.is_handled(TWO, "m1")


async def test_the_last_state_counts_and_a_handler_that_keeps_none_leaves_it(journal):
    await journal.commit(Transaction(ONE, "m1", b"a"))
    await journal.commit(Transaction(ONE, "m2", b"b"))
    await journal.commit(Transaction(ONE, "m3", None))
    assert await journal.state_of(ONE) == b"b"
    assert all(journal.is_handled(ONE, message) for message in ("m1", "m2", "m3"))


async def test_forgetting_a_session_leaves_the_others(journal):
    for agent in (ONE, TWO, OTHER):
        await journal.commit(Transaction(agent, "m1", b"a"))
    await journal.forget("s")
    assert await journal.state_of(ONE) is None
    assert not journal.is_handled(TWO, "m1")
    assert await journal.state_of(OTHER) == b"a"
    assert journal.is_handled(OTHER, "m1")


async def test_what_is_remembered_is_bounded():
    journal = MemoryJournal(remembered=3)
    for number in range(10):
        await journal.commit(Transaction(ONE, f"m{number}", None))
    assert [number for number in range(10) if journal.is_handled(ONE, f"m{number}")] == [7, 8, 9]
