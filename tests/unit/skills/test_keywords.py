"""What a text mentions."""

from __future__ import annotations

import pytest

from sylk_ray.skills.keywords import KeywordIndex


@pytest.mark.parametrize(
    ("keyword", "text", "found"),
    [
        ("import", "what does it Import?", True),
        ("import", "that is important", False),
        ("what changed", "tell me WHAT  changed today", True),
        ("what changed", "what has changed", False),
        ("@to", '@to:architect "plan"', True),
        ("@to", "mail me@to.org", False),
        ("/", "/plan it", True),
        ("/", "look at src/auth", False),
        ("c++", "a C++ file", True),
        ("analyze_imports", "run analyze_imports now", True),
        ("straße", "STRASSE", True),
        (" ", "anything", False),
    ],
)
def test_keywords_are_found_whole_and_in_any_case(keyword, text, found):
    index = KeywordIndex()
    index.add(keyword, "it")
    assert index.matches(text) == (["it"] if found else [])


def test_the_skill_with_the_most_keywords_in_the_text_comes_first():
    index = KeywordIndex()
    for keyword, name in [("test", "a"), ("run", "b"), ("test", "b"), ("test", "c")]:
        index.add(keyword, name)
    assert index.matches("run the test, and test again") == ["b", "a", "c"]
