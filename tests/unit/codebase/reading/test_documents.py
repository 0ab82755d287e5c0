"""Documents by headings, configuration by keys, plain text by chunks."""

from __future__ import annotations

import pytest

from sylk_ray.codebase.reading import read


def parts(path: str, text: str) -> list[tuple[str, int, int]]:
    return [(part.title, part.start_line, part.end_line) for part in read(path, text).parts]


MARKDOWN = """---
title: x
---
Before.

# One

What it is.

```sh
# no heading
```

Two
---

## Three ##

~~~
```
# no heading
~~~

# Four
"""


def test_markdown_is_divided_by_headings_and_not_by_what_stands_in_fences() -> None:
    assert parts("a.md", MARKDOWN) == [
        ("", 1, 4),
        ("One", 6, 13),
        ("One > Two", 14, 16),
        ("One > Three", 17, 23),
        ("Four", 24, 24),
    ]
    assert read("a.md", MARKDOWN).doc == "Before."


def test_rst_is_divided_by_underlined_titles() -> None:
    text = "=====\nTitle\n=====\n\nSaid.\n\nPart\n----\n\nx\n\nInner\n~~~~~\n\ny\n\nOther\n-----\n"
    assert [title for title, *_ in parts("a.rst", text)] == [
        "Title",
        "Title > Part",
        "Title > Part > Inner",
        "Title > Other",
    ]


def test_asciidoc_is_divided_by_its_titles() -> None:
    assert parts("a.adoc", "= Title\n\nx\n\n== Part\ny\n") == [("Title", 1, 4), ("Title > Part", 5, 6)]


def test_a_short_configuration_is_one_part_by_its_keys() -> None:
    assert parts("a.yaml", "# what\nname: x\non:\n  push:\n") == [("name, on", 1, 4)]
    assert parts("a.json", '{\n  "name": "x",\n  "deep": {"inner": 1}\n}\n') == [("name, deep", 1, 4)]


def test_a_long_key_is_divided_by_those_below() -> None:
    steps = "".join(f"    step{n}: x\n" for n in range(20))
    text = f"name: x\njobs:\n  first:\n{steps}  second:\n{steps}"
    assert parts("a.yml", text) == [("name, jobs", 1, 2), ("jobs.first", 3, 23), ("jobs.second", 24, 44)]


def test_the_same_for_json_with_strings_that_look_like_structure() -> None:
    inner = ",\n".join(f'      "k{n}": "{{: [\\" //"' for n in range(20))
    text = f'{{\n  "a": 1,\n  "b": {{\n    "c": {{\n{inner}\n    }},\n    "d": {{\n{inner}\n    }}\n  }}\n}}\n'
    assert [title for title, *_ in parts("a.json", text)] == ["a, b", "b.c", "b.d"]


@pytest.mark.parametrize(
    ("path", "line", "titles"),
    [
        ("a.toml", "[tool.{n}]\nx = 1\n", ["tool.0, tool.1"]),
        ("a.ini", "[part{n}]\nx = 1\n", ["part0, part1"]),
        ("Dockerfile", "FROM base AS stage{n}\nRUN x\n", ["stage0, stage1"]),
        ("Makefile", "target{n}: x\n\trun\n", ["target0, target1"]),
        ("CMakeLists.txt", "add_library(lib{n} a.c)\n", ["add_library lib0, add_library lib1"]),
        ("pom.xml", "  <plugin{n}>\n", ["plugin0, plugin1"]),
        ("go.mod", "require acme.org/m{n} v1\n", ["require acme.org/m0, require acme.org/m1"]),
    ],
)
def test_every_format_has_its_keys(path: str, line: str, titles: list[str]) -> None:
    assert [title for title, *_ in parts(path, line.format(n=0) + line.format(n=1))] == titles


def test_long_tables_are_parts_of_their_own_with_the_comment_above() -> None:
    text = "".join(f"# about {n}\n[t{n}]\n" + "".join(f"k{k} = 1\n" for k in range(20)) for n in range(3))
    assert parts("a.toml", text) == [("t0", 1, 22), ("t1", 23, 44), ("t2", 45, 66)]


def test_a_broken_configuration_is_read_as_text() -> None:
    assert parts("a.json", '[[[ "x\n' * 3) == [("", 1, 3)]


def test_plain_text_is_divided_at_blank_lines_near_forty() -> None:
    text = "\n".join("" if n == 37 else f"line {n}" for n in range(1, 61)) + "\n"
    assert parts("a.txt", text) == [("", 1, 36), ("", 38, 60)]
