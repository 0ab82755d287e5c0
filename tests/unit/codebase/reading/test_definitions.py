"""Languages without a grammar: what begins a line says what is defined, and where it ends."""

from __future__ import annotations

import re
import time

import pytest

from sylk_ray.codebase.languages import BY_LINES, LANGUAGES, language_of
from sylk_ray.codebase.outline import SymbolKind
from sylk_ray.codebase.reading import read
from sylk_ray.codebase.reading.definitions import LineRules
from sylk_ray.codebase.reading.line_patterns import LINE_RULES
from tests.unit.codebase.reading.by_lines import SAMPLES


@pytest.mark.parametrize("path", SAMPLES)
def test_definitions_have_their_kind_name_and_lines(path: str) -> None:
    text, expected = SAMPLES[path]
    found = read(path, text).symbols
    assert [
        f"{each.kind} {each.qualified} {each.start_line}-{each.end_line}{'' if each.exported else ' hidden'}"
        for each in found
    ] == expected


def test_every_language_without_a_grammar_has_a_sample_and_rules() -> None:
    assert {language_of(path) for path in SAMPLES} == BY_LINES == LINE_RULES.keys()
    assert set(LANGUAGES) >= BY_LINES


@pytest.mark.parametrize(
    ("path", "package", "modules"),
    [
        ("a.pl", "Shop::Order", ["List::Util"]),
        ("a.R", "", ["stats"]),
        ("a.jl", "Shop", ["Base.Threads"]),
        ("a.erl", "shop", []),
        ("a.clj", "shop.order", ["clojure.string"]),
        ("a.m", "", ["Foundation/Foundation.h", "Store.h"]),
        ("a.proto", "shop.v1", ["line.proto"]),
        ("a.d", "shop.order", ["std.stdio"]),
        ("a.fs", "Shop.Order", ["System"]),
        ("a.thrift", "shop", ["shared.thrift"]),
        ("a.elm", "Shop", ["Html"]),
    ],
)
def test_packages_and_imports_are_told(path: str, package: str, modules: list[str]) -> None:
    outline = read(path, SAMPLES[path][0])
    assert (outline.package, [each.module for each in outline.imports]) == (package, modules)


@pytest.mark.parametrize(
    ("path", "symbol", "doc"),
    [
        ("a.pl", "total", "Adds up."),
        ("a.erl", "total", "Adds up."),
        ("a.vim", "shop.total", "Adds up."),
        ("a.sql", "shop.orders", "Orders."),
        ("a.vb", "Order.Total", "Adds up."),
        ("a.ps1", "Get-Total", "Adds up."),
        ("a.f90", "shop.total", "Adds up."),
        ("a.elm", "total", "Adds up."),
        ("a.ml", "order", "An order."),
        ("a.el", "shop-total", ""),
    ],
)
def test_the_comment_above_is_the_documentation(path: str, symbol: str, doc: str) -> None:
    assert next(each.doc for each in read(path, SAMPLES[path][0]).symbols if each.qualified == symbol) == doc


def test_a_signature_goes_on_while_its_brackets_are_open() -> None:
    assert read("a.R", SAMPLES["a.R"][0]).symbols[0].signature == "total <- function(x, tax = 0)"


def test_what_no_definition_covers_is_a_part() -> None:
    body = "\n".join(f"insert into t values ({number});" for number in range(10))
    outline = read("a.sql", f"create table t (id int);\n\n{body}\n")
    assert [(each.start_line, each.end_line) for each in outline.parts] == [(3, 12)]


@pytest.mark.parametrize("language", sorted(LINE_RULES))
def test_no_pattern_hangs_on_what_it_was_not_made_for(language: str) -> None:
    rules: LineRules = LINE_RULES[language]
    lines = ["a" * 400, "a " * 300, "(" * 300, "public static " * 60, "let a" + " b" * 200, "x.y::" * 100, "a, " * 150]
    began = time.process_time()
    for beginning in rules.beginnings:
        assert beginning.kind in SymbolKind
        for line in lines:
            re.match(beginning.pattern, line)
            re.search(beginning.until or "$", line)
    for line in lines:
        re.match(rules.imports or "$", line)
    assert time.process_time() - began < 1
