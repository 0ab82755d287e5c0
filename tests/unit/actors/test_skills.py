"""The skills of the agents that there are."""

from __future__ import annotations

import pytest

from actors import tester
from actors.engineer import Engineer
from actors.guide import Guide
from actors.inspector import Inspector
from actors.orchestrator import Orchestrator
from actors.routing_desk import voices
from sylk_ray.config import Settings
from sylk_ray.routing import commands
from sylk_ray.skills import SkillLoader

ROLES = {each.role: each for each in (Engineer, Guide, Inspector, Orchestrator, tester.Tester)}
DONE = [each for each in commands() if each.skill]


@pytest.mark.parametrize("role", ROLES)
def test_the_core_skills_of_a_role_are_within_the_budget(role):
    registry, problems = ROLES[role].skills_of_role()
    assert problems == []
    budget = SkillLoader(registry).token_budget()
    assert 0 < budget.used <= budget.limit


@pytest.mark.parametrize("command", DONE, ids=lambda each: f"{each.agent}:{each.name}")
def test_a_command_that_can_be_carried_out_names_a_skill_that_takes_its_arguments(command):
    agent = command.agent if command.agent in ROLES else command.stand_in
    skill = ROLES[agent].skills_of_role()[0].get(command.skill)
    kinds = {"flag": "boolean", "integer": "integer"}
    known = {parameter.name: parameter for parameter in skill.parameters}
    for parameter in (*command.arguments, *command.options):
        assert known[parameter.name].schema.get("type", "string") == kinds.get(parameter.kind, "string")
        assert parameter.required or not known[parameter.name].required


@pytest.mark.parametrize("role", ROLES)
def test_the_skill_that_says_how_things_stand_only_looks_and_needs_no_argument(role):
    agent = ROLES[role]
    if not agent.answers_with:
        return
    skill = agent.skills_of_role()[0].get(agent.answers_with)
    assert skill.only_looks
    assert not any(parameter.required for parameter in skill.parameters)


def test_the_voices_of_a_session_are_its_agents_that_can_be_spoken_to(tmp_path):
    found = voices(Settings(home=tmp_path))
    assert {role: voice.named for role, voice in found.items()} == {
        "academic": False,
        "architect": False,
        "archivalist": False,
        "engineer": True,
        "inspector": False,
        "orchestrator": False,
        "tester": False,
    }
