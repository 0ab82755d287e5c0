"""Every message says who says it to whom, and that agrees with who understands it."""

from __future__ import annotations

import pytest

from sylk_ray.cli.message_table import MODULES, message_table
from sylk_ray.fairness import Lane
from sylk_ray.messaging import Message, Request, said_by
from sylk_ray.messaging.flow import ANY
from sylk_ray.runtime import Roles

from .examples import our_messages

ROLES = Roles.installed()
MESSAGES = our_messages()
PSEUDO = {"host", ANY}
PLANNED = {"architect"}
"""Roles that messages which are ahead name, and that nobody plays yet."""
OF_THE_SPECIFICATION = (
    *("DAG_EXECUTE", "DAG_STATUS", "DAG_CANCEL", "TASK_DISPATCH", "TASK_COMPLETE", "TASK_FAILED", "TASK_HELP"),
    *("CLARIFICATION_REQUEST", "CLARIFICATION_RESPONSE", "VALIDATE_TASK", "VALIDATION_RESULT", "VALIDATION_FULL"),
    *("VALIDATION_CORRECTIONS", "TEST_PLAN_REQUEST", "TEST_PLAN_RESPONSE", "TEST_DAG_REQUEST", "TESTS_READY"),
    *("TEST_RESULTS", "TEST_CORRECTIONS", "USER_OVERRIDE", "USER_INTERRUPT", "WORKFLOW_COMPLETE"),
    *("USER_TASK_PROMPT", "USER_TASK_QUERY", "USER_TASK_INTERRUPT", "USER_IGNORE_INSPECTOR", "USER_IGNORE_TESTER"),
    *("USER_TRIGGER_HANDOFF", "USER_STOP_HANDOFF"),
    *("INSPECTOR_FEEDBACK", "TESTER_FEEDBACK", "PIPELINE_COMPLETE", "PIPELINE_FAILED"),
    *("HANDOFF_REQUEST", "CREATE_PIPELINE_WITH_STATE", "HANDOFF_COMPLETE", "HANDOFF_FAILED"),
)


def played(roles: frozenset[str]) -> set[str]:
    """The roles in the entry points that these names stand for."""
    return {"gateway" if role == "user" else role for role in roles}


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kind)
def test_every_message_has_a_flow_between_roles_that_there_are(message):
    assert message.flow is not None
    known = {*ROLES.names(), *PSEUDO, *(PLANNED if message.ahead else ())}
    assert played(message.flow.senders | message.flow.receivers) <= known
    assert isinstance(message.priority, Lane)


@pytest.mark.parametrize("role", sorted(ROLES.names()))
def test_what_a_role_understands_may_be_said_to_it(role):
    for message in ROLES.agent_class(role).handlers:
        assert message.flow is not None
        assert played(message.flow.receivers) & {role, ANY}, f"{message.kind} is not for {role}"


@pytest.mark.parametrize(
    "message", [each for each in MESSAGES if not each.ahead and each.flow], ids=lambda message: message.kind
)
def test_who_may_hear_a_message_understands_it(message):
    for role in played(message.flow.receivers) - {ANY}:
        assert message in ROLES.agent_class(role).handlers, f"{role} has no handler for {message.kind}"


@pytest.mark.parametrize("message", [each for each in MESSAGES if each.ahead], ids=lambda message: message.kind)
def test_a_message_is_ahead_only_until_somebody_understands_it(message):
    known = played(message.flow.receivers) & set(ROLES.names())
    assert not any(message in ROLES.agent_class(role).handlers for role in known)


@pytest.mark.parametrize("name", OF_THE_SPECIFICATION)
def test_what_the_specification_names_has_a_message(name):
    assert any(name in message.spec for message in MESSAGES)


def test_the_table_has_every_message():
    assert [line.name for line in sorted(message_table(), key=lambda line: line.name)] == [m.kind for m in MESSAGES]
    assert all(message.__module__.startswith(MODULES) for message in MESSAGES)


def test_a_flow_is_of_roles_and_the_operator_may_say_anything():
    flow = said_by("inspector", "user", to=("engineer", "guide"))
    assert flow.allows("inspector", "engineer")
    assert flow.allows("gateway", "guide")
    assert flow.allows("operator", "guide")
    assert not flow.allows("operator", "tester")
    assert not flow.allows("tester", "engineer")
    assert not flow.allows("inspector", "tester")
    assert said_by("any", to="any").allows("reviewer", "critic")
    assert str(flow) == "inspector, user to engineer, guide"


def test_what_is_declared_of_a_message_cannot_be_a_field_of_it():
    with pytest.raises(TypeError, match="priority"):

        class Urgent(Message, frozen=True):
            priority: str


def test_a_flow_may_be_declared_with_its_type_too():
    class Typed(Request[None], frozen=True):
        flow = said_by("any", to="any")

    assert Typed().flow is Typed.flow
