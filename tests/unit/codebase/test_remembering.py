"""What was done and found out, remembered beside the code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sylk_ray.codebase import requests as of
from sylk_ray.codebase.errors import NotIndexed
from sylk_ray.codebase.nothing import certainly_nothing
from sylk_ray.codebase.remembering import fused
from sylk_ray.codebase.service import CodeService
from sylk_ray.knowledge import KnowledgeBase
from sylk_ray.knowledge.vectors import Hit
from tests.unit.codebase.repository import write_repository

HERE, ELSEWHERE = "/work/shop", "/work/other"


@pytest.fixture
def base(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(tmp_path / "knowledge") as made:
        yield made


@pytest.fixture
def ask(base: KnowledgeBase) -> Any:
    return CodeService(base).handle


def memory(number: int, title: str, text: str, **more: Any) -> of.Memory:
    return of.Memory(
        **{
            "id": f"s-1#{number}",
            "domain": "history",
            "kind": "pattern",
            "title": title,
            "text": text,
            "session": "s-1",
            **more,
        }
    )


RETRY = memory(1, "retry uploads", "Uploads are tried again with a growing wait.", task="retry_uploads", at=12.5)
PRICES = memory(2, "prices in cents", "A price is a whole number of cents.", kind="decision")


def test_what_was_remembered_is_recalled_by_its_words_and_comes_back_whole(ask):
    assert ask(of.Remember(root=HERE, memories=[RETRY, PRICES])).changed == 2
    found = ask(of.Recall(query="how did we retry an upload?", root=HERE))
    assert (found.status, found.memories) == ("found", [RETRY])


def test_what_has_no_word_of_the_question_is_not_told_however_near_it_is(ask):
    ask(of.Remember(root=HERE, memories=[RETRY, PRICES]))
    found = ask(of.Recall(query="kubernetes ingress", root=HERE))
    assert (found.status, found.memories) == ("no_matches", [])
    assert found.hint


def test_all_of_the_words_count_more_than_one_of_them_that_means_a_little_more():
    by_words = [Hit(1, 12.0), Hit(2, 3.0), Hit(3, 2.9)]
    assert fused(by_words, [Hit(2, 0.42), Hit(9, 0.41), Hit(1, 0.40), Hit(3, 0.1)], 20.0) == [1, 2, 3]
    assert fused(by_words, [Hit(2, 0.95), Hit(1, -0.1), Hit(3, 0.1)], 20.0) == [2, 1, 3]


def test_what_is_not_among_the_nearest_is_as_near_as_the_last_of_them():
    by_words = [Hit(1, 4.0), Hit(2, 3.9)]
    assert fused(by_words, [Hit(8, 0.6), Hit(2, 0.55)], 20.0) == [1, 2]
    assert fused(by_words, [Hit(2, 0.6), Hit(8, 0.5)], 20.0) == [2, 1]
    assert fused(by_words, [], 20.0) == [1, 2]
    assert fused([], [Hit(1, 0.5)], 0.0) == []


def test_a_word_that_all_have_does_not_come_before_what_is_meant(ask):
    common = [memory(number, f"task {word}", f"task {word}") for number, word in enumerate(["list", "ids", "tags"])]
    meant = memory(9, "", "A login checks the user's password and credentials before a task of theirs is begun.")
    ask(of.Remember(root=HERE, memories=[*common, meant]))
    found = ask(of.Recall(query="authentication of a task", root=HERE, k=1))
    assert [each.id for each in found.memories] == [meant.id]


def test_a_name_in_backquotes_need_not_be_there_and_one_in_quotes_must(ask):
    ask(of.Remember(root=HERE, memories=[RETRY]))
    assert ask(of.Recall(query="why are uploads in `RetryUploader` tried again?", root=HERE)).memories == [RETRY]
    assert ask(of.Recall(query='why are uploads in "RetryUploader" tried again?', root=HERE)).memories == []


def test_the_same_again_takes_its_place_and_is_no_news(ask):
    ask(of.Remember(root=HERE, memories=[RETRY]))
    assert ask(of.Remember(root=HERE, memories=[RETRY])).changed == 0
    said = memory(1, "retry uploads", "Uploads are given up at once.")
    assert ask(of.Remember(root=HERE, memories=[said])).changed == 1
    assert [each.text for each in ask(of.Recall(query="uploads", root=HERE)).memories] == [said.text]


def test_a_codebase_knows_nothing_of_anothers(ask):
    ask(of.Remember(root=ELSEWHERE, memories=[RETRY]))
    assert ask(of.Recall(query="retry uploads", root=HERE)).memories == []


def test_a_session_a_kind_and_a_domain_can_be_asked_for_alone(ask):
    other = memory(3, "retry downloads", "Downloads are tried again.", session="s-2", kind="failure")
    paper = memory(4, "retry", "Wait longer each time, with jitter.", domain="academic", kind="concept")
    ask(of.Remember(root=HERE, memories=[RETRY, other, paper]))

    def ids(**asked: Any) -> list[str]:
        return [each.id for each in ask(of.Recall(query="retry", root=HERE, **asked)).memories]

    assert sorted(ids()) == [RETRY.id, other.id]
    assert ids(session="s-2") == [other.id]
    assert ids(kinds=["pattern"]) == [RETRY.id]
    assert ids(domain="academic") == [paper.id]
    assert ids(k=1) == ids()[:1]


def test_how_far_histories_were_read_is_noted_with_what_was_read(ask):
    assert ask(of.ReadThrough(root=HERE)).through == {}
    ask(of.Remember(root=HERE, memories=[RETRY], through={"s-1": 40}))
    ask(of.Remember(root=HERE, memories=[], through={"s-1": 55, "s-2": 3}))
    assert ask(of.ReadThrough(root=HERE)).through == {"s-1": 55, "s-2": 3}
    assert ask(of.ReadThrough(root=ELSEWHERE)).through == {}


def test_forgetting_a_codebase_forgets_what_was_done_in_it_and_how_far_that_was_read(ask, tmp_path):
    root = str(write_repository(tmp_path / "jar"))
    ask(of.Index(root=root))
    ask(of.Remember(root=root, memories=[RETRY], through={"s-1": 40}))
    ask(of.Forget(root=root))
    ask(of.Remember(root=HERE, memories=[RETRY], through={"s-1": 40}))
    assert ask(of.Forget(root=HERE)).nodes == 1  # it was never indexed
    with pytest.raises(NotIndexed):
        ask(of.Forget(root=HERE))
    assert ask(of.Recall(query="retry uploads", root=root)).memories == []
    assert ask(of.ReadThrough(root=root)).through == {}


def test_the_gate_alone_answers_for_what_is_certainly_not_there(ask, base):
    ask(of.Remember(root=HERE, memories=[RETRY]))
    ask(of.Remember(root=ELSEWHERE, memories=[memory(9, "ingress", "The ingress of kubernetes.")]))
    gate, searched = base.guards.gate, base.search.searched
    nothing = certainly_nothing(gate, of.Recall(query="grpc streaming", root=HERE))
    assert nothing is not None
    assert nothing.status == "no_matches"
    assert certainly_nothing(gate, of.Recall(query="retry streaming", root=HERE)) is None
    assert certainly_nothing(gate, of.Recall(query="retry", root="/nowhere")) is not None
    assert base.search.searched == searched


def test_a_preflight_tells_of_each_domain_and_what_to_make_of_it(ask, tmp_path):
    root = str(write_repository(tmp_path / "jar"))
    ask(of.Index(root=root))
    paper = memory(4, "retry", "Retry an upload with jitter.", domain="academic", kind="concept")
    ask(of.Remember(root=root, memories=[RETRY, paper]))
    told = ask(of.Preflight(topic="retry uploads", root=root))
    assert {name: each.exists for name, each in told.domains.items()} == {
        "code": False,
        "history": True,
        "academic": True,
    }
    assert "This is greenfield work (no existing code)" in told.planning_hints
    assert told.planning_hints[-1] == "Suggested: Archivalist -> Academic -> Engineer"
    told = ask(of.Preflight(topic="cookie jar", root=root))
    assert [name for name, each in told.domains.items() if each.exists] == ["code"]
    assert told.planning_hints[-1] == "Suggested: Librarian -> Engineer"


def test_a_preflight_of_a_codebase_that_nobody_knows_says_so(ask):
    ask(of.Remember(root=ELSEWHERE, memories=[RETRY]))
    told = ask(of.Preflight(topic="retry uploads", root=HERE))
    assert not any(each.exists for each in told.domains.values())
    assert told.planning_hints == ["Whether there is code for it is not known: look", "Suggested: Engineer"]


@pytest.mark.parametrize(
    ("topic", "exists"),
    [
        ("retry upload", True),
        ("retry logic for uploads", True),
        ("add retry upload", True),
        ("retry invoice", False),
        ("compute invoice", False),
        ("retry", True),
        ("the", False),
    ],
)
def test_most_words_of_a_topic_make_it_known(ask, tmp_path, topic, exists):
    for name, line in (("shop", "def retry_upload(): ..."), ("far", "def compute_invoice(): ...")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(f"{line}\n")
        ask(of.Index(root=str(tmp_path / name)))
    told = ask(of.Preflight(topic=topic, root=str(tmp_path / "shop")))
    assert told.domains["code"].exists is exists
