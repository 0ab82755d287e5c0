"""Which language a file is in."""

from __future__ import annotations

import pytest
from ast_grep_py import SgRoot

from sylk_ray.codebase.languages import CONFIGURATION, GRAMMARS, LANGUAGES, PROSE, language_of
from sylk_ray.codebase.reading.grammars import RULES


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        ("src/a.py", "", "python"),
        ("a.mjs", "", "javascript"),
        ("a.TSX", "", "tsx"),
        ("x/Dockerfile", "", "dockerfile"),
        ("Dockerfile.dev", "", "dockerfile"),
        ("go.mod", "", "gomod"),
        ("CMakeLists.txt", "", "cmake"),
        (".env.example", "", "ini"),
        ("requirements.txt", "", "text"),
        ("app.csproj", "", "xml"),
        ("Gemfile", "", "ruby"),
        ("run", "#!/usr/bin/env python3\n", "python"),
        ("run", "#!/bin/bash -e\n", "bash"),
        ("run", "#!/usr/bin/env -S node --flag\n", "javascript"),
        ("run", "some words\n", "text"),
        ("run", "", ""),
        ("a.unknown", "x", "text"),
        ("a.h", "#pragma once\nint f(void);\n", "c"),
        ("a.h", "/* a class of its own */\nstruct a { int x; };\n", "c"),
        ("a.h", '#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n', "c"),
        ("a.h", "#include <vector>\nnamespace a { class B; }\n", "cpp"),
        ("a.h", "class A {\n public:\n  virtual void f() = 0;\n};\n", "cpp"),
        ("a.hpp", "", "cpp"),
    ],
)
def test_the_name_or_else_the_contents_say_the_language(path: str, head: str, language: str) -> None:
    assert language_of(path, head) == language


def test_every_grammar_has_rules_and_the_parser_knows_all_that_they_name() -> None:
    assert set(RULES) == GRAMMARS
    for rules in RULES.values():
        root = SgRoot("x", rules.grammar).root()
        for kind in rules.handlers:
            root.find_all(kind=kind)


def test_every_language_is_of_one_sort() -> None:
    assert set(LANGUAGES) > GRAMMARS | CONFIGURATION | PROSE
    assert not GRAMMARS & CONFIGURATION
    assert not PROSE & CONFIGURATION
