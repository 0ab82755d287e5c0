"""Which skills a model is offered, and how it comes by the others."""

from __future__ import annotations

import pytest

from sylk_ray.skills import Disclosure, Tier, skill, tokens_of
from sylk_ray.thinking import Matter, Toolbox, prompt, think, toolbox
from tests.unit.thinking.test_loop import FINISH, Done, World, calls

GRANTED = frozenset({"search"})


def made(name: str, tier: Tier = "domain", keywords: tuple[str, ...] = ()):
    @skill(domain="x", name=name, tier=tier, keywords=keywords, only_looks=True, needs=("search",))
    async def look(ctx: object, what: str = "it") -> str:
        """Look for it. There is more to say."""
        return f"{name} has found {what}"

    return look


SKILLS = (made("look", "core"), made("ask", keywords=("unclear",)), made("rare", "specialised"))


def names(toolbox: Toolbox) -> list[str]:
    return [tool.name for tool in toolbox.offered()]


def test_core_skills_are_offered_and_the_others_are_listed():
    toolbox = Toolbox(SKILLS, GRANTED)
    assert names(toolbox) == ["look", "load_skill"]
    assert toolbox.listing().endswith("load_skill brings others: ask (Look for it).")


def test_what_the_matter_mentions_is_offered_at_once():
    toolbox = Toolbox(SKILLS, GRANTED, about="It is unclear, and rare.")
    assert names(toolbox) == ["look", "ask", "rare"]
    assert toolbox.listing() == ""


def test_what_is_not_granted_is_neither_offered_nor_listed():
    toolbox = Toolbox(SKILLS, frozenset())
    assert names(toolbox) == []
    assert toolbox.listing() == ""
    assert toolbox.withholds("ask")
    assert not toolbox.load("ask")


async def test_a_skill_that_is_loaded_is_offered_from_then_on():
    world = World(calls(("load_skill", {"name": "ask"})), calls(("ask", {"what": "a way"})), FINISH)
    world.toolbox = Toolbox(SKILLS, GRANTED)
    await world.think()
    assert [[tool.name for tool in each.tools] for each in world.requests] == [
        ["look", "load_skill", "finish"],
        ["look", "ask", "load_skill", "finish"],
        ["look", "ask", "load_skill", "finish"],
    ]
    assert world.results(2)[0].text == "ask can be called from now on"
    assert world.results(3)[0].text == "ask has found a way"
    assert "ask (Look for it)" in world.requests[2].system  # what comes first does not change: it is cached


async def test_a_skill_that_is_listed_is_loaded_by_being_called():
    world = World(calls(("rare", {"what": "a needle"})), FINISH)
    world.toolbox = Toolbox(SKILLS, GRANTED)
    await world.think()
    assert world.results(2)[0].text == "rare has found a needle"
    assert "rare" in [tool.name for tool in world.requests[1].tools]


@pytest.mark.parametrize(("window", "lists"), [(8_192, False), (16_000, True), (None, True)])
async def test_in_a_small_window_only_what_is_loaded_is_told_of(window, lists):
    world = World(calls(("ask", {"what": "a way"})), FINISH)
    world.toolbox = Toolbox(SKILLS, GRANTED)
    await world.think(window=window)
    assert ("load_skill" in [tool.name for tool in world.requests[0].tools]) is lists
    assert ("load_skill" in world.requests[0].system) is lists
    # Who calls it all the same has it.
    assert world.results(2)[0].text == "ask has found a way"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("aks", "there can be loaded:\n- ask: Look for it\n- rare: Look for it"),
        ("look", "look is loaded already: call it"),
    ],
)
async def test_what_cannot_be_loaded_is_told_with_what_can(name, told):
    world = World(calls(("load_skill", {"name": name})), FINISH)
    world.toolbox = Toolbox(SKILLS, GRANTED)
    await world.think()
    assert told in world.results(2)[0].text


async def test_the_skills_stand_between_the_rules_and_the_output():
    world = World(FINISH)
    matter = Matter(system=prompt("engineer"), task="Do it.", result=Done)
    await think(matter, Toolbox(SKILLS, GRANTED), ask=world.ask, use=world.use)
    system = world.requests[0].system
    assert system.index("# Rules") < system.index("# Skills") < system.index("# Output")
    assert system.startswith("You are an Engineer.")


async def test_a_skill_that_has_no_room_is_refused_and_harms_nothing(monkeypatch):
    world = World(calls(("ask", {}), ("load_skill", {"name": "rare"})), FINISH)
    monkeypatch.setattr(toolbox, "_STAY", Disclosure(max_tokens=tokens_of(SKILLS[0]) + 1))
    world.toolbox = Toolbox(SKILLS, GRANTED)
    assert (await world.think()).whole
    assert [each.failed for each in world.results(2)] == [False, True]
    assert "has no room" in world.results(2)[1].text
    assert names(world.toolbox) == ["look", "load_skill"]
