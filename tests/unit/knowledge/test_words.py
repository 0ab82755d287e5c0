"""Words of code and prose, and their sparse vectors."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sylk_ray.knowledge.lexical import document_vector, query_vector
from sylk_ray.knowledge.words import (
    LONGEST,
    STOP_WORDS,
    asked_words,
    pieces,
    words,
    words_of,
)


@pytest.mark.parametrize(
    ("identifier", "found"),
    [
        ("parse", ("parse",)),
        ("parseHTTPRequest", ("parse", "http", "request")),
        ("snake_case_name", ("snake", "case", "name")),
        ("HTMLParser2", ("html", "parser", "2")),
        ("__init__", ("init",)),
        ("MAX_SIZE", ("max", "size")),
        ("größe", ("gr", "öß", "e")),
        ("日本語", ("日本語",)),
        ("_", ()),
        ("x" * (LONGEST + 1), ()),
        ("_".join(["word"] * 20), ("word",) * 20),
        ("word" + "Word" * 20, ("word",) * 21),
        ("_".join(["word"] * 52), ()),
        ("word_" + "x" * (LONGEST + 1), ()),
        # Data: in base64, hexadecimal and base32.
        ("TWFueSBoYW5kcyBtYWtlIGxpZ2h0IHdvcmsuIE1hbnkgaGFuZHMgbWFrZSBsaWdodCB3b3JrLg", ()),
        ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08a1", ()),
        ("JVQW46JANBQW4ZDTEBWWC23FEBWGSZ3IOQQHO33SNMXCATLBNZ4SA2DBNZSHGIDNMFVWKIDMNFTWQ5BAO5XXE2ZO", ()),
        ("key_jvqw46janbqw4zdtebwwc23febwgsz3ioqqho33snmxcatlbnz4sa2dbnzshgidnmfvwkidmnftwq5bao5xxe2zo", ()),
        ("xJVQW46JANBQW4ZDTEBWWC23FEBWGSZ3IOQQHO33SNMXCATLBNZ4SA2DBNZSHGIDNMFVWKIDMNFTWQ5BAO5XXE2ZO", ()),
        ("AAAAAgAAAAAAAAQAAAAAAAAAAAgAAAAAAAAAAAIAAAAAAAAAAAgAAAAAAAAAAAAIAAAAAA", ()),
        ("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzXabc", ()),
        ("sha_9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08a1", ()),
    ],
)
def test_an_identifier_has_its_pieces(identifier: str, found: tuple[str, ...]) -> None:
    assert pieces(identifier) == found


def test_an_identifier_is_a_word_itself_beside_its_parts() -> None:
    assert words_of("parseRequests") == ("parserequests", "pars", "request")
    assert words_of("__init__") == ("init",)


def test_of_a_writing_without_spaces_each_character_is_a_word() -> None:
    assert words_of("日本語") == ("日本語", "日", "本", "語")
    assert words_of("日") == ("日",)
    assert words_of("日" * (LONGEST + 1)) == ("日",) * (LONGEST + 1)
    assert set(asked_words("本")) <= words("日本語を").keys()


def test_what_unicode_writes_in_two_ways_is_one_word() -> None:
    assert words("\uff50\uff41rse") == words("parse")


@pytest.mark.parametrize(("one", "other"), [("parsing", "parse"), ("requests", "Request"), ("retries", "retry")])
def test_forms_of_a_word_meet(one: str, other: str) -> None:
    assert words_of(one) == words_of(other)


def test_a_question_is_asked_by_the_words_that_say_something() -> None:
    assert asked_words("how does the parser handle the requests?") == ["parser", "handl", "request"]
    assert asked_words("what is this") == ["what", "is", "this"]
    assert asked_words("doThis") == ["dothis"]
    assert asked_words("") == []


@pytest.mark.parametrize(
    "alphabet",
    [
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
        "abcdefghijklmnopqrstuvwxyz234567",
        "0123456789abcdef",
    ],
)
@pytest.mark.parametrize("before", ["", "key_", "Key"])
def test_hardly_any_data_is_taken_for_a_name(alphabet: str, before: str) -> None:
    order = random.Random(1)
    data = [before + "".join(order.choices(alphabet, k=order.randint(65, 200))) for _ in range(400)]
    assert sum(bool(pieces(each)) for each in data) <= 4


@given(st.text(max_size=200))
def test_what_a_text_says_finds_it(text: str) -> None:
    counted = words(text)
    document = set(document_vector(text).indices.tolist())
    assert (query_vector(text) is None) == (not counted)
    if (asked := query_vector(text)) is not None:
        assert set(asked.indices.tolist()) <= document
    assert set(asked_words(text)) <= counted.keys()


def test_a_word_weighs_more_the_oftener_it_is_said_and_the_shorter_the_text() -> None:
    def weight(text: str) -> float:
        vector = document_vector(text)
        number = query_vector("cache")
        assert number is not None
        return float(vector.values[list(vector.indices).index(number.indices[0])])

    assert weight("cache cache other") > weight("cache other")
    assert weight("cache other") > weight("cache " + "other " * 400)


def test_stop_words_are_words() -> None:
    assert all(word == word.lower() and word.isalpha() for word in STOP_WORDS)
