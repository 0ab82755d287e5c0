"""What a model has written into a file."""

from __future__ import annotations

import pytest

from sylk_ray.thinking.written import broken, doubled, numbered, without_numbers


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


def test_what_is_plainly_defined_twice_is_found_with_its_last_two_lines():
    text = "def a():\n    pass\ndef b(): ...\nclass C:\n    def a(self): ...\n    async def a(self): ...\n"
    assert doubled("x.py", text) == {"C.a": (5, 6)}
    assert doubled("x.py", f"{text}def a(): ...\nclass a: ...\n") == {"a": (7, 8), "C.a": (5, 6)}


@pytest.mark.parametrize(
    "text",
    [
        "@overload\ndef a(x): ...\n@overload\ndef a(y): ...\ndef a(z): ...\n",
        "class C:\n    @property\n    def a(self): ...\n    @a.setter\n    def a(self, x): ...\n",
        "try:\n    def a(): ...\nexcept E:\n    def a(): ...\n",
        "def a(): ...\ndef a(:\n",
        "def a():\n    def b(): ...\n    def b(): ...\n",
        "",
    ],
)
def test_what_may_have_its_reason_is_not(text):
    assert doubled("x.py", text) == {}
    assert doubled("x.txt", "def a(): ...\ndef a(): ...\n") == {}
