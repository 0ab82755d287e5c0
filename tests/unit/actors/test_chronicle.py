"""What of a history is worth remembering, and what it becomes."""

from __future__ import annotations

import msgspec
import pytest

from actors.chronicle import LONGEST, memories_of
from tests.unit.actors.test_consulting import event

RECORD = {"name": "shop", "branch": "sylk/shop", "tasks": {"a": {"state": "succeeded"}}, "error": None}


@pytest.mark.parametrize(
    ("kind", "data", "title", "text"),
    [
        ("plan.made", {"summary": "Retry", "text": "1. retry", "tasks": []}, "plan: Retry", "1. retry"),
        (
            "plan.changed",
            {"why": "it failed", "added": ["b"], "removed": [], "changed": ["a"]},
            "the plan was changed",
            "it failed\nadded b\nchanged a",
        ),
        (
            "person.decided",
            {"asked": "question", "decision": "answer", "text": "In cents."},
            "a person's answer to a question",
            "In cents.",
        ),
        (
            "engineer.helped",
            {"question": "Cents?", "answer": "Yes.", "by": "architect"},
            "retry uploads: a question answered",
            "Question: Cents?\nAnswer: Yes.",
        ),
        ("engineer.result", {"summary": "It is.", "unfinished": ["x"]}, "retry uploads: done", "It is.\nnot done: x"),
        ("task.merged", {"commit": "c", "files": ["a.py"]}, "retry uploads: merged", "Files: a.py"),
        ("pipeline.feedback", {"by": "tester", "text": "no"}, "retry uploads: sent back by the tester", "no"),
        ("tester.tests", {"summary": "All.", "command": "pytest"}, "retry uploads: tests", "All.\npytest"),
        ("task.state", {"state": "failed", "error": {"message": "no"}}, "retry uploads: failed", "no"),
        (
            "handoff.created",
            {"reason": "context_full", "remaining": ["docs"]},
            "retry uploads: handed over",
            "context_full\ndocs",
        ),
        (
            "job.finished",
            {"status": "succeeded", "record": RECORD},
            "job shop: succeeded",
            "branch sylk/shop\na: succeeded",
        ),
        ("context.checkpoint", {"role": "tester", "summary": "x"}, "retry uploads: what its tester knew", "x"),
        ("academic.researched", {"question": "How?", "told": "Wait."}, "How?", "How?\nWait."),
        ("archivalist.stored", {"memory": "decision", "title": "cents", "text": "Whole."}, "cents", "Whole."),
    ],
)
def test_what_happened_becomes_a_memory(kind, data, title, text):
    [found] = memories_of([msgspec.structs.replace(event(kind, **data), sequence=7)])
    assert (found.id, found.title, found.text) == ("s-old#7", title, text)
    assert (found.session, found.task, found.at) == ("s-old", "retry_uploads", 1_700_000_000.0)
    assert (found.domain == "academic") is (kind == "academic.researched")


@pytest.mark.parametrize(
    "nothing",
    [
        event("model.called", model="m"),
        event("task.state", state="running", error=None),
        event("person.decided", asked="plan", decision="approve", text=""),
        event("context.checkpoint", role="engineer", summary=""),
    ],
)
def test_what_tells_nothing_becomes_none(nothing):
    assert memories_of([nothing]) == []


def test_what_is_very_long_is_cut():
    [found] = memories_of([event("engineer.result", summary="x" * 10_000, unfinished=[])])
    assert len(found.text) == LONGEST
