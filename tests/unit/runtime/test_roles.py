from __future__ import annotations

import pytest

from sylk_ray.messaging import Message, UnknownAddress
from sylk_ray.runtime import Agent, Context, Roles, handler


class Greeter(Agent[None]):
    role = "greeter"


def test_a_role_is_found_by_name_or_import_path():
    roles = Roles({"one": Greeter, "two": f"{__name__}:Greeter"})
    assert roles.agent_class("one") is Greeter
    assert roles.agent_class("two").__name__ == "Greeter"
    assert "one" in roles


def test_an_unknown_role_names_the_nearest():
    with pytest.raises(UnknownAddress) as failure:
        Roles({"engineer": Greeter}).agent_class("enginer")
    assert "engineer" in failure.value.hint


def test_a_broken_role_does_not_keep_the_others_from_loading_and_says_why():
    roles = Roles({"good": Greeter, "bad": "no.such.module:Thing"})
    assert roles.agent_class("good") is Greeter
    with pytest.raises(UnknownAddress, match=r"no\.such"):
        roles.agent_class("bad")


def test_the_installed_roles_are_those_of_the_entry_points():
    assert {"router", "guide", "orchestrator", "pipeline", "engineer", "inspector", "tester"} <= set(
        Roles.installed().names()
    )


def test_a_handler_of_the_wrong_shape_is_refused_when_its_class_is_made():
    with pytest.raises(TypeError, match="Message"):

        class Wrong(Agent[None]):
            @handler()
            async def hear(self, message: int, ctx: Context) -> None: ...


def test_two_messages_of_one_name_are_refused():
    class Unique(Message, frozen=True):
        pass

    namespace = {"__module__": "elsewhere", "__annotations__": {}}
    with pytest.raises(TypeError, match="Unique"):
        type(Message)("Unique", (Message,), namespace)


def test_every_role_that_is_installed_can_be_loaded_beside_all_others():
    roles = Roles.installed()
    assert {"guide", "orchestrator", "fair_share", "coordinator", "leases"} <= set(roles.names())
    assert roles._broken == {}
