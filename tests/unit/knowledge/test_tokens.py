"""Identifiers of many texts at once."""

from __future__ import annotations

import re
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sylk_ray.knowledge import tokens
from sylk_ray.knowledge.gate import document_keys
from sylk_ray.knowledge.lexical import K1, TYPICAL_LENGTH, B, document_vectors
from sylk_ray.knowledge.tokens import Expansion, Known, batches, tokens_of
from sylk_ray.knowledge.words import identifiers, name_number, word_number, words

TEXTS = st.lists(st.text(max_size=120), max_size=8)


def spelled(texts: list[str]) -> list[list[str]]:
    found = tokens_of(texts)
    every = [found.known.spelled[number] for number in found.numbers.tolist()]
    return [every[start:end] for start, end in zip(found.starts, found.starts[1:], strict=False)]


def numbered(identifier: str) -> list[int]:
    """n17 is 17; the identifiers of other tests are known as well."""
    return [int(identifier[1:])] if re.fullmatch(r"n\d{1,9}", identifier) else []


@given(TEXTS)
@example([])
@example(["", " ", "a", ""])
@example(["日本語 parse\uff28TTP_x", "plain"])
@example(["plain\n\u0301x é—y\r\n\u2028z\nplain"])
def test_they_are_those_of_each_text_in_order(texts: list[str]) -> None:
    assert spelled(texts) == [identifiers(text) for text in texts]


@pytest.mark.parametrize("length", [1, 7, 8, 9, 15, 16, 17, 64, 255, 256, 257, 300])
def test_identifiers_are_told_apart_by_every_byte(length: int) -> None:
    one = "x" * length
    others = [f"{one[:at]}y{one[at + 1 :]}" for at in range(length)] + [one + "x", one[1:]]
    text = " ".join([one, *filter(None, others), one])
    assert spelled([text]) == [text.split()]


def test_a_table_that_has_grown_still_knows_all() -> None:
    many = [f"name{number}" for number in range(3 * tokens._SLOTS // tokens._LOAD)]
    assert spelled([" ".join(many), " ".join(many[::-1])]) == [many, many[::-1]]


def test_identifiers_that_share_a_place_in_the_table_are_told_apart() -> None:
    known = Known()
    crowded = np.asarray([5, 3, 4, 3, 5], np.uint64) << np.uint64(1)
    assert known.numbers_of(crowded, "abcde".__getitem__).tolist() == [2, 0, 1, 0, 2]
    assert known.spelled == ["b", "c", "a"]
    assert known.numbers_of(np.asarray([8, 6, 14], np.uint64), "xyz".__getitem__).tolist() == [1, 0, 3]


def test_what_an_identifier_stands_for_is_asked_once_and_only_for_those_that_are_wanted() -> None:
    asked: list[str] = []

    def meant(identifier: str) -> list[int]:
        asked.append(identifier)
        return [len(identifier)] * (identifier != "none")

    expansion = Expansion(meant)
    for _ in range(2):
        spread = expansion.of(tokens_of(["once upon none", "", "none upon"]))
        assert (spread.values.tolist(), spread.starts.tolist()) == ([4, 4, 4], [0, 2, 2, 3])
    assert sorted(asked) == ["none", "once", "upon"]
    assert expansion.all_of(tokens_of(["none upon"])) == {4}


class Stopped(Exception):
    pass


def test_who_is_stopped_while_names_are_learned_leaves_no_wrong_numbers() -> None:
    known, hashes = Known(), np.asarray([1, 2, 3], np.uint64)

    def spell(at: int) -> str:
        if at == 1:
            raise Stopped
        return "wrong"

    with pytest.raises(Stopped):
        known.numbers_of(hashes, spell)
    found = known.numbers_of(hashes[::-1], "cba".__getitem__)
    assert [known.spelled[number] for number in found] == ["c", "b", "a"]


@pytest.mark.parametrize("wrong", [Stopped(), 1 << 64])
def test_who_is_stopped_while_meanings_are_learned_leaves_no_wrong_ones(wrong: Stopped | int) -> None:
    once = [wrong]

    def meant(identifier: str) -> list[int]:
        if identifier == "n2" and once:
            if isinstance(problem := once.pop(), int):
                return [problem]
            raise problem
        return numbered(identifier)

    expansion = Expansion(meant)
    with pytest.raises((Stopped, OverflowError)):
        expansion.of(tokens_of(["n1 n2 n3"]))
    assert expansion.of(tokens_of(["n3 n2 n1"])).values.tolist() == [3, 2, 1]


def test_tables_grow_with_what_they_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_SLOTS", 8)
    monkeypatch.setattr(tokens, "_shared", Known())
    expansion = Expansion(lambda identifier: [*numbered(identifier)] * 3)
    for last in (1, 3, 50, 51, 400):
        numbers = [*range(last, 0, -1)]
        found = expansion.of(tokens_of([" ".join(f"n{number}" for number in numbers)]))
        assert found.values.reshape(-1, 3)[:, 0].tolist() == numbers


def test_texts_are_looked_at_together_up_to_a_number_and_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "TOGETHER", 3)
    monkeypatch.setattr(tokens, "CHARACTERS", 10)
    texts = ["", "a" * 9, "b", "c", "d" * 50, "e", "", "", "f"]
    assert [texts[each] for each in batches(texts)] == [["", "a" * 9, "b"], ["c"], ["d" * 50], ["e", "", ""], ["f"]]
    assert list(batches([])) == []


def test_when_too_many_are_known_it_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    expansion = Expansion(numbered)
    before = tokens_of(["n1 n2"])
    monkeypatch.setattr(tokens, "REMEMBERED", 0)
    after = tokens_of(["n3 n1"])
    assert after.known is not before.known
    for each, values in ((after, [3, 1]), (before, [1, 2]), (after, [3, 1])):
        assert expansion.of(each).values.tolist() == values


def test_threads_may_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "REMEMBERED", 2_000)
    expansion = Expansion(numbered)
    right: list[int] = []

    def work(first: int) -> None:
        for start in range(first, first + 4_000, 100):
            numbers = range(start, start + 300)
            if expansion.of(tokens_of([" ".join(f"n{number}" for number in numbers)])).values.tolist() == [*numbers]:
                right.append(start)

    threads = [threading.Thread(target=work, args=(1_000 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(right) == 4 * 40


@given(TEXTS)
def test_documents_are_found_by_each_of_their_words_and_no_other(texts: list[str]) -> None:
    for text, vector in zip(texts, document_vectors(tokens_of(texts)), strict=True):
        counted = Counter[int]()
        for word, times in words(text).items():
            counted[word_number(word) & 0xFFFFFFFF] += times
        norm = K1 * (1 - B + B * sum(counted.values()) / TYPICAL_LENGTH)
        assert vector.indices.tolist() == sorted(counted)
        expected = [times * (K1 + 1) / (times + norm) for _, times in sorted(counted.items())]
        assert vector.values.tolist() == np.asarray(expected, np.float32).tolist()


@given(TEXTS)
def test_the_keys_are_the_numbers_of_words_and_of_identifiers(texts: list[str]) -> None:
    of_words = {word_number(word) for text in texts for word in words(text)}
    assert document_keys(*texts) == of_words | {name_number(each) for text in texts for each in identifiers(text)}
