"""``sylk messages``: without a runtime, for people and for programs."""

from __future__ import annotations

import json

import pytest

from sylk_ray.cli.message_table import message_table, type_name
from sylk_ray.messaging import Address


def test_all_messages_are_listed_by_who_hears_them(sylk):
    code, output, errors = sylk("messages", "--json")
    assert (code, errors) == (0, "")
    table = json.loads(output)["messages"]
    receivers = [", ".join(each["receivers"]) for each in table]
    assert receivers == sorted(receivers)
    (run,) = [each for each in table if each["name"] == "RunJob"]
    assert (run["spec"], run["senders"], run["delivery"]) == (["DAG_EXECUTE"], ["guide"], "asked")


def test_a_person_sees_a_table(sylk):
    code, output, _ = sylk("messages")
    assert code == 0
    line = next(line for line in output.splitlines() if " StartPipeline " in line)
    for word in ("pipeline", "orchestrator", "kept", "TASK_DISPATCH", "Do the task"):
        assert word in line


@pytest.mark.parametrize("name", ["CancelJob", "VALIDATE_TASK"])
def test_one_message_is_shown_with_its_fields_by_either_name(sylk, name):
    code, output, _ = sylk("messages", name)
    assert code == 0
    shown = {"CancelJob": "  reason: str = 'a person cancelled it'", "VALIDATE_TASK": "  files: list[str] = []"}
    assert shown[name] in output.splitlines()


def test_one_message_is_shown_to_a_program(sylk):
    code, output, _ = sylk("messages", "StopPipeline", "--json")
    assert code == 0
    told = json.loads(output)
    assert [each["name"] for each in told["fields"]] == ["attempt", "reason"]
    assert (told["priority"], told["delivery"], told["ahead"]) == ("high", "kept", False)


def test_an_unknown_message_ends_with_2_and_the_nearest_name(sylk):
    code, output, errors = sylk("messages", "start-pipelin")
    assert (code, output) == (2, "")
    assert 'did you mean "StartPipeline"?' in errors


def test_what_is_kept_is_told_from_what_passes():
    deliveries = {line.name: line.delivery for line in message_table()}
    assert [deliveries[name] for name in ("MergeWork", "HaltNow")] == ["kept", "kept"]
    assert [deliveries[name] for name in ("SlotWait", "Tick", "Holding", "JobProgress")] == ["passing"] * 4
    assert deliveries["StopWork"] == "asked"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (int, "int"),
        (None, "None"),
        (list[Address], "list[Address]"),
        (dict[str, tuple[float, ...]], "dict[str, tuple[float, ...]]"),
        (str | None, "str | None"),
    ],
)
def test_types_are_named_as_they_are_written(kind, name):
    assert type_name(kind) == name
