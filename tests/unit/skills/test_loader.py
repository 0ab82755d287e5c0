"""Tiers, turns and the budget, by example; what always holds is in test_loader_properties."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from sylk_ray.errors import InputError
from sylk_ray.skills import (
    CONTROL,
    Change,
    CoreOverBudget,
    CoreStaysLoaded,
    Disclosure,
    DuplicateSkill,
    OverBudget,
    Registry,
    SkillLoader,
    SkillNotLoaded,
    TokenBudget,
    UnknownDomain,
    UnknownSkill,
)
from tests.unit.skills.samples import loader_of, names, sample

CORE = sample("core", tier="core")


def test_core_skills_are_loaded_from_the_start():
    loader = loader_of({}, sample("a"), CORE)
    assert names(loader) == ["core"]
    assert loader.token_budget() == TokenBudget(10, 100)
    assert loader.definitions() == [CORE.definition]


def test_core_skills_that_cost_more_than_the_budget_are_an_error():
    with pytest.raises(CoreOverBudget, match="1 core skills cost 101 tokens of a budget of 100"):
        loader_of({"core": 101}, CORE)


def test_a_text_loads_what_it_mentions_domain_skills_first():
    special = sample("benchmark", tier="specialised", keywords=("fast", "slow"))
    loader = loader_of({}, CORE, special, sample("imports", keywords=("fast",)), sample("other"))
    assert loader.load_for("is it fast or slow") == Change(loaded=("imports", "benchmark"))
    assert loader.load_for("is it fast") == Change()


def test_a_text_loads_a_skill_by_its_name():
    loader = loader_of({}, sample("benchmark", tier="specialised"))
    assert loader.load_for("run benchmark please").loaded == ("benchmark",)


def test_a_domain_loads_its_domain_skills_only():
    loader = loader_of(
        {}, sample("a", domain="x"), sample("b", domain="x", tier="specialised"), sample("c", domain="y")
    )
    assert loader.load_domain("x") == Change(loaded=("a",))
    with pytest.raises(UnknownDomain, match="'z'"):
        loader.load_domain("z")


def test_the_least_used_goes_when_the_budget_is_near():
    loader = loader_of({}, CORE, *(sample(name) for name in "abcd"), max_tokens=50, near=0.8)
    for name in "abc":
        loader.load(name)
    loader.load("a")
    assert loader.load("d") == Change(loaded=("d",), unloaded=("b",))
    assert names(loader) == ["core", "a", "c", "d"]


async def test_being_called_counts_as_use():
    loader = loader_of({}, *(sample(name) for name in "abc"), max_tokens=20)
    loader.load("a")
    loader.load("b")
    assert await loader.call("a", "", None) == '"a"'
    assert loader.load("c").unloaded == ("b",)


def test_what_one_text_mentions_does_not_push_itself_out():
    loader = loader_of({}, *(sample(name, keywords=("k",)) for name in "abc"), max_tokens=20)
    assert loader.load_for("k") == Change(loaded=("a", "b"), left_out=("c",))


def test_only_a_skill_asked_for_by_name_may_use_what_is_above_the_near_line():
    loader = loader_of({"big": 70}, CORE, sample("big"), sample("a"), near=0.7)
    loader.load("a")
    assert loader.load_for("big") == Change(left_out=("big",))
    assert loader.load("big") == Change(loaded=("big",), unloaded=("a",))


def test_a_skill_that_never_fits_is_refused_and_nothing_is_unloaded():
    loader = loader_of({"big": 91}, CORE, sample("big"), sample("a"))
    loader.load("a")
    with pytest.raises(OverBudget, match="'big' costs 91 tokens"):
        loader.load("big")
    assert names(loader) == ["core", "a"]


def test_a_skill_goes_after_the_turns_it_may_be_unused():
    loader = loader_of({}, CORE, sample("a"), sample("b"), unused_turns=2)
    loader.load("a")
    loader.load("b")
    assert loader.next_turn() == Change()
    loader.load("b")
    assert loader.next_turn() == Change()
    assert loader.next_turn() == Change(unloaded=("a",))
    assert loader.next_turn() == Change(unloaded=("b",))
    assert names(loader) == ["core"]


def test_unloading_says_why_it_cannot():
    loader = loader_of({}, CORE, sample("alpha"))
    with pytest.raises(CoreStaysLoaded):
        loader.unload("core")
    with pytest.raises(SkillNotLoaded):
        loader.unload("alpha")
    with pytest.raises(UnknownSkill) as unknown:
        loader.unload("alhpa")
    assert unknown.value.hint == 'did you mean "alpha"?'
    loader.load("alpha")
    assert loader.unload("alpha") == Change(unloaded=("alpha",))


async def test_a_skill_that_is_not_loaded_is_not_called():
    loader = loader_of({}, sample("a"))
    with pytest.raises(SkillNotLoaded) as refused:
        await loader.call("a", "", None)
    assert "load_skill" in refused.value.hint


async def test_a_model_governs_its_skills_by_skills():
    loader = SkillLoader(Registry([*CONTROL, sample("a")]))
    context = SimpleNamespace(skills=loader)

    async def ask(skill: str, **arguments: str):
        return json.loads(await loader.call(skill, arguments, context))

    assert (await ask("load_skill", name="a"))["loaded"] == ["a"]
    assert {"name": "a", "tier": "domain"} in (await ask("loaded_skills"))["loaded"]
    budget = await ask("skill_token_budget")
    assert 0 < budget["used"] < budget["limit"] == 4_000
    assert (await ask("unload_skill", name="a"))["unloaded"] == ["a"]
    assert (await ask("loaded_skills"))["not_loaded"] == [{"name": "a", "domain": "sampling"}]


def test_a_name_belongs_to_one_skill():
    registry = Registry([CORE, CORE])
    with pytest.raises(DuplicateSkill, match="already defined at"):
        registry.add(sample("core"))
    assert len(registry) == 1
    assert "core" in registry


@pytest.mark.parametrize("wrong", [{"max_tokens": 0}, {"near": 0.0}, {"near": 1.1}, {"unused_turns": -1}])
def test_a_disclosure_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError):
        Disclosure(**wrong)
