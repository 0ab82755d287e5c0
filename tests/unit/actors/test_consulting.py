"""The Archivalist and the Academic, and how those who think ask them: with real journals and a real knowledge base."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.academic import Academic
from actors.archivalist import Archivalist
from actors.consulting import Consulting, done_before, preflight_skill
from actors.consulting_messages import AskArchivalist
from actors.gate import GateKeeper
from actors.knowledge import Knowledge
from actors.knowledge_messages import KNOWLEDGE, AskCodebase, gate_of
from sylk_ray.codebase import requests as of
from sylk_ray.codebase.serving.frames import Failed
from sylk_ray.config import Model, Settings
from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, Event, Message, Request, said_by
from sylk_ray.pipelines import Brief
from sylk_ray.pipelines.asking import TokensGiven, TokensWanted
from sylk_ray.pipelines.brief import Assignment
from sylk_ray.routing import Intent
from sylk_ray.runtime import Agent, Context, Host, LocalTransport, Roles, SessionBinding, SystemClock, handler
from sylk_ray.runtime.directory import LocateSession
from sylk_ray.runtime.journal import SqliteJournals, read_events
from sylk_ray.sessions import SessionDirectory, SessionRecord, session_directory
from sylk_ray.skills import run
from sylk_ray.speech import CallSkill, Hear
from sylk_ray.tools.specs import Limits, Sandbox
from tests.models import ModelServer, RoleScript, call
from tests.models.server import says
from tests.unit.actors import SESSION
from tests.unit.actors.test_thinking import Door
from tests.unit.runtime.conftest import FakeRouter

ARCHIVALIST = Address(SESSION, "archivalist", "main")
ROUTER = Address(SESSION, "router", "main")
ASKER = Address(SESSION, "engineer", "retry_uploads")
QUESTION = "How is an upload retried?"
RESEARCHED = {"answer": "Wait longer each time.", "confidence": "high", "sources": ["RFC 9110"]}


class Fleet(Agent[None]):
    role = "fleet"

    @handler(concurrent=True)
    async def locate(self, message: LocateSession, ctx: Context) -> SessionBinding:
        return SessionBinding(message.session, "a")


class Consult(Request[list[str]], frozen=True):
    """To the asker: ask that, once for each, and answer what is said."""

    flow = said_by("any", to="any")

    brief: Brief
    questions: list[tuple[str, str]]
    topic: str = ""
    words: str = ""


class Late:
    """A handler's context when what it was told should have arrived long ago."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.deadline = 1.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)


class Told(Message, frozen=True):
    """To the asker: ask that, long after you were told."""

    flow = said_by("any", to="any")

    brief: Brief
    question: str


class Asker(Agent[None]):
    """In the place of an Engineer."""

    role = "engineer"
    durable = True

    @handler()
    async def told(self, message: Told, ctx: Context) -> None:
        late = Late(ctx)
        said = await Consulting(message.brief, late).consult(message.question, "academic")  # type: ignore[arg-type]
        await ctx.publish("asker.heard", text=said)

    @handler()
    async def consult(self, message: Consult, ctx: Context) -> list[str]:
        if message.topic:
            told = await run(preflight_skill(message.brief, ctx), {"topic": message.topic}, None)
            return list(told.planning_hints)
        if message.words:
            return [await done_before(message.brief, message.words, ctx)]
        consult = Consulting(message.brief, ctx).skill()
        return [await run(consult, {"question": what, "whom": whom}, None) for what, whom in message.questions]


class World:
    """A cell, and sessions on the disk."""

    def __init__(self, root: Path) -> None:
        self.home, self.repo = root / "home", root / "shop"
        self.repo.mkdir()
        self.script = RoleScript()
        self.server = ModelServer(answer=lambda request: self.script(request))
        self.journals = self.files()
        self.made(SESSION, self.repo)

    def files(self) -> SqliteJournals:
        return SqliteJournals(lambda session: session_directory(self.home, session))

    def made(self, session: str, repo: Path) -> None:
        record = SessionRecord(id=session, name=session, repo=str(repo), branch="b", base="c")
        path = SessionDirectory(session_directory(self.home, session)).session
        path.parent.mkdir(parents=True)
        path.write_bytes(msgspec.json.encode(record))

    async def happened(self, session: str, *events: Event) -> None:
        """In another session of the same repository."""
        if session != SESSION and not session_directory(self.home, session).exists():
            self.made(session, self.repo)
        journals = self.journals if session == SESSION else self.files()
        journal = await journals.open(session, "a")
        await journal.add_events(events)
        if session != SESSION:
            await journals.close()

    async def start(self) -> None:
        transport = LocalTransport()
        agents = (Archivalist, Academic, Knowledge, GateKeeper, Asker, FakeRouter, Fleet)
        models = {"local": Model(base_url=self.server.url, model="tiny", context_window=32_000)}
        self.host = Host(
            "a",
            roles=Roles({cls.role: cls for cls in agents}),
            transport=transport,
            journals=self.journals,
            clock=SystemClock(),
            settings=Settings(home=self.home, models=models),
        )
        self.host.leases = Door()  # type: ignore[assignment]
        for shared in (KNOWLEDGE, gate_of("a")):
            self.host.directory.learn(shared, "a")
        transport.join("a", self.host.receive)
        await self.host.open_session(SessionBinding(SESSION, "a"))

    def brief(self) -> Brief:
        return Brief(
            session=SESSION,
            session_name="demo",
            repo=str(self.repo),
            task="retry_uploads",
            attempt=1,
            assignment_json=Assignment(prompt="Retry.").model_dump_json(),
            limits_json=Limits().model_dump_json(),
            sandbox_json=Sandbox().model_dump_json(),
            max_loops=0,
        )

    async def recalled(self, query: str, **more: Any) -> list[of.Memory]:
        request = AskArchivalist(of.Recall(query=query, root=str(self.repo), **more))
        told = await self.host.ask(ASKER, ARCHIVALIST, request, timeout=30)
        assert isinstance(told.answer, of.RecallAnswer), told
        return told.answer.memories

    async def hear(self, text: str, intent: Intent) -> str:
        return (await self.host.ask(ROUTER, ARCHIVALIST, Hear(text, intent), timeout=30)).text

    async def consult(self, *questions: tuple[str, str], **more: Any) -> list[str]:
        message = Consult(self.brief(), list(questions), **more)
        return await self.host.ask(ROUTER, ASKER, message, timeout=60)

    async def published(self, kind: str) -> list[dict[str, Any]]:
        path = SessionDirectory(session_directory(self.home, SESSION)).journal
        return [dict(event.data) for event in read_events(path) if event.kind == kind]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    FakeRouter.places = {}
    made = World(tmp_path)
    await made.start()
    yield made
    await made.host.stop(grace_s=0)
    made.server.close()


def event(kind: str, session: str = "s-old", task: str = "retry_uploads", **data: Any) -> Event:
    return Event(kind, session, task, data, at=1_700_000_000.0)


DONE = event("engineer.result", summary="Uploads are tried again with a growing wait.", unfinished=[])
SENT_BACK = event("pipeline.feedback", by="tester", loop=1, text="test_upload: a timeout was swallowed")


# -- the Archivalist -------------------------------------------------------------------------------------------------


async def test_what_another_session_did_on_the_same_repository_is_recalled_with_its_name(world):
    await world.happened("s-old", DONE, SENT_BACK)
    found = await world.recalled("retry an upload")
    assert [(each.session, each.task) for each in found] == [("s-old", "retry_uploads")] * 2
    assert [each.kind for each in await world.recalled("retry an upload", kinds=["failure"])] == ["failure"]


async def test_what_was_done_on_another_repository_is_not_known(world, tmp_path):
    world.made("s-far", tmp_path / "far")
    await world.happened("s-far", msgspec.structs.replace(DONE, session="s-far"))
    assert await world.recalled("retry an upload") == []


async def test_what_has_just_happened_is_known_at_once_also_where_nothing_was(world):
    assert await world.recalled("retry an upload") == []
    await world.happened("s-old", DONE)
    assert len(await world.recalled("growing wait")) == 1
    await world.happened("s-old", SENT_BACK)
    await world.happened(SESSION, msgspec.structs.replace(DONE, session=SESSION))
    assert len(await world.recalled("retry an upload")) == 3


async def test_each_event_is_read_once_also_by_one_that_comes_after(world, monkeypatch):
    await world.happened("s-old", DONE)
    await world.recalled("retry")
    read: list[int] = []
    real = of.Remember

    def counted(**given: Any) -> of.Remember:
        read.append(len(given["memories"]))
        return real(**given)

    monkeypatch.setattr("actors.archive.Remember", counted)
    await world.recalled("retry")
    assert read == []
    await world.host.close_session(SESSION)
    await world.host.open_session(SessionBinding(SESSION, "a"))
    await world.recalled("retry")
    assert read == []


async def test_a_history_that_cannot_be_read_does_not_hide_the_others(world):
    await world.happened("s-old", DONE)
    world.made("s-bad", world.repo)
    SessionDirectory(session_directory(world.home, "s-bad")).journal.write_bytes(b"no journal" * 1000)
    (session_directory(world.home, "s-half")).mkdir()
    assert len(await world.recalled("retry an upload")) == 1


async def test_all_who_ask_at_once_are_answered(world):
    await world.happened("s-old", DONE)
    found = await asyncio.gather(*(world.recalled("retry an upload") for _ in range(8)))
    assert [len(each) for each in found] == [1] * 8


async def test_a_person_is_answered_by_what_they_mean(world):
    await world.happened("s-old", DONE)
    decided = event("person.decided", SESSION, asked="question", decision="answer", text="Prices are cents.")
    await world.happened(SESSION, decided)
    told = await world.hear("how did we retry uploads before", Intent.HISTORICAL)
    assert told.startswith("- retry uploads: done (pattern, s-old, 2023-11-14): Uploads are tried again")
    for intent in (Intent.RESUME, Intent.ACTIVITY):
        assert "Prices are cents." in await world.hear("where did we leave off", intent)
    assert "nothing like it was done" in await world.hear("did we use kubernetes", Intent.HISTORICAL)


async def test_its_skills_look_into_the_own_session_unless_they_say_otherwise(world):
    await world.happened("s-old", DONE, SENT_BACK)

    async def use(skill: str, **arguments: Any) -> Any:
        given = msgspec.json.encode(arguments).decode()
        return (await world.host.ask(ROUTER, ARCHIVALIST, CallSkill(skill, given), timeout=30)).data

    assert await use("query", query="retry") == []
    assert len(await use("cross_session_query", query="retry")) == 2
    assert len(await use("pattern_search", query="retry")) == 1
    [failure] = await use("failure_search", query="timeout")
    assert failure["session"] == "s-old"
    for skill in ("workflow_history", "decision_search"):
        assert await use(skill, query="retry") == []
    assert await use("session_timeline") == await use("briefing") == []
    await use("store", title="retries", text="Three at most.", kind="decision")
    [kept] = await use("query", query="retries")
    assert (kept["text"], kept["kind"]) == ("Three at most.", "decision")
    assert [each["title"] for each in await use("session_timeline")] == ["retries"]


async def test_without_what_keeps_the_knowledge_it_is_said_why(world, monkeypatch):
    (world.home / "knowledge").write_text("in the way")
    request = AskArchivalist(of.Recall(query="x", root=str(world.repo)))
    told = await world.host.ask(ASKER, ARCHIVALIST, request, timeout=30)
    assert isinstance(told.answer, Failed)


# -- consulting ------------------------------------------------------------------------------------------------------


def order(text: str) -> Sequence[str]:
    return [line.partition(":")[0] for line in text.splitlines() if line.startswith("The ")]


async def test_those_before_the_one_that_is_named_are_asked_too_in_order(world):
    await world.happened("s-old", DONE)
    world.script = RoleScript(academic=[call("finish", **RESEARCHED)])
    [told] = await world.consult((QUESTION, "academic"))
    assert order(told) == ["The librarian", "The archivalist", "The academic"]
    assert "The librarian: cannot be asked" in told  # nobody has indexed it
    assert "Uploads are tried again with a growing wait." in told
    assert "Wait longer each time. (confidence: high)\nSource: RFC 9110" in told
    asked = world.script.requests("academic")[0]
    assert "growing wait" in asked.messages[0].text
    assert [tool.name for tool in asked.tools] == ["finish"]
    assert [each["whom"] for each in await world.published("agent.consulted")] == [
        "librarian",
        "archivalist",
        "academic",
    ]


async def test_what_is_indexed_the_librarian_knows(world):
    (world.repo / "upload.py").write_text('def retry_upload(tries):\n    """Retry an upload."""\n')
    await world.host.ask(ASKER, KNOWLEDGE, AskCodebase(of.Index(root=str(world.repo))), timeout=30)
    [told] = await world.consult((QUESTION, "librarian"))
    assert "def retry_upload" in told
    assert order(told) == ["The librarian"]


async def test_the_same_question_is_thought_about_once_in_a_session_and_read_in_others(world):
    world.script = RoleScript(academic=[call("finish", **RESEARCHED)])
    first, second = await world.consult((QUESTION, "academic"), (f"  {QUESTION} ", "academic"))
    assert second == first
    [again] = await world.consult((QUESTION, "academic"))
    assert "Wait longer each time." in again
    assert f"(asked before, in {SESSION})" in again
    assert len(world.script.requests("academic")) == 1
    [kept] = await world.recalled(QUESTION, domain="academic")
    assert kept.title == QUESTION


async def test_without_an_answer_of_the_academics_model_the_others_are_told(world):
    world.script = RoleScript(academic=[says("I do not know.")] * 8)
    [told] = await world.consult((QUESTION, "academic"))
    assert order(told) == ["The librarian", "The archivalist", "The academic"]
    assert "The academic: cannot be asked: the academic's model came to no result" in told


async def test_a_preflight_is_a_matter_of_the_gate(world):
    await world.happened("s-old", DONE)
    assert await world.consult(topic="retry uploads") == [
        "Whether there is code for it is not known: look",
        "Historical context available: learn from the past",
        "Suggested: Archivalist -> Engineer",
    ]


async def test_who_plans_is_told_what_was_done_before_where_anything_is_known(world):
    await world.happened("s-old", DONE, SENT_BACK)
    words = "Downloads should be tried again, as an upload is."
    assert await world.consult(words=words) == [""]  # nobody has asked yet, and none is started for it
    await world.recalled("retry")
    [told] = await world.consult(words=words)
    assert "Uploads are tried again with a growing wait." in told
    (world.home / "sessions" / SESSION / "session.json").unlink()
    await world.host.close_session(SESSION)
    await world.host.open_session(SessionBinding(SESSION, "a"))
    assert await world.consult(words=words) == [""]  # it cannot be said, and the plan is made without


async def test_a_person_can_ask_the_academic_too_and_again_when_it_came_to_nothing(world):
    academic = Address(SESSION, "academic", "main")
    world.script = RoleScript(academic=[says("I do not know.")] * 6)
    with pytest.raises(SylkError, match="came to no result"):
        await world.host.ask(ROUTER, academic, Hear(QUESTION), timeout=30)
    asked = len(world.script.asked)
    world.script = RoleScript(academic=[call("finish", **RESEARCHED)])
    for _ in range(2):
        told = await world.host.ask(ROUTER, academic, Hear(QUESTION), timeout=30)
        assert told.text.startswith("Wait longer each time. (confidence: high)\nSource: RFC 9110")
    assert (asked, len(world.script.asked)) == (4, 1)


async def test_what_came_to_nothing_is_tried_again_by_who_asks_next(world):
    world.script = RoleScript(academic=[says("I do not know.")] * 8)
    assert "cannot be asked: the academic's model came to no result" in (await world.consult((QUESTION, "academic")))[0]
    world.script = RoleScript(academic=[call("finish", **RESEARCHED)])
    assert "Wait longer each time." in (await world.consult((QUESTION, "academic")))[0]


async def test_questions_that_begin_alike_are_not_the_same(world):
    long = (
        "Considering that this shop has many customers in many countries, and prices in whole cents, what is the way to"
    )
    world.script = RoleScript(academic=[call("finish", answer=each) for each in ("With care.", "At night.")])
    told = await world.consult((f"{long} round them?", "academic"), (f"{long} change them?", "academic"))
    assert "With care." in told[0]
    assert "At night." in told[1]
    again = await world.consult((f"{long} round them?", "academic"))
    assert "With care. (confidence: medium)\n(asked before, in " in again[0]


async def test_who_was_told_long_ago_still_waits_for_the_academic(world):
    """What an agent is told has a deadline for its arrival, which says nothing of what it does then."""
    world.script = RoleScript(academic=[call("finish", **RESEARCHED)])
    await world.host.tell(ROUTER, ASKER, Told(world.brief(), QUESTION), timeout=30)
    async with asyncio.timeout(20):
        while not (heard := await world.published("asker.heard")):
            await asyncio.sleep(0.05)
    assert "Wait longer each time." in heard[0]["text"]


async def test_the_academic_may_ask_for_more_tokens():
    for message in (TokensWanted, TokensGiven):
        assert "academic" in message.flow.senders


async def test_what_was_forgotten_is_read_anew(world):
    await world.happened("s-old", DONE)
    assert len(await world.recalled("retry")) == 1
    forget = AskCodebase(of.Forget(root=str(world.repo)))
    await world.host.ask(ASKER, KNOWLEDGE, forget, timeout=30)
    assert len(await world.recalled("retry")) == 1


async def test_an_event_of_another_shape_hides_no_other(world):
    odd = [
        event("engineer.result", summary="Done."),
        event("task.merged"),
        event("plan.made", summary="x", text=None, tasks=[]),
        event("archivalist.stored", memory="poem", title="x", text="y"),
    ]
    await world.happened("s-old", *odd, DONE)
    assert len(await world.recalled("retry")) == 1
