"""Files cut into chunks."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from sylk_ray.codebase.chunks import LONGEST, Chunk, cut
from sylk_ray.codebase.reading import read

SOURCE = '''"""Doc."""

import os

LIMIT = 3


class Outer:
    """A type."""

    field = 1

    def method(self):
        return self.field

    def other(self):
        return LIMIT


print(os.name)
'''


def _cut(text: str, path: str = "a.py") -> list[Chunk]:
    return cut(read(path, text), text)


def test_a_definition_is_a_chunk_without_those_within_it() -> None:
    chunks = {chunk.title: chunk for chunk in _cut(SOURCE)}
    assert (chunks["Outer.method"].start_line, chunks["Outer.method"].end_line) == (13, 14)
    assert chunks["Outer.method"].text == "    def method(self):\n        return self.field"
    outer = chunks["Outer"]
    assert (outer.start_line, outer.end_line) == (8, 17)
    assert "A type." in outer.text
    assert "return" not in outer.text


def test_what_lies_between_definitions_is_found_too() -> None:
    between = [chunk.text for chunk in _cut(SOURCE) if chunk.symbol is None]
    assert any("import os" in text and "LIMIT = 3" in text for text in between)
    assert any("print(os.name)" in text for text in between)


def test_a_long_definition_goes_on_in_further_chunks() -> None:
    text = "def long():\n" + "".join(f"    step_{number}()\n" for number in range(150))
    chunks = _cut(text)
    assert [chunk.first for chunk in chunks] == [True, False, False]
    assert [(chunk.start_line, chunk.end_line) for chunk in chunks] == [(1, 60), (61, 120), (121, 151)]
    assert all(len(chunk.text.split("\n")) <= LONGEST for chunk in chunks)


def test_a_document_is_cut_at_its_headings() -> None:
    text = "# Top\n\nOne.\n\n## Below\n\nTwo.\n"
    assert [(chunk.title, chunk.start_line) for chunk in _cut(text, "a.md")] == [("Top", 1), ("Top > Below", 5)]


_LINES = st.lists(
    st.sampled_from(
        [
            "def f():",
            "class C:",
            "    def g(self):",
            "        return x1",
            "    y2 = 3",
            "",
            "z4 = {",
            "}",
            "# w5",
            "import q6",
        ]
    ),
    max_size=90,
)


@settings(max_examples=200, deadline=None)
@given(_LINES)
def test_every_line_with_a_word_is_in_one_chunk_and_only_one(lines: list[str]) -> None:
    numbered = [f"{line}  # n{number}" if line else line for number, line in enumerate(lines)]
    text = "\n".join(numbered)
    found = [mark for chunk in _cut(text) for mark in re.findall(r"# n\d+", chunk.text)]
    assert sorted(found) == sorted(re.findall(r"# n\d+", text))
