"""``sylk skills`` and ``sylk hooks``, which need no runtime."""

from __future__ import annotations

import json


def test_every_agents_skills_are_listed_with_tier_and_tokens(sylk):
    code, output, _ = sylk("skills", "--json")
    agents = json.loads(output)["agents"]
    assert code == 0
    assert set(agents) == {
        "academic",
        "architect",
        "archivalist",
        "engineer",
        "guide",
        "inspector",
        "orchestrator",
        "tester",
    }
    for skills in agents.values():
        assert all(each["tokens"] > 10 for each in skills)
        assert {each["tier"] for each in skills} <= {"core", "domain", "specialised"}


def test_one_agents_skills_are_shown_with_their_parameters(sylk):
    output = sylk("skills", "tester")[1]
    assert "run_tests" in output
    assert "path (optional): Only these tests" in output
    assert "write_file" not in output


def test_an_agent_that_there_is_not_is_wrong_input(sylk):
    code, _, errors = sylk("skills", "testr")
    assert code == 2
    assert 'did you mean "tester"?' in errors


def test_the_points_of_hooks_are_told_where_there_are_none(sylk):
    assert "pre_route" in sylk("hooks")[1]
    assert json.loads(sylk("hooks", "--json")[1])["hooks"] == []
