from __future__ import annotations

import msgspec
import pytest

import sylk_ray.fairness
from sylk_ray.errors import InputError
from sylk_ray.fairness import Capacity, Group, InvalidCapacity, InvalidGroup, InvalidRequest, Request


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("weight", 0),
        ("weight", -1),
        ("weight", float("nan")),
        ("weight", float("inf")),
        ("max_pipelines", 0),
        ("max_engineers", -2),
        ("cpu_slots", 0),
        ("tokens_per_minute", 0),
        ("memory_mb", -1),
        ("token_budget", -1),
    ],
)
def test_a_group_that_makes_no_sense_is_refused_by_the_name_of_its_field(field: str, value: float):
    with pytest.raises(InvalidGroup, match=field) as raised:
        Group(**{field: value})
    assert isinstance(raised.value, InputError)
    assert raised.value.hint


def test_a_group_from_json_is_checked_too():
    with pytest.raises(InvalidGroup, match="weight"):
        msgspec.json.decode(b'{"weight": 0}', type=Group)


def test_a_groups_limits_are_of_resources():
    group = Group(max_pipelines=4, max_engineers=8, cpu_slots=0.5, memory_mb=2_000)
    assert group.limits() == {"pipelines": 4, "engineers": 8, "cpu": 0.5, "memory": 2_000}
    assert Group().limits() == {}


def test_a_capacity_below_zero_is_refused():
    with pytest.raises(InvalidCapacity, match="cpu"):
        Capacity({"cpu": -1})


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("demand", lambda: Request("a/1", "a", {"cpu": -1})),
        ("tokens", lambda: Request("a/1", "a", {}, tokens={"fast": float("inf")})),
        ("tokens:fast", lambda: Request("a/1", "a", {"tokens:fast": 1})),
        ("lacks a name", lambda: Request("", "a", {})),
        ("at nan", lambda: Request("a/1", "a", {}, at=float("nan"))),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(words: str, made):
    with pytest.raises(InvalidRequest, match=words):
        made()


def test_the_exported_names():
    assert set(sylk_ray.fairness.__all__) == {
        "AGE_S", "HISTOGRAM_BOUNDS_S", "LEASE_S", "Capacity", "Decision", "FairShare", "Granted", "Group",
        "InvalidCapacity", "InvalidGroup", "InvalidRequest", "Lane", "LeaseView", "Refused", "Request", "Returned",
        "SessionView", "Snapshot", "TokenLedger", "Totals", "WaitStatistics",
    }  # fmt: skip
