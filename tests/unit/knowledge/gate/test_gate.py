"""What the gate refuses, what it lets through, and what it counts."""

from __future__ import annotations

import numpy as np
import pytest

from sylk_ray.knowledge.gate import MAYBE, Counts, Gate, No, Publisher, Reader, document_keys, facets_of
from sylk_ray.knowledge.vectors import Equals, Within
from sylk_ray.runtime.clock import ManualClock


def publisher(*texts: str, clock=None) -> Publisher:
    made = Publisher(np.empty(0, dtype=np.uint64), clock=clock or ManualClock().now, owners_gone=True)
    for n, text in enumerate(texts):
        made.publish(document_keys(text), [(n + 1, facets_of("/r", {"path": f"src/{n}.py", "type": "file"}))])
    return made


@pytest.fixture
def gate() -> Gate:
    return Gate(
        {"code": publisher("def parse_config(path)", "class Mailbox"), "history": publisher("mailbox was full")}
    )


def test_what_no_document_has_a_word_of_is_refused_with_a_hint(gate):
    verdict = gate.check("code", "kubernetes operator")
    assert isinstance(verdict, No)
    assert "words" in verdict.reason
    assert verdict.hint


def test_a_quoted_name_that_there_is_not_is_refused(gate):
    verdict = gate.check("code", 'config in "parse_yaml"')
    assert isinstance(verdict, No)
    assert "quotes" in verdict.reason
    assert gate.check("code", 'config in "parse_config"') is MAYBE


def test_conditions_that_nothing_meets_are_refused(gate):
    verdict = gate.check("code", "config", Within("docs"))
    assert isinstance(verdict, No)
    assert "conditions" in verdict.reason
    assert gate.check("code", "config", Within("src")) is MAYBE
    assert isinstance(gate.check("code", "config", Equals("scope", "/other")), No)


@pytest.mark.parametrize("text", ["", "what is it", "!?"])
def test_a_query_that_says_nothing_is_let_through(gate, text):
    assert gate.check("code", text) is MAYBE


def test_a_domain_that_is_not_known_is_let_through(gate):
    assert gate.check("academic", "kubernetes") is MAYBE


def test_other_domains_with_all_of_the_words_are_told(gate):
    assert gate.also_exists_in("mailbox", "code") == ["history"]
    assert gate.also_exists_in("mailbox config", "code") == []
    assert gate.also_exists_in("mailbox", "history") == ["code"]
    assert gate.also_exists_in("what is it", "code") == []


def test_what_became_of_the_questions_is_counted(gate):
    gate.check("code", "mailbox")
    gate.check("code", "config")
    gate.check("code", "kubernetes")
    gate.found_nothing("code")
    assert gate.counts == {"code": Counts(noes=1, maybes=2, in_vain=1), "history": Counts()}


def test_its_size_is_that_of_the_snapshots(gate):
    assert set(gate.size()) == {"code", "history"}
    assert all(0 < size < 1000 for size in gate.size().values())


async def test_a_reader_refuses_only_while_it_holds_a_lease():
    clock = ManualClock()
    writer = publisher("class Mailbox", clock=clock.now)
    reader = Reader(clock=clock.now)
    gate = Gate({"code": reader})
    assert gate.check("code", "kubernetes") is MAYBE

    grant = writer.granted(reader.renew())
    assert reader.needs_snapshot(grant)
    reader.accept(grant, writer.snapshot)
    assert isinstance(gate.check("code", "kubernetes"), No)
    assert gate.check("code", "mailbox") is MAYBE

    await clock.advance(reader.terms.duration_s)
    assert gate.check("code", "kubernetes") is MAYBE
    assert gate.counts["code"] == Counts(noes=1, maybes=1, unknown=2)
