"""What calls, base types and types in signatures lead to, with how sure it is."""

from __future__ import annotations

import pytest

from sylk_ray.codebase.resolution.links import (
    IMPORTED,
    ONLY_ONE,
    SAME_FILE,
    SAME_PACKAGE,
    SAME_SCOPE,
    THROUGH_A_MODULE,
    THROUGH_A_TYPE,
)
from sylk_ray.knowledge.model import EdgeType
from tests.unit.codebase.resolution.test_imports import resolver_of


def calls(files: dict[str, str], path: str, symbol: str, of: EdgeType = EdgeType.CALLS) -> dict[str, float]:
    found = resolver_of(files, {"go.mod": "module acme\n"}).links_of(path)
    return {
        f"{link.target_path}:{link.target_symbol}": link.confidence
        for link in found
        if link.source_symbol == symbol and link.type is of
    }


STORE = "class Store:\n    def load(self): ...\n    def fetch(self): ...\n"


@pytest.mark.parametrize(
    ("files", "symbol", "found"),
    [
        ({"a.py": "def f(): g()\ndef g(): ...\n"}, "f", {"a.py:g": SAME_FILE}),
        ({"a.py": "def f():\n    def g(): ...\n    g()\n"}, "f", {"a.py:f.g": SAME_SCOPE}),
        ({"a.py": "class A:\n    def f(self): self.g()\n    def g(self): ...\n"}, "A.f", {"a.py:A.g": SAME_SCOPE}),
        ({"a.py": "class A:\n    def f(self): g()\n    def g(self): ...\n"}, "A.f", {}),
        ({"a.py": "from b import g as h\ndef f(): h()\n", "b.py": "def g(): ...\n"}, "f", {"b.py:g": IMPORTED}),
        ({"a.py": "import b\ndef f(): b.g()\n", "b.py": "def g(): ...\n"}, "f", {"b.py:g": THROUGH_A_MODULE}),
        ({"a.py": "import os\ndef f(): os.walker()\n", "b.py": "class B:\n    def walker(self): ...\n"}, "f", {}),
        (
            {"a.py": "from b import Store\ndef f(s: Store): s.load()\n", "b.py": STORE},
            "f",
            {"b.py:Store.load": THROUGH_A_TYPE},
        ),
        (
            {"a.py": "from b import Store\ndef f():\n    s = Store()\n    s.load()\n", "b.py": STORE},
            "f",
            {"b.py:Store": IMPORTED, "b.py:Store.load": THROUGH_A_TYPE},
        ),
        (
            {
                "a.py": "from b import Store\nclass A:\n    def __init__(self):\n        self.s = Store()\n"
                "    def f(self): self.s.load()\n",
                "b.py": STORE,
            },
            "A.f",
            {"b.py:Store.load": THROUGH_A_TYPE},
        ),
        (
            {
                "a.py": "from b import Store\nclass A(Store):\n"
                "    def f(self):\n        self.load()\n        super().fetch()\n",
                "b.py": STORE,
            },
            "A.f",
            {"b.py:Store.load": IMPORTED, "b.py:Store.fetch": IMPORTED},
        ),
        ({"a.py": "def f(x): x.fetch()\n", "b.py": STORE}, "f", {"b.py:Store.fetch": ONLY_ONE}),
        (
            {"a.py": "def f(x): x.fetch()\n", "b.py": STORE, "c.py": STORE},
            "f",
            {"b.py:Store.fetch": ONLY_ONE / 2, "c.py:Store.fetch": ONLY_ONE / 2},
        ),
        ({"a.py": "def f(x): x.fetch()\n", **{f"{n}.py": STORE for n in "bcde"}}, "f", {}),
        ({"a.py": "def f(x): x.load()\n", "b.py": STORE}, "f", {}),
        ({"a.py": "def f(x): x.fetch()\n", "b.go": "package b\nfunc (s *S) fetch() {}\n"}, "f", {}),
        (
            {
                "a.go": "package a\nfunc f() { g(); s := NewStore(); s.Load() }\n",
                "b.go": "package a\nfunc g() {}\ntype Store struct{}\nfunc NewStore() *Store { return nil }\n",
                "c.go": "package a\nfunc (s *Store) Load() {}\n",
            },
            "f",
            {"b.go:g": SAME_PACKAGE, "b.go:NewStore": SAME_PACKAGE, "c.go:Store.Load": THROUGH_A_TYPE},
        ),
        (
            {
                "a.ts": "import { Store } from './b';\nexport class A {\n  constructor(private s: Store) {}\n"
                "  f() { this.s.load(); this.g(); }\n  g() {}\n}\n",
                "b.ts": "export class Store { load() {} }\n",
            },
            "A.f",
            {"b.ts:Store.load": THROUGH_A_TYPE, "a.ts:A.g": SAME_SCOPE},
        ),
        (
            {
                "a.rs": "use crate::b::Store;\nfn f() { let s = Store::new(); s.load(); }\n",
                "b.rs": "pub struct Store;\nimpl Store { pub fn new() -> Self { Store } pub fn load(&self) {} }\n",
            },
            "f",
            {"b.rs:Store.new": IMPORTED, "b.rs:Store.load": THROUGH_A_TYPE},
        ),
        (
            {
                "A.java": "package p;\nclass A { Store s; void f() { s.load(); g(); } void g() {} }\n",
                "Store.java": "package p;\nclass Store { void load() {} }\n",
            },
            "A.f",
            {"Store.java:Store.load": THROUGH_A_TYPE, "A.java:A.g": SAME_SCOPE},
        ),
        (
            {
                "a.c": '#include "b.h"\nint f(void) { return push(1); }\n',
                "b.h": "int push(int x);\n",
                "b.c": "int push(int x) { return x; }\n",
            },
            "f",
            {"b.c:push": THROUGH_A_MODULE},
        ),
        (
            {
                "lib/shop/job.ex": "defmodule Shop.Job do\n  import Shop.Period, only: [is_valid: 1]\n"
                "  alias Shop.Period\n  def cast(p) do\n    Period.to_seconds(p)\n  end\nend\n",
                "lib/shop/period.ex": "defmodule Shop.Period do\n  def to_seconds(p) do\n    p\n  end\nend\n",
            },
            "Shop.Job.cast",
            {"lib/shop/period.ex:Shop.Period.to_seconds": THROUGH_A_TYPE},
        ),
    ],
)
def test_a_call_leads_to_what_is_most_likely_meant(files: dict[str, str], symbol: str, found: dict[str, float]) -> None:
    assert calls(files, next(iter(files)), symbol) == pytest.approx(found)


@pytest.mark.parametrize(
    ("files", "symbol", "found"),
    [
        ({"a.py": "from b import Store\nclass A(Store): ...\n", "b.py": STORE}, "A", {"b.py:Store"}),
        ({"a.rs": "trait Show {}\nstruct A;\nimpl Show for A {}\n"}, "A", {"a.rs:Show"}),
        (
            {"A.java": "package p;\nclass A implements B {}\n", "B.java": "package p;\ninterface B {}\n"},
            "A",
            {"B.java:B"},
        ),
        (
            {"a.ts": "import * as b from './b';\nclass A extends b.Base {}\n", "b.ts": "export class Base {}\n"},
            "A",
            {"b.ts:Base"},
        ),
        ({"a.cpp": "namespace n { class B {}; class A : public B {}; }\n"}, "n.A", {"a.cpp:n.B"}),
        ({"a.rb": "module M\n  class B; end\n  class A < B; end\nend\n"}, "M.A", {"a.rb:M.B"}),
    ],
)
def test_a_type_implements_its_base_types(files: dict[str, str], symbol: str, found: set[str]) -> None:
    assert set(calls(files, next(iter(files)), symbol, EdgeType.IMPLEMENTS)) == found


def test_a_file_defines_and_a_type_contains() -> None:
    links = resolver_of({"a.py": "class A:\n    def f(self):\n        def g(): ...\nX = 1\n"}).links_of("a.py")
    assert [(link.source_symbol, link.target_symbol, link.type, link.confidence) for link in links] == [
        ("", "A", EdgeType.DEFINES, 1.0),
        ("A", "A.f", EdgeType.CONTAINS, 1.0),
        ("", "X", EdgeType.DEFINES, 1.0),
    ]


def test_files_that_import_each_other_come_to_an_end() -> None:
    files = {
        "a.py": "from b import *\nfrom b import x\nclass A(B): ...\n",
        "b.py": "from a import *\nfrom a import x\nclass B(A): ...\n",
    }
    assert calls(files, "a.py", "A", EdgeType.IMPLEMENTS) == {"b.py:B": THROUGH_A_MODULE}


@pytest.mark.parametrize(
    ("path", "text", "symbol"),
    [
        ("a.py", "class Store(Store.Base):\n    def f(self): self.load()\n", "Store.f"),
        ("a.rb", "class Web < Web::Base\n  def f\n    load\n  end\nend\n", "Web.f"),
        ("a.py", "class A(B.X):\n    def f(self): self.load()\nclass B(A.Y): ...\n", "A.f"),
    ],
)
def test_a_base_type_that_would_have_to_be_its_own_member_is_none(path: str, text: str, symbol: str) -> None:
    assert calls({path: text}, path, symbol) == {}


def test_base_types_that_lead_from_one_to_the_next_for_long_are_given_up() -> None:
    classes = "".join(f"class C{number}(C{number + 1}.X):\n    def f{number}(self): ...\n" for number in range(400))
    assert calls({"a.py": f"{classes}class D(C0.X):\n    def f(self): self.load()\n"}, "a.py", "D.f") == {}
