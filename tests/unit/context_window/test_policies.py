"""The spec's numbers, and what the settings may make of them."""

from __future__ import annotations

import pytest

from sylk_ray.context_window import POLICIES, ContextPolicy, InvalidPolicy, policy_of


@pytest.mark.parametrize(
    ("role", "checkpoints", "limit", "at_limit", "target"),
    [
        ("guide", (0.50, 0.75, 0.90), 0.95, "compact", 0.30),
        ("librarian", (0.25, 0.50), 0.75, "compact", 0.25),
        ("academic", (0.85,), 0.95, "compact", 0.30),
        ("architect", (0.85,), 0.95, "compact", 0.30),
        ("engineer", (), 0.95, "handoff", 0.30),
        ("inspector", (0.85,), 0.95, "compact", 0.30),
        ("tester", (0.85,), 0.95, "compact", 0.30),
        ("archivalist", (0.85,), 0.95, "compact", 0.30),
    ],
)
def test_each_role_has_the_numbers_of_the_spec(role, checkpoints, limit, at_limit, target):
    policy = policy_of(role)
    assert (policy.checkpoints, policy.limit, policy.at_limit, policy.target) == (checkpoints, limit, at_limit, target)
    assert policy.category.startswith(role)


def test_settings_override_single_fields_of_a_role():
    policy = policy_of("guide", {"guide": {"limit": 0.92, "checkpoints": [0.6]}, "tester": {"limit": 0.5}})
    assert policy == ContextPolicy(category="guide_checkpoint", checkpoints=(0.6,), limit=0.92)
    assert policy_of("academic", {"guide": {"limit": 0.92}}) is POLICIES["academic"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 1.1},
        {"limit": 0.5},
        {"limit": "high"},
        {"checkpoints": [0.9, 0.5]},
        {"checkpoints": [0.0]},
        {"target": 0.95},
        {"target": -0.1},
        {"handoff_attempts": 0},
        {"handoff_wait_s": -1},
        {"limt": 0.9},
        {"at_limit": "explode"},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_with_the_role(wrong):
    with pytest.raises(InvalidPolicy, match="guide") as refused:
        policy_of("guide", {"guide": wrong})
    assert refused.value.hint
