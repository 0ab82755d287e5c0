"""What is broken, odd or far too long is read around, and nothing makes reading raise."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sylk_ray.codebase.languages import GRAMMARS, LANGUAGES
from sylk_ray.codebase.outline import Outline
from sylk_ray.codebase.reading import read
from sylk_ray.codebase.reading.conditions import first_branches


def names(outline: Outline) -> list[str]:
    return [each.qualified for each in outline.symbols]


@pytest.mark.parametrize(
    ("path", "text", "kept", "broken"),
    [
        ("a.py", "def a():\n    return 1\n\nclass (((:\n    x = \n\ndef c():\n    return a()\n", ["a", "c"], (4, 5)),
        (
            "a.go",
            "package a\n\nfunc A() int { return 1 }\n\nfunc B() { x := ) }\n\nfunc C() { A() }\n",
            ["A", "C"],
            (5, 7),
        ),
        (
            "a.go",
            "package a\n\nfunc A() {}\n\nfunc B( {{{\n\nfunc C() { A() }\n\ntype D int\n",
            ["A", "C", "D"],
            (5, 6),
        ),
        (
            "a.ts",
            "export class A {\n  b() { return 1 }\n  c( { \n}\n\nexport function d() { return 2 }\n",
            ["d"],
            (1, 5),
        ),
        ("a.java", "class A {\n  void a() {}\n  void b( {\n  void c() {}\n}\n", ["A", "A.a"], (3, 4)),
    ],
)
def test_what_stands_around_a_mistake_is_read(path: str, text: str, kept: list[str], broken: tuple[int, int]) -> None:
    outline = read(path, text)
    assert set(kept) <= set(names(outline))
    assert outline.broken
    assert all(broken[0] <= first <= last <= broken[1] for first, last in outline.broken)


LIMITER = f"""
namespace db {{
class Limiter {{
  int left() {{
#if COUNTED
    if (most_ > 0) {{
#else
    if (left_ > 0) {{
#endif
      {"return 1;" * 3}
{chr(10) * 30}
    }}
    return 0;
  }}
}};
class Cache {{ int get(); }};
}}
"""


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.cc", LIMITER, ["db", "db.Limiter", "db.Limiter.left", "db.Cache", "db.Cache.get"]),
        (
            "a.cs",
            "class A\n{\n#if ONE\n  int F() {\n#else\n  int G() {\n#endif\n" + "\n" * 30 + "    return 1;\n  }\n}\n",
            ["A", "A.F"],
        ),
        (
            "a.c",
            "#if 0\nint gone(int a) {\n#else\nint f(int a) {\n#endif\n" + "\n" * 30 + "  return a;\n}\nint g(void);\n",
            ["f", "g"],
        ),
    ],
)
def test_where_branches_of_conditions_break_a_file_the_first_is_read(path: str, text: str, found: list[str]) -> None:
    outline = read(path, text)
    assert set(found) <= set(names(outline))
    assert "gone" not in names(outline)
    assert not outline.broken
    assert outline.symbols[-1].end_line <= outline.lines


def test_what_other_branches_hold_is_known_where_it_can_be() -> None:
    text = (
        "#ifdef _WIN32\n#include <windows.h>\nint here(void) { return 1; }\n#else\n#include <time.h>\n"
        "int there(void) {\n\n  return call(2); }\n#endif\n#ifdef A\nint f(int a) {\n#else\nint f(long a) {\n#endif\n"
        + "\n" * 30
        + "  return a;\n}\n"
    )
    outline = read("a.c", text)
    assert names(outline) == ["here", "there", "f"]
    assert [each.module for each in outline.imports] == ["windows.h", "time.h"]
    assert "call" in [each.name for each in outline.references]
    assert outline.symbols[-1].signature == "int f(int a)"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\n#if A\nb\n#elif B\nc\n#elif C\nd\n#else\ne\n#endif\nf", "abf"),
        ("#ifdef A\na\n# ifndef B\nb\n# else\nc\n# endif\nd\n#else\n#if C\ne\n#endif\nf\n#endif\ng", "abdg"),
        ("#if 0\na\n#else\nb\n#endif", "b"),
        ("#if 0 // never\na\n#elif 0\nb\n#elif C\nc\n#else\nd\n#endif", "c"),
        ("#if (0) /* never */\na\n#endif\nb", "b"),
        ("#if false\n#if A\na\n#else\nb\n#endif\n#else\nc\n#endif", "c"),
        ("#if A && \\\n B\na\n#else\nb\n#endif", "a"),
        ("/*\n#if 0\n*/\na\n", "/*#if0*/a"),
        ('b("\\\n#else");\n#endif\n#else\na', 'b("\\#else");a'),
        ("a\n#if 0\nb", "a"),
        ("#endif /* of\n it */\na", "/*ofit*/a"),
    ],
)
def test_the_first_branch_of_each_condition_is_kept_where_it_stands(text: str, kept: str) -> None:
    found = first_branches(text)
    assert "".join(found.split()) == kept
    assert [len(line) for line in found.split("\n")] == [len(line) for line in text.split("\n")]


def test_many_conditions_within_each_other_take_no_time() -> None:
    began = time.process_time()
    first_branches("}\n#if A\n" * 100_000)
    assert time.process_time() - began < 5


def test_lines_are_right_behind_a_byte_order_mark_carriage_returns_and_signs_of_several_bytes() -> None:
    outline = read(
        "a.py", '\ufeffdef a():\r\n    """Doc 😀.\r\n\r\n    More."""\r\n    return "é😀"\r\n\r\ndef b(): pass\r\n'
    )
    assert [(each.name, each.start_line, each.end_line) for each in outline.symbols] == [("a", 1, 5), ("b", 7, 7)]
    assert outline.symbols[0].doc == "Doc 😀.\n\nMore."
    assert outline.lines == 7


def test_documentation_without_an_end_in_sight_is_read_to_where_one_looks() -> None:
    said = "What \\alpha is.\n" + "    .. math:: \\alpha + \\beta\n" * 2_000
    outline = read("a.py", f'"""{said}"""\n\ndef a():\n    pass\n')
    assert outline.doc.startswith("What \\alpha is.\n")
    assert names(outline) == ["a"]


def test_a_quote_that_nothing_closes_opens_no_documentation() -> None:
    assert read("a.py", "'it is\n\ndef a():\n    return 1\n").doc == ""


@pytest.mark.parametrize("text", ["", "\n", " \n\n", "\ufeff"])
@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_an_empty_file_says_nothing(language: str, text: str) -> None:
    outline = read("a", text, language)
    assert (outline.symbols, outline.references, outline.parts) == ((), (), ())


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "x = " + "(" * 20_000 + ")" * 20_000),
        ("a.js", "f(" * 5_000 + ")" * 5_000),
        ("a.json", "[" * 50_000 + "]" * 50_000),
        ("a.cpp", "{" * 20_000),
        ("a.rs", "fn a() { " * 3_000),
    ],
)
def test_nesting_may_be_deeper_than_any_stack(path: str, text: str) -> None:
    assert read(path, text).lines == 1


def test_a_megabyte_is_read_whole() -> None:
    outline = read("a.py", "def f(a, b):\n    return g(a)\n\n" * 30_000)
    assert len(outline.symbols) == 30_000
    assert outline.symbols[-1].end_line == 89_999


def test_one_line_of_a_megabyte_is_read_as_text() -> None:
    assert read("a.js", "var a=1;" * 125_000).symbols == ()


def test_half_a_surrogate_pair_is_no_reason_to_fail() -> None:
    assert names(read("a.py", 'x = "\ud800"\n')) == ["x"]


_WORDS = r"""
def class fn func function ( ) { } [ ] < > : ; , . = => -> :: " ' ` # // /* */ -- @ $ \ é 😀 import from use require
include export const let var package module namespace impl trait interface struct enum end do if new public static void
int x Foo bar 1 <?php <<EOF --- ``` | & ! ?
"""
_PIECES = st.sampled_from([*_WORDS.split(), "\n", "\n\n", "\t"])
_TEXTS = st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=60).map(" ".join))


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(LANGUAGES), _TEXTS)
@example("cpp", "A,class")
def test_any_text_in_any_language_gives_an_outline_within_its_lines(language: str, text: str) -> None:
    outline = read("some/file", text, language)
    assert outline.language == language
    stretches = [(each.start_line, each.end_line) for each in (*outline.symbols, *outline.parts)]
    for first, last in (*stretches, *outline.broken):
        assert 1 <= first <= last <= max(outline.lines, 1)
    for line in (each.line for each in (*outline.references, *outline.imports)):
        assert 1 <= line <= max(outline.lines, 1)
    for symbol in outline.symbols:
        assert symbol.name
        assert len(symbol.signature) <= 300
        assert "\n" not in symbol.signature
