"""Agents that use their skills when they are spoken to."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar

import msgspec
import pytest

from sylk_ray.config import Settings
from sylk_ray.hooks import Abort, Aborted, HookContext, ToolAfter, ToolBefore, hook, runtime_hooks
from sylk_ray.messaging import Address, DeadlinePassed
from sylk_ray.runtime import Host, LocalTransport, MemoryJournals, Roles, SessionBinding, SystemClock
from sylk_ray.skills import InvalidArguments, SkillFailed, UnknownSkill, skill
from sylk_ray.speech import CallSkill, Conversant, Hear, Heard, NeedsModel, SkillCall
from sylk_ray.speech.errors import OnlySaid
from tests.unit.runtime.conftest import FakeFleet, FakeRouter

POET, MUTE = Address("s", "poet", "main"), Address("s", "mute", "main")
ME = Address("s", "router", "main")


@skill(domain="poems", keywords=["rhyme"], only_looks=True)
async def rhyme(ctx: SkillCall[Any], word: str = "moon") -> str:
    """Find a rhyme."""
    return f"{word}: June"


@skill(domain="poems", keywords=["burn"])
async def burn(ctx: SkillCall[Any]) -> str:
    """Burn all poems."""
    raise AssertionError("nobody asked for that in so many words")


@skill(domain="poems", keywords=["count"], only_looks=True)
async def lines(ctx: SkillCall[Any]) -> Heard:
    """Tell how many lines there are."""
    return Heard("14 lines", {"lines": 14})


@skill(domain="poems")
async def ponder(ctx: SkillCall[Any]) -> str:
    """Think for ever."""
    try:
        await asyncio.Event().wait()
    finally:
        Poet.given_up = True
    return ""


@skill(domain="poems")
async def leave(ctx: SkillCall[Any]) -> str:
    """Leave."""
    raise SystemExit(3)


class Poet(Conversant[None]):
    role = "poet"
    skills = (rhyme, burn, lines, ponder, leave)
    answers_with = "lines"
    given_up: ClassVar[bool] = False


class Diary(msgspec.Struct):
    pages: int = 0


class Diarist(Conversant[Diary]):
    role = "diarist"
    skills = (rhyme,)


class Mute(Conversant[None]):
    role = "mute"


@pytest.fixture
async def host(tmp_path):
    transport = LocalTransport()
    roles = Roles({each.role: each for each in (Poet, Mute, Diarist, FakeRouter, FakeFleet)})
    host = Host(
        "a",
        roles=roles,
        transport=transport,
        journals=MemoryJournals(),
        clock=SystemClock(),
        settings=Settings(home=tmp_path),
    )
    transport.join("a", host.receive)
    await host.open_session(SessionBinding("s", "a"))
    yield host
    await host.stop(grace_s=0)


async def test_words_are_answered_with_a_skill_that_they_mention(host):
    heard = await host.ask(ME, POET, Hear("a rhyme, please"), timeout=5)
    assert (heard.text, heard.done_by) == ("moon: June", "rhyme")


async def test_words_that_mention_none_are_answered_with_how_things_stand(host):
    heard = await host.ask(ME, POET, Hear("well?"), timeout=5)
    assert (heard.text, heard.data, heard.done_by) == ("14 lines", {"lines": 14}, "lines")


async def test_what_changes_something_is_never_done_for_a_keyword(host):
    with pytest.raises(OnlySaid, match="nothing was done: burn is never used because of words"):
        await host.ask(ME, POET, Hear("burn them, burn them all"), timeout=5)


async def test_an_agent_without_skills_needs_a_model_for_words(host):
    with pytest.raises(NeedsModel, match="the mute answers words only with a model"):
        await host.ask(ME, MUTE, Hear("hello"), timeout=5)


async def test_a_skill_is_called_with_arguments(host):
    heard = await host.ask(ME, POET, CallSkill("rhyme", '{"word": "spoon"}'), timeout=5)
    assert heard.text == "spoon: June"
    with pytest.raises(InvalidArguments, match="word"):
        await host.ask(ME, POET, CallSkill("rhyme", '{"word": 3}'), timeout=5)
    with pytest.raises(UnknownSkill) as problem:
        await host.ask(ME, POET, CallSkill("rime"), timeout=5)
    assert "rhyme" in problem.value.hint


async def test_the_skills_that_govern_skills_work_too(host):
    heard = await host.ask(ME, POET, CallSkill("load_skill", '{"name": "rhyme"}'), timeout=5)
    assert json.loads(heard.text)["loaded"] == ["rhyme"]
    heard = await host.ask(ME, POET, CallSkill("loaded_skills"), timeout=5)
    assert {"name": "rhyme", "tier": "domain"} in json.loads(heard.text)["loaded"]


async def test_skills_of_the_repository_are_there_where_they_are_allowed(host, tmp_path):
    repository = tmp_path / "repository"
    (repository / ".sylk" / "skills").mkdir(parents=True)
    (repository / ".sylk" / "skills" / "own.py").write_text(
        "from sylk_ray.skills import skill\n\n\n"
        '@skill(domain="own", keywords=["limerick"], only_looks=True)\n'
        "async def limerick(ctx: object) -> str:\n"
        '    """Tell a limerick."""\n'
        '    return "there was an old man"\n'
    )
    folder = tmp_path / "sessions" / "s"
    folder.mkdir(parents=True)
    record = {"id": "s", "name": "n", "repo": str(repository), "branch": "b", "base": "c"}
    (folder / "session.json").write_text(json.dumps(record))

    with pytest.raises(UnknownSkill):
        await host.ask(ME, POET, CallSkill("limerick"), timeout=5)
    host.settings = Settings(home=tmp_path, repository_skills=True)
    heard = await host.ask(ME, MUTE, Hear("a limerick!"), timeout=5)
    assert heard.text == "there was an old man"


async def test_a_skill_is_a_tool_to_hooks(host):
    seen: list[object] = []

    @hook(ToolBefore, name="rhyme-with-june")
    def change(payload: ToolBefore, ctx: HookContext) -> ToolBefore | None:
        if payload.tool == "burn":
            raise Abort("nothing is burnt here")
        return msgspec.structs.replace(payload, arguments={"word": "tune"})

    @hook(ToolAfter, name="note-rhymes")
    def note(payload: ToolAfter, ctx: HookContext) -> None:
        seen.append((payload.tool, payload.result))

    hooks = runtime_hooks(host.settings.hooks)
    hooks.add(change)
    hooks.add(note)
    try:
        assert (await host.ask(ME, POET, CallSkill("rhyme"), timeout=5)).text == "tune: June"
        with pytest.raises(Aborted, match="nothing is burnt here"):
            await host.ask(ME, POET, CallSkill("burn"), timeout=5)
    finally:
        hooks.remove("rhyme-with-june")
        hooks.remove("note-rhymes")
    assert seen == [("rhyme", "tune: June")]


async def test_a_skill_is_stopped_when_nobody_waits_for_it_any_more(host):
    with pytest.raises((SkillFailed, DeadlinePassed)):
        await host.ask(ME, POET, CallSkill("ponder"), timeout=0.1)
    async with asyncio.timeout(5):
        while not Poet.given_up:
            await asyncio.sleep(0.005)


async def test_a_skill_cannot_end_the_process(host):
    with pytest.raises(SkillFailed, match="SystemExit"):
        await host.ask(ME, POET, CallSkill("leave"), timeout=5)
    assert (await host.ask(ME, POET, Hear("well?"), timeout=5)).done_by == "lines"


async def test_what_only_asks_how_things_stand_is_not_kept(host):
    await host.ask(ME, Address("s", "diarist", "main"), CallSkill("rhyme"), timeout=5)
    memory = await host.journal_of("s").recall(Address("s", "diarist", "main"))
    assert memory.handled == {}
