"""What a model has written into a file."""

from __future__ import annotations

import pytest

from sylk_ray.thinking.written import broken, numbered, without_numbers


@pytest.mark.parametrize("text", ["a\n\n  b\n", "a", "a\n", "\n\n"])
def test_numbers_are_taken_off_as_they_were_put_on(text):
    shown = [numbered(number, line) for number, line in enumerate(text.splitlines(), 98)]
    assert without_numbers("\n".join(shown)) == text.removesuffix("\n")
    assert without_numbers("\n".join(line.rstrip() for line in shown)) == text.removesuffix("\n")


@pytest.mark.parametrize("text", ["", "\n", "1\n2\n3\n", "1 a\n2 b\n", "    1 a\n    3 b\n", "    1 a\nb\n", "   x\n"])
def test_what_is_not_numbered_throughout_stays(text):
    assert without_numbers(text) == text


@pytest.mark.parametrize("path", ["a.py", "a.json", "a.toml", "a.txt"])
def test_what_is_empty_or_not_looked_at_is_not_broken(path):
    assert broken(path, "") == ""
    assert broken("a.txt", "{ (") == ""
    assert broken("a.py", "x = '\\d'\n") == ""
