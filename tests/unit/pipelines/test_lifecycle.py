from __future__ import annotations

import itertools

import pytest

from sylk_ray.pipelines import IllegalPhase, Lifecycle, Phase
from sylk_ray.pipelines.lifecycle import may_send_back, sent_back
from sylk_ray.sessions.records import IllegalSessionState, Loops, SessionRecord, SessionState

LEGAL = {
    ("created", "running"),
    ("running", "inspecting"),
    ("inspecting", "running"),
    ("inspecting", "testing"),
    ("testing", "running"),
    ("testing", "completed"),
    *((phase, "failed") for phase in ("created", "running", "inspecting", "testing")),
}


@pytest.mark.parametrize(("source", "target"), list(itertools.product(Phase, Phase)))
def test_only_the_phases_of_the_table_follow_each_other(source, target):
    life = Lifecycle()
    life.phase = source
    if (source.value, target.value) in LEGAL:
        life.move(target)
        assert life.phase is target
    else:
        with pytest.raises(IllegalPhase):
            life.move(target)


def test_work_is_sent_back_at_most_max_loops_times_by_each():
    loops = Loops()
    for _ in range(3):
        assert may_send_back(loops, "inspector", 3)
        loops = sent_back(loops, "inspector")
    assert not may_send_back(loops, "inspector", 3)
    assert may_send_back(loops, "tester", 3)
    assert loops == Loops(inspector=3)


def test_a_completed_session_stays_completed():
    session = SessionRecord("s-1", "demo", "/r", "sylk/demo", "abc").moved(SessionState.ACTIVE)
    with pytest.raises(IllegalSessionState, match="completed"):
        session.moved(SessionState.COMPLETED).moved(SessionState.ACTIVE)
