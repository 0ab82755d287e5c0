"""What every journal must do. A new implementation joins by a line in ``KINDS``."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylk_ray.messaging import Address, Event
from sylk_ray.runtime.journal import (
    Committed,
    DeadLetter,
    Fenced,
    Journal,
    Journals,
    Mail,
    MemoryJournals,
    Report,
    SavedState,
    SqliteJournals,
    StepRecord,
    Transaction,
    failure_of,
)

ONE = Address("s", "engineer", "one")
TWO = Address("s", "engineer", "two")
KINDS: dict[str, Callable[[Path], Journals]] = {
    "memory": lambda _: MemoryJournals(),
    "sqlite process": lambda home: SqliteJournals(lambda session: home / session, durability="process"),
    "sqlite power": lambda home: SqliteJournals(lambda session: home / session, durability="power"),
}


@pytest.fixture(params=list(KINDS))
async def journals(request, tmp_path) -> AsyncIterator[Journals]:
    journals = KINDS[request.param](tmp_path)
    yield journals
    await journals.close()


@pytest.fixture
async def journal(journals) -> Journal:
    return await journals.open("s", "a")


def mail(mail_id: str, target: Address = TWO, packet: bytes = b"packet") -> Mail:
    return Mail(mail_id, ONE, target, packet)


def event(kind: str = "task.started", **data: object) -> Event:
    return Event(kind, "s", "task", data, at=12.5)


def letter(mail_id: str, reason: str = "no") -> DeadLetter:
    return DeadLetter(mail(mail_id), "handler_failed", reason, 7.25)


async def send(journal: Journal, *mails: Mail, message: str = "sent") -> None:
    await journal.commit(Transaction(ONE, message, outgoing=mails))


# Transactions


async def test_an_agent_without_history_has_an_empty_memory(journal):
    memory = await journal.recall(ONE)
    assert (memory.state, memory.handled, memory.mail) == (None, {}, [])
    assert await journal.agents() == []
    assert await journal.last_event() == 0


async def test_a_new_journal_is_reported_as_whole(journal):
    assert journal.report == Report()
    assert journal.session == "s"


async def test_a_transaction_is_recalled_with_all_that_it_held(journal):
    committed = await journal.commit(
        Transaction(
            ONE,
            "m1",
            SavedState(3, b"\x00state"),
            outgoing=[mail("to two"), mail("to one", ONE)],
            events=[event(count=1), event("task.done")],
            reply=b"answer",
            remember_until=99.5,
        )
    )

    assert committed == Committed(2)
    memory = await journal.recall(ONE)
    assert memory.state == SavedState(3, b"\x00state")
    assert memory.handled == {"m1": (99.5, b"answer")}
    assert memory.mail == [mail("to one", ONE)]
    assert memory.sent == [mail("to two"), mail("to one", ONE)]
    assert ((await journal.recall(TWO)).mail, (await journal.recall(TWO)).sent) == ([mail("to two")], [])
    assert [each.kind for each in await journal.events(0)] == ["task.started", "task.done"]


async def test_a_handler_that_keeps_no_state_leaves_the_last_one(journal):
    await journal.commit(Transaction(ONE, "m1", SavedState(1, b"a")))
    await journal.commit(Transaction(ONE, "m2", SavedState(2, b"b")))
    await journal.commit(Transaction(ONE, "m3"))
    memory = await journal.recall(ONE)
    assert memory.state == SavedState(2, b"b")
    assert list(memory.handled) == ["m1", "m2", "m3"]


async def test_a_handled_message_has_no_reply_when_none_was_given_and_an_empty_one_when_that_was_given(journal):
    await journal.commit(Transaction(ONE, "m1"))
    await journal.commit(Transaction(ONE, "m2", reply=b""))
    assert (await journal.recall(ONE)).handled == {"m1": (0.0, None), "m2": (0.0, b"")}


async def test_a_message_that_was_handled_changes_nothing_when_it_is_committed_again(journal):
    await send(journal, mail("m1"), message="m0")
    await journal.commit(Transaction(TWO, "m1", SavedState(1, b"first"), events=[event()], reply=b"1"))
    before = await journal.recall(TWO), await journal.pending()

    again = Transaction(TWO, "m1", SavedState(2, b"second"), [mail("more")], [event()], b"2", forget=True)
    committed = await journal.commit(again)

    assert committed == Committed(1, repeated=True)
    assert (await journal.recall(TWO), await journal.pending()) == before
    assert await journal.last_event() == 1


async def test_the_same_message_id_may_be_handled_by_two_agents(journal):
    await journal.commit(Transaction(ONE, "m1", SavedState(1, b"one")))
    await journal.commit(Transaction(TWO, "m1", SavedState(1, b"two")))
    assert (await journal.recall(TWO)).state == SavedState(1, b"two")


async def test_handled_mail_no_longer_waits(journal):
    await send(journal, mail("m1"), mail("m2"))
    assert await journal.waits("m1")
    await journal.commit(Transaction(TWO, "m1"))
    assert await journal.pending() == [mail("m2")]
    assert not await journal.waits("m1")
    assert not await journal.waits("never sent")


async def test_a_transaction_that_forgets_leaves_nothing_of_its_agent_but_what_it_sent_others(journal):
    await send(journal, mail("waits", ONE), message="m0")
    await journal.record_step(ONE, "other", StepRecord("build"))
    await journal.commit(
        Transaction(
            ONE, "m1", SavedState(1, b"a"), [mail("out"), mail("self", ONE)], [event()], remember_until=9, forget=True
        )
    )
    memory = await journal.recall(ONE)
    assert (memory.state, memory.handled, memory.mail) == (None, {}, [])
    assert await journal.steps(ONE, "other") == {}
    assert await journal.pending() == [mail("out")]
    assert await journal.last_event() == 1


async def test_forgetting_an_agent_leaves_the_others(journal):
    for agent in (ONE, TWO):
        await journal.commit(Transaction(agent, f"m {agent.name}", SavedState(1, b"a"), [mail(agent.name, agent)]))
        await journal.record_step(agent, "m", StepRecord("build"))
    await journal.forget(ONE)
    memory = await journal.recall(ONE)
    assert (memory.state, memory.handled, memory.mail) == (None, {}, [])
    assert await journal.steps(ONE, "m") == {}
    assert await journal.agents() == [TWO]
    assert len((await journal.recall(TWO)).handled) == 1
    assert list(await journal.steps(TWO, "m")) == ["build"]


async def test_parts_of_a_state_stay_until_they_are_written_anew_or_emptied(journal):
    await journal.commit(Transaction(ONE, "m1", SavedState(1, b"a", {"x": b"1", "y": b"2"})))
    await journal.commit(Transaction(ONE, "m2", SavedState(1, b"b", {"y": b"3", "z": b"4"})))
    await journal.commit(Transaction(ONE, "m3", SavedState(1, b"b", {"x": b""})))
    assert (await journal.recall(ONE)).state == SavedState(1, b"b", {"y": b"3", "z": b"4"})
    await journal.forget(ONE)
    await journal.commit(Transaction(ONE, "m4", SavedState(1, b"c")))
    assert (await journal.recall(ONE)).state == SavedState(1, b"c")


async def test_a_message_that_was_handled_badly_is_buried_with_what_is_told_of_it(journal):
    await journal.commit(Transaction(TWO, "m1", outgoing=[mail("x", ONE)]))
    letter = DeadLetter(mail("x", ONE), "handler_failed", "why", 1.0)
    await journal.commit(Transaction(ONE, "x", outgoing=[mail("told", TWO)], buried=letter))
    assert await journal.dead_letters() == [letter]
    assert [each.id for each in await journal.pending()] == ["told"]
    assert list((await journal.recall(ONE)).handled) == ["x"]


async def test_mail_that_cannot_be_delivered_is_buried_by_its_sender_with_what_is_told_of_it(journal):
    await send(journal, mail("x"), mail("y"))
    burial = Transaction(ONE, failure_of("x"), SavedState(1, b"told"), [mail("told")], [event()], buried=letter("x"))
    assert await journal.commit(burial) == Committed(1)
    assert await journal.dead_letters() == [letter("x")]
    assert [each.id for each in (await journal.recall(ONE)).sent] == ["y", "told"]


async def test_mail_that_was_handled_meanwhile_is_not_buried_and_nothing_is_told_of_it(journal):
    await send(journal, mail("x"))
    await journal.commit(Transaction(TWO, "x"))
    burial = Transaction(ONE, failure_of("x"), SavedState(1, b"told"), [mail("told")], [event()], buried=letter("x"))
    assert await journal.commit(burial) == Committed(0, repeated=True)
    assert (await journal.recall(ONE)).state is None
    assert (await journal.pending(), await journal.dead_letters(), await journal.last_event()) == ([], [], 0)


async def test_a_revived_letter_may_fail_to_be_delivered_again(journal):
    await send(journal, mail("x"))
    burial = Transaction(ONE, failure_of("x"), buried=letter("x"))
    await journal.commit(burial)
    await journal.revive("x")
    assert not (await journal.commit(burial)).repeated
    assert await journal.dead_letters() == [letter("x")]


async def test_agents_are_those_with_a_state_or_with_mail_each_once(journal):
    await journal.commit(Transaction(ONE, "m1", SavedState(1, b""), [mail("x", ONE), mail("y"), mail("z")]))
    await journal.commit(Transaction(Address("s", "tester", "no-state"), "m2"))
    assert sorted(await journal.agents()) == [ONE, TWO]


async def test_a_name_with_a_slash_is_the_same_address_again(journal):
    odd = Address("s", "engineer", "a/b/ç")
    await journal.commit(Transaction(odd, "m", SavedState(1, b"a"), [mail("x", odd)]))
    assert await journal.agents() == [odd]
    assert (await journal.pending())[0].target == odd


async def test_mail_is_in_the_order_of_its_commits(journal):
    await send(journal, mail("z"), mail("a"), message="1")
    await send(journal, mail("m"), message="2")
    await journal.commit(Transaction(TWO, "z"))
    await send(journal, mail("b"), message="3")
    assert [each.id for each in await journal.pending()] == ["a", "m", "b"]
    assert [each.id for each in (await journal.recall(TWO)).mail] == ["a", "m", "b"]


async def test_mail_sent_again_keeps_its_place_and_has_its_new_content(journal):
    await send(journal, mail("a"), mail("b"), message="1")
    await send(journal, mail("a", packet=b"new"), message="2")
    assert await journal.pending() == [mail("a", packet=b"new"), mail("b")]


async def test_large_and_empty_contents_come_back_as_they_were(journal):
    big = bytes(range(256)) * 4096
    await journal.commit(Transaction(ONE, "m", SavedState(1, big), [mail("x", packet=b"")], [event(text="ü" * 9999)]))
    assert (await journal.recall(ONE)).state == SavedState(1, big)
    assert await journal.pending() == [mail("x", packet=b"")]
    assert (await journal.events(0))[0].data == {"text": "ü" * 9999}


async def test_commits_that_are_asked_together_all_happen(journal):
    done = await asyncio.gather(
        *(journal.commit(Transaction(ONE, f"m{n}", events=[event(n=n)], outgoing=[mail(f"x{n}")])) for n in range(700))
    )
    assert len({each.last_event for each in done}) == 700
    assert len((await journal.recall(ONE)).handled) == 700
    assert [each.data["n"] for each in await journal.events(0)] == list(range(700))
    assert [each.id for each in await journal.pending()] == [f"x{n}" for n in range(700)]


async def test_a_read_sees_every_write_that_was_asked_before(journal):
    commits = [asyncio.ensure_future(journal.commit(Transaction(ONE, f"m{n}"))) for n in range(20)]
    await asyncio.sleep(0)
    memory = await journal.recall(ONE)
    assert len(memory.handled) == 20
    await asyncio.gather(*commits)


async def test_a_caller_that_no_longer_waits_breaks_nothing(journal):
    commits = [asyncio.ensure_future(journal.commit(Transaction(ONE, f"m{n}"))) for n in range(50)]
    await asyncio.sleep(0)
    for commit in commits[::2]:
        commit.cancel()
    await asyncio.gather(*commits, return_exceptions=True)
    assert len((await journal.recall(ONE)).handled) == 50
    assert await journal.commit(Transaction(ONE, "after")) == Committed(0)


# Events


async def test_events_are_numbered_from_one_without_gaps(journal):
    assert await journal.add_events([event(), event()]) == Committed(2)
    assert await journal.commit(Transaction(ONE, "m", events=[event()])) == Committed(3)
    assert await journal.add_events([]) == Committed(3)
    await journal.record_step(ONE, "m2", StepRecord("x", finished=True), [event()])
    assert [each.sequence for each in await journal.events(0)] == [1, 2, 3, 4]
    assert await journal.last_event() == 4


async def test_an_event_comes_back_as_it_was_with_its_number(journal):
    told = Event("job.finished", "s", "t", {"a": [1, None, {"b": 2.5}], "c": "é"}, at=1234.5)
    await journal.add_events([told])
    assert await journal.events(0) == [msgspec.structs.replace(told, sequence=1)]


async def test_events_are_read_after_a_number_and_up_to_a_limit(journal):
    await journal.add_events([event(n=n) for n in range(10)])
    assert [each.sequence for each in await journal.events(4)] == [5, 6, 7, 8, 9, 10]
    assert [each.sequence for each in await journal.events(4, 2)] == [5, 6]
    assert await journal.events(10) == []
    assert await journal.events(3, 0) == []


# Steps


async def test_a_step_is_begun_and_then_finished(journal):
    begun, finished = StepRecord("build", "c1", trace="t"), StepRecord("build", "c1", True, b"ok", "t")
    assert await journal.record_step(ONE, "m", begun) == Committed(0)
    assert await journal.steps(ONE, "m") == {"build": begun}
    assert await journal.record_step(ONE, "m", finished) == Committed(0)
    assert await journal.steps(ONE, "m") == {"build": finished}


async def test_a_step_that_begins_again_is_not_finished_any_more(journal):
    await journal.record_step(ONE, "m", StepRecord("build", "c1"))
    await journal.record_step(ONE, "m", StepRecord("build", finished=True, result=b"ok"))
    await journal.record_step(ONE, "m", StepRecord("build", "c3"))
    assert await journal.steps(ONE, "m") == {"build": StepRecord("build", "c3")}


async def test_a_step_may_finish_without_having_begun(journal):
    await journal.record_step(ONE, "m", StepRecord("build", finished=True, result=b"ok"))
    assert await journal.steps(ONE, "m") == {"build": StepRecord("build", "", True, b"ok")}


async def test_a_finished_step_and_its_events_are_recorded_together(journal):
    assert await journal.record_step(ONE, "m", StepRecord("x", finished=True), [event(), event()]) == Committed(2)
    assert await journal.last_event() == 2


async def test_steps_belong_to_one_message_of_one_agent_and_keep_their_order(journal):
    for agent, message, name in ((ONE, "m", "z"), (ONE, "m", "a"), (ONE, "n", "b"), (TWO, "m", "c")):
        await journal.record_step(agent, message, StepRecord(name))
    await journal.record_step(ONE, "m", StepRecord("z", finished=True))
    assert list(await journal.steps(ONE, "m")) == ["z", "a"]
    assert list(await journal.steps(TWO, "m")) == ["c"]


async def test_steps_are_forgotten_when_their_handler_commits(journal):
    await journal.record_step(ONE, "m", StepRecord("build"))
    await journal.record_step(ONE, "n", StepRecord("build"))
    await journal.commit(Transaction(ONE, "m"))
    assert await journal.steps(ONE, "m") == {}
    assert list(await journal.steps(ONE, "n")) == ["build"]


# Dead letters


async def test_a_buried_letter_no_longer_waits_and_its_steps_are_forgotten(journal):
    await send(journal, mail("m1"), mail("m2"))
    await journal.record_step(TWO, "m1", StepRecord("build"))
    await journal.bury(letter("m1"))
    assert await journal.pending() == [mail("m2")]
    assert await journal.steps(TWO, "m1") == {}
    assert await journal.dead_letters() == [letter("m1")]


async def test_dead_letters_are_in_the_order_in_which_they_were_buried(journal):
    for name in ("z", "a", "m"):
        await journal.bury(letter(name))
    assert [each.mail.id for each in await journal.dead_letters()] == ["z", "a", "m"]


async def test_a_letter_that_is_buried_again_is_there_once_with_the_last_reason(journal):
    await journal.bury(letter("a", "first"))
    await journal.bury(letter("b"))
    await journal.bury(letter("a", "second"))
    assert await journal.dead_letters() == [letter("a", "second"), letter("b")]


async def test_a_revived_letter_waits_again_behind_the_others_and_may_be_handled(journal):
    await send(journal, mail("m1"), mail("m2"))
    await journal.commit(Transaction(TWO, "m1", reply=b"failed"))
    await journal.bury(letter("m1"))
    assert await journal.revive("m1") == mail("m1")
    assert [each.id for each in await journal.pending()] == ["m2", "m1"]
    assert await journal.dead_letters() == []
    assert (await journal.recall(TWO)).handled == {}
    await journal.commit(Transaction(TWO, "m1", SavedState(1, b"done")))
    assert (await journal.recall(TWO)).state == SavedState(1, b"done")


async def test_what_is_no_dead_letter_cannot_be_revived_or_dropped(journal):
    await send(journal, mail("m1"))
    assert await journal.revive("m1") is None
    assert await journal.drop("m1") is False
    assert await journal.pending() == [mail("m1")]


async def test_a_dropped_letter_is_gone(journal):
    await journal.bury(letter("m1"))
    assert await journal.drop("m1") is True
    assert await journal.dead_letters() == []
    assert await journal.drop("m1") is False


# Pruning


async def test_pruning_forgets_only_messages_that_nobody_can_send_again(journal):
    for number in range(1200):
        journal_entry = Transaction(ONE, f"m{number}", SavedState(1, b"s"), remember_until=float(number))
        await journal.commit(journal_entry)
    await journal.prune(1195.0)
    memory = await journal.recall(ONE)
    assert sorted(memory.handled) == [f"m{number}" for number in range(1195, 1200)]
    assert memory.state == SavedState(1, b"s")


async def test_commits_go_on_while_it_is_pruned(journal):
    await asyncio.gather(*(journal.commit(Transaction(ONE, f"m{n}", remember_until=1)) for n in range(1500)))
    pruning = asyncio.ensure_future(journal.prune(2.0))
    for number in range(20):
        await journal.commit(Transaction(ONE, f"new {number}", remember_until=9))
    await pruning
    assert len((await journal.recall(ONE)).handled) == 20


async def test_the_steps_of_a_request_that_failed_stay_as_long_as_it_may_be_asked_again(journal):
    for message in ("m", "n"):
        await journal.record_step(ONE, message, StepRecord("build", finished=True, result=b"no"))
    await journal.commit(Transaction(ONE, failure_of("m"), remember_until=5.0))
    await journal.prune(4.0)
    assert list(await journal.steps(ONE, "m")) == ["build"]
    await journal.prune(6.0)
    assert await journal.steps(ONE, "m") == {}
    assert list(await journal.steps(ONE, "n")) == ["build"]


# Writers


async def test_epochs_grow(journals):
    epochs = [(await journals.open("s", writer)).epoch for writer in ("a", "b", "a", "c")]
    assert epochs == sorted(set(epochs))


async def test_several_writers_write_to_one_session(journals):
    one, two = await journals.open("s", "a"), await journals.open("s", "b")
    await one.commit(Transaction(ONE, "m1", outgoing=[mail("x")], events=[event()]))
    assert await two.commit(Transaction(TWO, "x", events=[event()])) == Committed(2)
    assert await one.pending() == []
    assert await one.last_event() == 2


async def test_sessions_are_apart(journals):
    one, other = await journals.open("s", "a"), await journals.open("t", "a")
    await one.commit(Transaction(ONE, "m", SavedState(1, b""), [mail("x")], [event()]))
    await one.fence("b")
    assert await other.agents() == []
    assert await other.pending() == []
    assert await other.last_event() == 0
    await journals.open("t", "b")


async def every_write(journal: Journal) -> None:
    """Each must be refused with Fenced."""
    writes = {
        "commit": lambda: journal.commit(Transaction(ONE, "new", SavedState(9, b"late"), [mail("late")], [event()])),
        "commit again": lambda: journal.commit(Transaction(ONE, "m1")),
        "add_events": lambda: journal.add_events([event()]),
        "forget": lambda: journal.forget(ONE),
        "record_step": lambda: journal.record_step(ONE, "m", StepRecord("build", "late"), [event()]),
        "bury": lambda: journal.bury(letter("waiting")),
        "revive": lambda: journal.revive("dead"),
        "drop": lambda: journal.drop("dead"),
        "prune": lambda: journal.prune(1e12),
        "fence": lambda: journal.fence("b"),
    }
    for name, write in writes.items():
        outcome = (await asyncio.gather(write(), return_exceptions=True))[0]
        assert isinstance(outcome, Fenced), f"{name} was not refused"


async def everything(journal: Journal) -> tuple[object, ...]:
    return (
        await journal.recall(ONE),
        await journal.recall(TWO),
        await journal.pending(),
        await journal.events(0),
        await journal.dead_letters(),
        await journal.steps(ONE, "m"),
    )


async def prepared(journal: Journal) -> None:
    await journal.commit(Transaction(ONE, "m1", SavedState(1, b"a"), [mail("waiting")], [event()], remember_until=5))
    await journal.record_step(ONE, "m", StepRecord("build"))
    await journal.bury(letter("dead"))


@pytest.mark.parametrize("how", ["by another", "at another's opening", "by its own name again", "by itself"])
async def test_a_writer_that_was_replaced_can_write_nothing(journals, how):
    old = await journals.open("s", "a")
    await prepared(old)
    other = old
    if how == "by itself":
        await old.fence("a")
        other = await journals.open("s", "b")
    elif how == "by another":
        other = await journals.open("s", "b")
        await other.fence("a")
    elif how == "at another's opening":
        other = await journals.open("s", "b", fence=["x", "a"])
    else:
        other = await journals.open("s", "a")
    before = await everything(other)

    await every_write(old)

    assert await everything(other) == before
    assert await other.commit(Transaction(ONE, "goes on")) == Committed(1)


async def test_a_fenced_writer_cannot_open_again(journals):
    await journals.open("s", "a")
    other = await journals.open("s", "b", fence=["a"])
    with pytest.raises(Fenced):
        await journals.open("s", "a")
    await other.fence("never seen")
    with pytest.raises(Fenced):
        await journals.open("s", "never seen")


async def test_a_fenced_writer_that_opens_fences_nobody(journals):
    other = await journals.open("s", "b", fence=["a"])
    with pytest.raises(Fenced):
        await journals.open("s", "a", fence=["b"])
    assert await other.add_events([event()]) == Committed(1)


async def test_a_fenced_write_does_not_take_others_with_it(journals):
    old = await journals.open("s", "a")
    other = await journals.open("s", "b", fence=["a"])
    outcomes = await asyncio.gather(
        *((old if n % 2 else other).commit(Transaction(ONE, f"m{n}", events=[event()])) for n in range(100)),
        return_exceptions=True,
    )
    assert [isinstance(each, Fenced) for each in outcomes] == [bool(n % 2) for n in range(100)]
    assert len((await other.recall(ONE)).handled) == 50
    assert await other.last_event() == 50


async def test_closing_writes_what_is_under_way_and_may_be_done_twice(journals):
    journal = await journals.open("s", "a")
    commits = [asyncio.ensure_future(journal.commit(Transaction(ONE, f"m{n}"))) for n in range(30)]
    await asyncio.sleep(0)
    await journal.close()
    await journal.close()
    await asyncio.gather(*commits)
    assert len((await (await journals.open("s", "b")).recall(ONE)).handled) == 30


async def test_one_writers_closing_leaves_the_others_open(journals):
    one, two = await journals.open("s", "a"), await journals.open("s", "b")
    await one.close()
    assert await two.add_events([event()]) == Committed(1)


# What one kind does, every other does

AGENTS = st.sampled_from([ONE, TWO])
IDS = st.sampled_from(["a", "b", "c", "d", failure_of("a")])
STATES = st.none() | st.builds(SavedState, st.integers(0, 3), st.binary(max_size=3))
MAILS = st.builds(Mail, IDS, AGENTS, AGENTS, st.binary(max_size=3))
EVENTS = st.lists(st.just(event()), max_size=2)
STEPS = st.builds(StepRecord, IDS, IDS, st.booleans(), st.binary(max_size=2), IDS)
LETTERS = st.builds(DeadLetter, MAILS, IDS, IDS, st.floats(0, 10))
DEEDS = st.one_of(
    st.tuples(
        st.just("commit"),
        st.builds(
            Transaction,
            AGENTS,
            IDS,
            STATES,
            st.lists(MAILS, max_size=3),
            EVENTS,
            st.none() | st.just(b"r"),
            st.floats(0, 10),
            st.booleans(),
            st.none() | LETTERS,
        ),
    ),
    st.tuples(st.just("add_events"), EVENTS),
    st.tuples(st.just("forget"), AGENTS),
    st.tuples(st.just("record_step"), AGENTS, IDS, STEPS, EVENTS),
    st.tuples(st.just("bury"), LETTERS),
    st.tuples(st.just("revive"), IDS),
    st.tuples(st.just("drop"), IDS),
    st.tuples(st.just("prune"), st.floats(0, 10)),
    st.tuples(st.just("fence"), st.sampled_from(["w0", "w1", "w2"])),
    st.tuples(st.just("open"), st.sampled_from([(), ("w0",), ("w1", "w2")])),
)


async def lived(journals: Journals, deeds: list[tuple[str, tuple[object, ...]]]) -> list[object]:
    """What came of the deeds of three writers, and what was kept after them."""
    seen: list[object] = []
    writers: dict[str, Journal] = {name: await journals.open("s", name) for name in ("w0", "w1", "w2")}
    for writer, (name, *given_) in deeds:
        try:
            if name == "open":
                writers[writer] = await journals.open("s", writer, fence=given_[0])
                seen.append(writers[writer].epoch)
            else:
                seen.append(await getattr(writers[writer], name)(*given_))
        except Fenced:
            seen.append("fenced")
    journal = writers["w0"]
    seen += [await journal.recall(ONE), await journal.recall(TWO), await journal.pending(), await journal.events(0)]
    seen += [sorted(await journal.agents()), await journal.dead_letters(), await journal.last_event()]
    seen += [await journal.steps(agent, message) for agent in (ONE, TWO) for message in "abcd"]
    seen += [await journal.waits(each) for each in "abcd"]
    await journals.close()
    return seen


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(["w0", "w0", "w0", "w1", "w2"]), DEEDS), max_size=25))
def test_whatever_is_done_sqlite_comes_to_what_memory_comes_to(deeds):
    with tempfile.TemporaryDirectory(prefix="sylk-journal-") as home:
        expected = asyncio.run(lived(MemoryJournals(), deeds))
        assert asyncio.run(lived(KINDS["sqlite process"](Path(home)), deeds)) == expected
