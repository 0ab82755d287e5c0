"""Durable agents: what commits together, what is done once, and what happens when a cell dies in between."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import msgspec
import pytest

from sylk_ray.config import Settings
from sylk_ray.errors import InputError
from sylk_ray.messaging import Address, HandlerFailed, Message, Request, UnknownAddress
from sylk_ray.runtime import (
    Agent,
    Context,
    Host,
    Retry,
    SessionBinding,
    handler,
)
from sylk_ray.runtime.journal import Fenced, JournalFull, MemoryJournals, SavedState, SqliteJournals, Transaction
from sylk_ray.runtime.journal import patient as patient_module

from .conftest import FakeRouter
from .world import World, never, until


class Note(Message, frozen=True):
    text: str


class Pass(Message, frozen=True):
    """Write it down and pass it on."""

    text: str
    to: str = "two"


class Stumble(Message, frozen=True):
    """Fail so many times before it goes well."""

    times: int


class Refuse(Message, frozen=True):
    pass


class Written(Request[list[str]], frozen=True):
    pass


class Append(Request[int], frozen=True):
    text: str


class AskTwice(Message, frozen=True):
    """Ask another to append, then wait at the gate."""

    text: str


class Work(Message, frozen=True):
    """Three steps; the second waits at the gate."""


class WorkTogether(Message, frozen=True):
    """Two steps at once; the first waits at the gate when the second has ended."""


class BookState(msgspec.Struct):
    lines: list[str] = []


class Book(Agent[BookState]):
    """Keeps lines. ``done`` is the outside world, which no crash puts back."""

    role = "book"
    done: ClassVar[list[str]] = []
    undone: ClassVar[list[str]] = []
    gate: ClassVar[asyncio.Event]
    failures: ClassVar[list[str]] = []
    stumbles: ClassVar[int] = 0

    @handler()
    async def note(self, message: Note, ctx: Context) -> None:
        self.state.lines.append(message.text)

    @handler()
    async def pass_on(self, message: Pass, ctx: Context) -> None:
        self.state.lines.append(message.text)
        await ctx.publish("passed", text=message.text)
        await ctx.tell(ctx.address.beside("book", message.to), Note(message.text))
        await self.gate.wait()

    @handler()
    async def stumble(self, message: Stumble, ctx: Context) -> None:
        self.state.lines.append("half")
        await ctx.tell(ctx.address.beside("book", "two"), Note("too early"))
        Book.stumbles += 1
        if Book.stumbles <= message.times:
            raise ValueError(f"stumbled {Book.stumbles}")
        self.state.lines[-1] = "whole"

    @handler()
    async def refuse(self, message: Refuse, ctx: Context) -> None:
        self.state.lines.append("never")
        raise InputError("I will not")

    @handler()
    async def written(self, message: Written, ctx: Context) -> list[str]:
        return self.state.lines

    @handler()
    async def append(self, message: Append, ctx: Context) -> int:
        self.state.lines.append(message.text)
        return len(self.state.lines)

    @handler()
    async def ask_twice(self, message: AskTwice, ctx: Context) -> None:
        number = await ctx.ask(ctx.address.beside("book", "two"), Append(message.text))
        await self.gate.wait()
        self.state.lines.append(f"{message.text} was {number}")

    @handler()
    async def work(self, message: Work, ctx: Context) -> None:
        async def do(what: str) -> str:
            self.done.append(what)
            await ctx.publish("step", what=what)
            if what == "second":
                await self.gate.wait()
            return what.upper()

        async def mark() -> str:
            return f"after {len(self.done)}"

        async def undo(before: str) -> None:
            self.undone.append(before)

        for what in ("first", "second", "third"):
            self.state.lines.append(await ctx.step("work", do, what, mark=mark, undo=undo, result=str))

    @handler()
    async def work_together(self, message: WorkTogether, ctx: Context) -> None:
        async def do(what: str) -> str:
            await ctx.publish("step", what=what)
            self.done.append(what)
            if what == "slow":
                await self.gate.wait()
            return what.upper()

        self.state.lines += await asyncio.gather(*(ctx.step(what, do, what, result=str) for what in ("slow", "quick")))

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        self.failures.append(str(error))
        self.state.lines.append("told")
        await ctx.tell(ctx.address.beside("book", "two"), Note("it failed"))


ONE, TWO, ME = Address("s", "book", "one"), Address("s", "book", "two"), Address("s", "me", "me")


@pytest.fixture(params=["memory", "sqlite"])
async def world(request, tmp_path):
    FakeRouter.places, FakeRouter.events = {}, []
    Book.done, Book.undone, Book.failures, Book.stumbles, Book.gate = [], [], [], 0, asyncio.Event()
    shared = MemoryJournals()
    journals = (lambda: shared) if request.param == "memory" else (lambda: SqliteJournals(tmp_path.joinpath))
    made = World(journals, Settings(home=tmp_path), book=Book)
    await made.cell("a")
    yield made
    await made.end()


async def lines(host: Host, book: Address) -> list[str]:
    return await host.ask(ME, book, Written(), timeout=5)


async def test_state_events_and_mail_appear_when_the_handler_has_ended_and_not_before(world):
    a = world.hosts["a"]
    await a.tell(ME, ONE, Pass("x"), timeout=5)
    await asyncio.sleep(0.05)
    journal = a.journal_of("s")
    assert (await lines(a, TWO), await journal.events(0)) == ([], [])
    Book.gate.set()
    assert await until(lambda: lines(a, TWO), bool) == ["x"]
    assert [event.kind for event in await journal.events(0)] == ["passed"]
    assert await journal.pending() == []


async def test_a_handler_that_was_cut_off_runs_again_and_all_of_it_is_done_once(world):
    a = world.hosts["a"]
    # From a durable agent, so that the mail is kept.
    Book.gate.set()
    await a.tell(ME, TWO, Pass("warm", to="one"), timeout=5)
    await until(lambda: lines(a, ONE), bool)
    Book.gate.clear()
    await a.journal_of("s").commit(_mail_to_one(Pass("x")))
    await a.recover_session("s")
    await until(lambda: _busy(a, ONE), bool)
    await world.crash("a")
    Book.gate.set()
    b = await world.cell("b", router="b", fenced=("a",))
    await b.recover_session("s")
    assert await until(lambda: lines(b, TWO), lambda seen: "x" in seen) == ["warm", "x"]
    assert await lines(b, ONE) == ["warm", "x"]
    assert [event.data["text"] for event in await b.journal_of("s").events(0)] == ["warm", "x"]
    assert await b.journal_of("s").pending() == []


async def test_mail_that_was_committed_and_not_sent_arrives_after_the_recovery(world):
    a = world.hosts["a"]
    Book.gate.set()
    a._outbox.send = never  # type: ignore[method-assign]
    await a.tell(ME, ONE, Pass("x"), timeout=5)
    await until(a.journal_of("s").pending, bool)
    await world.crash("a")
    b = await world.cell("b", router="b", fenced=("a",))
    await b.recover_session("s")
    assert await until(lambda: lines(b, TWO), bool) == ["x"]
    assert await lines(b, ONE) == ["x"]


async def test_recovering_what_lives_repeats_nothing(world):
    a = world.hosts["a"]
    Book.gate.set()
    await a.journal_of("s").commit(_mail_to_one(Pass("x")))
    for _ in range(5):
        await a.recover_session("s")
    await until(lambda: lines(a, TWO), bool)
    await a.recover_session("s")
    await asyncio.sleep(0.05)
    assert (await lines(a, ONE), await lines(a, TWO)) == (["x"], ["x"])


async def test_mail_that_waits_comes_before_mail_that_came_later(world):
    a = world.hosts["a"]
    journal = a.journal_of("s")
    for text in ("1", "2", "3"):
        await journal.commit(_mail_to_one(Note(text)))
    await a.tell(ME, ONE, Note("4"), timeout=5)
    assert await until(lambda: lines(a, ONE), lambda seen: len(seen) == 4) == ["1", "2", "3", "4"]


async def test_a_finished_step_is_not_done_again_and_a_cut_off_one_is_undone_first(world):
    a = world.hosts["a"]
    await a.journal_of("s").commit(_mail_to_one(Work()))
    await a.recover_session("s")
    await until(lambda: _done(), lambda done: done == ["first", "second"])
    (waiting,) = await a.journal_of("s").pending()
    kept = await a.journal_of("s").steps(ONE, waiting.id)
    assert [(step.finished, step.before) for step in kept.values()] == [(True, ""), (False, "after 1")]
    await world.crash("a")
    Book.gate.set()
    b = await world.cell("b", router="b", fenced=("a",))
    await b.recover_session("s")
    assert await until(lambda: lines(b, ONE), bool) == ["FIRST", "SECOND", "THIRD"]
    assert Book.done == ["first", "second", "second", "third"]
    assert Book.undone == ["after 1"]
    assert [event.data["what"] for event in await b.journal_of("s").events(0)] == ["first", "second", "third"]


async def test_what_a_step_tells_is_written_with_it_and_with_no_other_that_is_at_work(world):
    a = world.hosts["a"]
    await a.journal_of("s").commit(_mail_to_one(WorkTogether()))
    await a.recover_session("s")

    async def told() -> list[str]:
        return [event.data["what"] for event in await a.journal_of("s").events(0)]

    await until(told, bool)
    assert (sorted(Book.done), await told()) == (["quick", "slow"], ["quick"])
    await world.crash("a")
    Book.gate.set()
    b = await world.cell("b", router="b", fenced=("a",))
    await b.recover_session("s")
    assert await until(lambda: lines(b, ONE), bool) == ["SLOW", "QUICK"]
    assert [event.data["what"] for event in await b.journal_of("s").events(0)] == ["quick", "slow"]
    assert sorted(Book.done) == ["quick", "slow", "slow"]


async def test_a_step_that_failed_fails_the_same_way_again(world):
    a = world.hosts["a"]
    tried: list[int] = []

    class Failing(Agent[BookState]):
        role = "failing"

        @handler()
        async def work(self, message: Work, ctx: Context) -> None:
            async def fail() -> None:
                tried.append(1)
                raise InputError("no such thing", hint="look again")

            try:
                await ctx.step("fail", fail, retry=Retry(attempts=2, first_s=0.001))
            except InputError as error:
                self.state.lines.append(f"{error.message}, {error.hint}")
            if len(tried) == 2 and not Book.gate.is_set():
                Book.gate.set()
                raise ValueError("cut off")

        @handler()
        async def written(self, message: Written, ctx: Context) -> list[str]:
            return self.state.lines

    world.roles._roles["failing"] = Failing
    failing = Address("s", "failing", "x")
    await a.tell(ME, failing, Work(), timeout=5)
    assert await until(lambda: lines(a, failing), bool) == ["no such thing, look again"]
    assert len(tried) == 2


async def test_the_same_question_of_a_handler_that_runs_again_gets_the_same_answer(world):
    a = world.hosts["a"]
    await a.journal_of("s").commit(_mail_to_one(AskTwice("q")))
    await a.recover_session("s")
    await until(lambda: lines(a, TWO), bool)
    await world.crash("a")
    Book.gate.set()
    b = await world.cell("b", router="b", fenced=("a",))
    await b.recover_session("s")
    assert await until(lambda: lines(b, ONE), bool) == ["q was 1"]
    assert await lines(b, TWO) == ["q"]


async def test_an_agent_that_stumbles_is_started_again_from_its_committed_state(world):
    a = world.hosts["a"]
    await a.tell(ME, ONE, Note("before"), timeout=5)
    await a.tell(ME, ONE, Stumble(2), timeout=5)
    assert await until(lambda: lines(a, ONE), lambda seen: len(seen) == 2) == ["before", "whole"]
    assert await until(lambda: lines(a, TWO), bool) == ["too early"]
    assert (Book.failures, await a.journal_of("s").dead_letters()) == ([], [])
    assert next(agent for agent in a.agents() if agent.address == str(ONE)).restarts == 2


async def test_too_many_stumbles_make_a_dead_letter_and_the_agent_tells_of_it(world):
    a = world.hosts["a"]
    await a.tell(ME, ONE, Stumble(99), timeout=5)
    assert await until(lambda: lines(a, TWO), bool) == ["it failed"]
    assert await lines(a, ONE) == ["told"]
    (letter,) = await a.journal_of("s").dead_letters()
    assert (letter.error, letter.mail.target) == ("handler_failed", ONE)
    assert "stumbled 3" in letter.reason


async def test_a_deliberate_error_is_not_tried_again_and_leaves_no_trace_in_the_state(world):
    a = world.hosts["a"]
    await a.tell(ME, ONE, Refuse(), timeout=5)
    assert await until(lambda: lines(a, TWO), bool) == ["it failed"]
    assert (await lines(a, ONE), Book.failures) == (["told"], ["I will not"])
    assert await a.journal_of("s").dead_letters() == []


async def test_a_replaced_cell_commits_nothing_and_lets_go_of_the_session(world):
    a = world.hosts["a"]
    await a.tell(ME, ONE, Pass("x"), timeout=5)
    await until(lambda: _busy(a, ONE), bool)
    b = await world.cell("b", router="b", fenced=("a",))
    Book.gate.set()
    await until(lambda: _nobody(a), bool)
    assert (await lines(b, ONE), await lines(b, TWO)) == ([], [])
    with pytest.raises(Fenced):
        await a.open_session(SessionBinding("s", "a"))


async def test_a_replaced_cell_begins_no_step(world):
    a = world.hosts["a"]
    await a.journal_of("s").fence("nobody")
    b = await world.cell("b", router="b", fenced=("a",))
    await a.tell(ME, ONE, Work(), timeout=5)
    await until(lambda: _nobody(a), bool)
    assert Book.done == []
    assert await lines(b, ONE) == []


async def test_a_full_disk_stops_the_session_and_it_goes_on_when_there_is_room(world, monkeypatch):
    monkeypatch.setattr(patient_module, "PAUSE_S", 0.01)
    a = world.hosts["a"]
    journal = a.journal_of("s")
    commit, full = journal._journal.commit, [True] * 3

    async def no_room(transaction: Transaction) -> Any:
        if full:
            full.pop()
            raise JournalFull("no room", hint="make some")
        return await commit(transaction)

    journal._journal.commit = no_room
    await a.tell(ME, ONE, Note("x"), timeout=5)
    assert await until(lambda: lines(a, ONE), bool) == ["x"]
    assert full == []


async def test_mail_for_a_role_that_there_is_not_is_refused_where_it_is_told(world):
    a = world.hosts["a"]

    class Careless(Agent[BookState]):
        role = "careless"

        @handler()
        async def append(self, message: Append, ctx: Context) -> int:
            await ctx.tell(ctx.address.beside("nobody"), Note("x"))
            return 0

    world.roles._roles["careless"] = Careless
    with pytest.raises(UnknownAddress, match="nobody"):
        await a.ask(ME, Address("s", "careless", "x"), Append("x"), timeout=5)


async def test_a_suspended_session_goes_on_in_another_cell(world):
    a = world.hosts["a"]
    await a.tell(ME, ONE, Note("1"), timeout=5)
    await until(lambda: lines(a, ONE), bool)
    await a.journal_of("s").commit(_mail_to_one(Pass("2")))
    await a.recover_session("s")
    await until(lambda: _busy(a, ONE), bool)
    await a.suspend_session("s", 0.05)
    Book.gate.set()
    b = await world.cell("b", router="b")
    await b.recover_session("s")
    assert await until(lambda: lines(b, TWO), bool) == ["2"]
    assert await lines(b, ONE) == ["1", "2"]


async def test_a_state_of_an_older_version_is_upgraded(world):
    class NewState(msgspec.Struct):
        texts: list[str] = []

    class NewBook(Agent[NewState]):
        role = "book"
        state_version = 2

        @classmethod
        def upgrade(cls, version: int, fields: dict[str, Any]) -> dict[str, Any]:
            assert version == 1
            return {"texts": fields["lines"]}

        @handler()
        async def written(self, message: Written, ctx: Context) -> list[str]:
            return self.state.texts

    a = world.hosts["a"]
    old = SavedState(1, msgspec.msgpack.encode(BookState(["old"])))
    await a.journal_of("s").commit(Transaction(ONE, "m", old))
    world.roles._roles["book"] = NewBook
    assert await lines(a, ONE) == ["old"]


async def test_an_idle_durable_agent_is_put_away_and_comes_back_with_its_state(world):
    a = world.hosts["a"]
    await a.tell(ME, ONE, Note("x"), timeout=5)
    await lines(a, ONE)
    assert await a.deactivate_idle(0) == 1
    assert await lines(a, ONE) == ["x"]


async def test_a_question_whose_handler_fails_is_answered_at_once(world):
    with pytest.raises(HandlerFailed, match="roof"):
        await world.hosts["a"].ask(ME, Address("s", "book", "x"), _Roof(), timeout=5)


class _Roof(Request[int], frozen=True):
    pass


async def _roof(self: Book, message: _Roof, ctx: Context) -> int:
    raise ValueError("the roof")


Book.handlers[_Roof] = type(next(iter(Book.handlers.values())))(_roof, False)


async def _done() -> list[str]:
    return list(Book.done)


async def _busy(host: Host, address: Address) -> bool:
    return any(agent.address == str(address) and agent.handling for agent in host.agents())


async def _nobody(host: Host) -> bool:
    return not [agent for agent in host.agents() if agent.role == "book"]


_numbers = iter(range(10**9))


def _mail_to_one(message: Message) -> Transaction:
    """As if ``two`` had committed that it tells ``one`` this, and died before it could send it."""
    from sylk_ray.messaging.wire import Envelope
    from sylk_ray.runtime.outbox import mail_of

    number = next(_numbers)
    return Transaction(TWO, f"from-{number}", outgoing=[mail_of(Envelope(f"mail-{number}", TWO, ONE, message))])


class Entry(msgspec.Struct, frozen=True):
    text: str


class ShelfState(msgspec.Struct):
    count: int = 0
    books: dict[str, Entry] = {}


class PutBook(Request[int], frozen=True):
    name: str
    text: str


class Shelf(Agent[ShelfState]):
    """A large state, of which a commit writes what has changed."""

    role = "shelf"
    keyed = "books"

    @handler()
    async def put(self, message: PutBook, ctx: Context) -> int:
        self.state.count += 1
        if message.text:
            self.state.books[message.name] = Entry(message.text)
        else:
            del self.state.books[message.name]
        if message.text == "bad":
            raise InputError("bad")
        return self.state.count

    @handler()
    async def written(self, message: Written, ctx: Context) -> list[str]:
        return [f"{name}: {entry.text}" for name, entry in sorted(self.state.books.items())]


async def test_of_a_keyed_field_only_what_has_changed_is_written(world):
    world.roles._roles["shelf"] = Shelf
    a, shelf = world.hosts["a"], Address("s", "shelf", "x")
    journal, written = a.journal_of("s")._journal, []
    commit = journal.commit

    async def noted(transaction: Transaction) -> Any:
        if transaction.state is not None:
            written.append(dict(transaction.state.parts))
        return await commit(transaction)

    journal.commit = noted
    for name, text in (("x", "1"), ("y", "2"), ("x", "3"), ("y", "")):
        await a.ask(ME, shelf, PutBook(name, text), timeout=5)
    with pytest.raises(InputError):
        await a.ask(ME, shelf, PutBook("z", "bad"), timeout=5)
    assert [list(parts) for parts in written] == [["x"], ["y"], ["x"], ["y"]]
    assert await lines(a, shelf) == ["x: 3"]
    await world.crash("a")
    b = await world.cell("b", router="b", fenced=("a",))
    assert await lines(b, shelf) == ["x: 3"]
    assert await b.ask(ME, shelf, PutBook("z", "4"), timeout=5) == 5
    assert await lines(b, shelf) == ["x: 3", "z: 4"]


async def test_an_agent_that_may_not_rest_is_not_put_away(world):
    a = world.hosts["a"]
    await a.tell(ME, ONE, Note("x"), timeout=5)
    await lines(a, ONE)
    a._slots[ONE].agent.may_rest = lambda: False
    assert await a.deactivate_idle(0) == 0
