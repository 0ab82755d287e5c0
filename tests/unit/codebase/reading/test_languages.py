"""Each language by a sample that has what the language has."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sylk_ray.codebase.outline import Import, Outline, ReferenceKind
from sylk_ray.codebase.reading import read
from sylk_ray.codebase.reading.grammars.macros import without_macros
from tests.unit.codebase.reading.expected import BINDINGS, IMPORTS, REFERENCES, SYMBOLS

FIXTURES = Path(__file__).parent.parent / "fixtures"


def sample(name: str) -> Outline:
    """Python's stands under another name, where no formatter looks."""
    file = FIXTURES / name
    return read(name, (file if file.exists() else FIXTURES / f"{name}.txt").read_text(encoding="utf-8"))


def shown_import(each: Import, name: str) -> str:
    module = "." * each.relative + each.module if name.endswith(".py") else each.module
    alias = f" as {each.alias}" if each.alias else ""
    names = ", ".join(there if there == here else f"{there} as {here}" for there, here in each.names)
    return f"{each.line} {module}{alias}" + (f": {names}" if names else "")


@pytest.mark.parametrize("name", SYMBOLS)
def test_definitions_have_their_kind_name_and_lines(name: str) -> None:
    found = [
        f"{each.kind} {each.qualified} {each.start_line}-{each.end_line}{'' if each.exported else ' hidden'}"
        for each in sample(name).symbols
    ]
    assert found == SYMBOLS[name].strip().splitlines()


@pytest.mark.parametrize("name", IMPORTS)
def test_imports_are_told_in_one_form(name: str) -> None:
    assert [shown_import(each, name) for each in sample(name).imports] == IMPORTS[name].strip().splitlines()


@pytest.mark.parametrize("name", REFERENCES)
def test_calls_and_base_types_are_told_with_where_they_stand(name: str) -> None:
    found = [
        f"{each.line} {each.kind} {f'{each.receiver} > ' if each.receiver else ''}{each.name} in {each.within or '-'}"
        for each in sample(name).references
        if each.kind is not ReferenceKind.USE
    ]
    assert found == REFERENCES[name].strip().splitlines()


@pytest.mark.parametrize("name", BINDINGS)
def test_names_with_a_known_type_are_told(name: str) -> None:
    found = [f"{each.within or '-'} {each.name}: {each.type}" for each in sample(name).bindings]
    assert found == BINDINGS[name].strip().splitlines()


@pytest.mark.parametrize("name", SYMBOLS)
def test_a_whole_sample_parses(name: str) -> None:
    assert sample(name).broken == ()


@pytest.mark.parametrize(
    ("name", "symbol", "doc"),
    [
        ("sample.py", "Account", "One account.\n\nIt has an owner."),
        ("sample.py", "Account.balance", "How much is left."),
        ("sample.go", "Server", "Server holds the connections.\n\nIt is safe."),
        ("sample.js", "render", "Renders one.\n@param {string} name"),
        ("sample.ts", "Store.get", "Gets one."),
        ("sample.tsx", "Panel", "A panel."),
        ("sample.rs", "Parser", "Parses."),
        ("sample.rs", "Parser.new", "Makes one."),
        ("Sample.java", "Order", "An order.\n\n@author someone"),
        ("Sample.kt", "String.shout", "Shouts."),
        ("Sample.scala", "Order.total", "Adds up."),
        ("sample.c", "list_push", "Adds a value."),
        ("sample.cpp", "shapes.Shape.area", "Its area."),
        ("Sample.cs", "Order", "An order."),
        ("Sample.cs", "Order.Order", "Makes one."),
        ("sample.rb", "Shop.Order", "An order.\n\nIt has lines."),
        ("sample.php", "Order.total", "Adds up."),
        ("sample.swift", "Order.total", "Adds up."),
        ("sample.lua", "M.total", "Adds up.\n@param tax how much"),
        ("sample.sh", "build", "Builds one."),
        ("sample.ex", "Shop.Order.total", "Adds up."),
        ("Sample.hs", "Order", "An order.\nIt has lines."),
        ("Sample.hs", "total", "Adds up."),
        ("sample.zig", "List.init", "Makes one."),
        ("sample.dart", "Order.total", "Adds up."),
        ("Sample.sol", "Shop.total", "Adds up."),
        ("sample.nix", "build", "Builds one."),
        ("sample.tf", "aws_s3_bucket.orders", "Holds the orders."),
    ],
)
def test_documentation_is_found_and_its_marks_are_taken_off(name: str, symbol: str, doc: str) -> None:
    found = next(each for each in sample(name).symbols if each.qualified == symbol)
    assert found.doc == doc


@pytest.mark.parametrize(
    ("name", "package", "doc"),
    [
        ("sample.py", "", "Accounts, and what is done with them."),
        ("sample.go", "server", "Package server answers requests."),
        ("sample.js", "", "Views of the page."),
        ("sample.rs", "", "Parsing of things.\n\nMore of it."),
        ("Sample.java", "com.acme.shop", ""),
        ("Sample.cs", "Acme.Shop", ""),
        ("sample.php", "Acme\\Shop", "Orders of the shop."),
        ("sample.cpp", "", "Shapes of the plane."),
        ("sample.sh", "", "Builds everything."),
        ("Sample.hs", "Shop.Order", "Orders of the shop."),
        ("sample.dart", "shop.order", "Orders of the shop."),
        ("sample.zig", "", "Lists of things."),
    ],
)
def test_a_file_says_its_package_and_what_it_is_and_no_licence(name: str, package: str, doc: str) -> None:
    outline = sample(name)
    assert (outline.package, outline.doc) == (package, doc)


@pytest.mark.parametrize(
    ("name", "symbol", "signature"),
    [
        ("sample.py", "Account._limit", "async def _limit(self, value: int, *, most: Limits = LIMIT) -> int"),
        ("sample.go", "Server.Serve", "func (s *Server) Serve(ctx context.Context, other *Store) error"),
        ("sample.js", "add", "const add = (a, b)"),
        ("sample.ts", "build", "export const build = <T,>(x: T): Repository<T>"),
        ("sample.rs", "Parser.new", "pub fn new(text: &'a str) -> Self"),
        ("sample.cpp", "shapes.twice", "template <class T> T twice(T x)"),
        ("sample.ex", "Shop.Order.total", "def total(order, tax)"),
        ("Sample.hs", "total", "total :: Order -> Double -> Double"),
        ("sample.dart", "Order.save", "Future<void> save()"),
        ("sample.nix", "build", "build = { name, src }:"),
    ],
)
def test_a_signature_is_one_line_without_the_body(name: str, symbol: str, signature: str) -> None:
    assert next(each for each in sample(name).symbols if each.qualified == symbol).signature == signature


def test_a_scripts_body_is_a_part() -> None:
    assert [(part.start_line, part.end_line) for part in sample("sample.py").parts] == [(46, 51)]


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.swift", "struct A {\n    @Published var b = 1\n    var c: Int { 1 }\n}\n", ["A 1-4", "A.b 2-2", "A.c 3-3"]),
        ("a.kt", "object R\nfun <T> List<T>.second(): T? = null\n", ["R 1-1", "List.second 2-2"]),
        ("a.js", "const a = 1\n\n/**\n * Said.\n */\n\nfunction f() {}\n", ["a 1-1", "f 3-7"]),
        ("a.js", "/**\n * Of the file.\n */\n\nfunction f() {}\n", ["f 5-5"]),
        ("a.py", "@one\n@two(\n    3\n)\ndef f(): ...\n", ["f 1-5"]),
        ("a.scala", "trait R:\n  def find: Int\nobject R:\n  val a = 1\n", ["R 1-2", "R.find 2-2", "R 3-4", "R.a 4-4"]),
        ("a.rs", "/// Said.\n#[derive(\n    Debug,\n)]\nstruct A;\n", ["A 1-5"]),
        ("a.go", "var (\n\ta, b = 1, 2\n)\n", ["a 2-2", "b 2-2"]),
        ("a.sh", "A=1 run it\nB=2 # said\n", ["B 2-2"]),
        ("a.hs", "f 0 = 1\nf n = g n\n  where\n    g x = x\n", ["f 1-4", "f.g 4-4"]),
        ("a.hs", "module A where\nf, g :: Int -> Int\nf = id\ng = id\n", ["f 2-3", "g 2-4"]),
        (
            "a.zig",
            "fn List(comptime T: type) type {\n    return struct {\n        fn add() void {}\n    };\n}\n",
            ["List 1-5", "List.add 3-3"],
        ),
        ("a.dart", "@deprecated\nclass A {\n  A.of(int a) : b = a;\n}\n", ["A 1-4", "A.of 3-3"]),
    ],
)
def test_what_is_easily_read_wrongly(path: str, text: str, found: list[str]) -> None:
    assert [f"{each.qualified} {each.start_line}-{each.end_line}" for each in read(path, text).symbols] == found


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.hpp", "class A_EXPORT B : public C {\n  void f();\n};\n", ["B", "B.f"]),
        ("a.hpp", "class A_API(2, 0) B_1 final : public C {\n  void f();\n};\n", ["B_1", "B_1.f"]),
        ("a.hpp", "class Foundation_API B {\n  void f();\n};\n", ["B", "B.f"]),
        ("a.hpp", "template <typename T> class A_EXPORT B<T*> {\n  void f();\n};\n", ["B", "B.f"]),
        (
            "a.hpp",
            "struct A_EXPORT B { int b; };\nunion A_EXPORT C { int c; };\nenum A_EXPORT D { E };\n",
            ["B", "C", "D"],
        ),
        ("a.h", "A_BEGIN_DECLS\n\nstruct B { int c; };\n\nA_END_DECLS\n", ["B"]),
        ("a.hpp", "A_NAMESPACE_OPEN(x)\n\nclass B { void f(); };\n\nA_NAMESPACE_CLOSE\n", ["B", "B.f"]),
        ("a.h", "static inline A_INLINE A_NODISCARD B *c(int d) { return 0; }\n", ["c"]),
        ("a.h", "A_EXTERN B *c(int d);\nZEXTERN int d(void);\nA_DEPRECATED_SINCE(3) int e(void);\n", ["c", "d", "e"]),
        (
            "a.hpp",
            (
                "#define A_GUARDED_BY(x)\n#ifdef A_GUARDED_BY\n#endif\nclass A {\n"
                "  void f() const EXCLUSIVE_LOCKS_REQUIRED(mu_);\n"
                "  int g()\n      A_LOCKS_EXCLUDED(mu_) { return 1; }\n  static int h A_GUARDED_BY(mu_);\n"
                "  int i() NO_THREAD_SAFETY_ANALYSIS;\n};\n"
            ),
            ["A_GUARDED_BY", "A", "A.f", "A.g", "A.h", "A.i"],
        ),
        ("a.c", "A_PUBLIC(const char *) f(void)\n{\n  return 0;\n}\n", ["f"]),
        ("a.c", "CK_LOCAL get(int k)\n{\n  return 0;\n}\n", ["get"]),
        ("a.c", "COMPARE_FN fallback = 0;\nCOMPARE_FN other;\nCOMPARE_FN all[2];\n", ["fallback", "other", "all"]),
        ("a.c", "void\nSTACK_NAMESPACE(struct stack *s)\n{\n}\n", ["STACK_NAMESPACE"]),
        (
            "a.h",
            "enum A_KIND { A_ONE, A_END };\nstruct A {\n  enum A_KIND k : A_BITS;\n  enum A_KIND l : (1 + 2);\n};\n",
            ["A_KIND", "A"],
        ),
        (
            "a.cc",
            "int f() {\n  for (struct AN_ITEM i : all) { g(i); }\n  return 1;\n}\nint h() { return 2; }\n",
            ["f", "h"],
        ),
        ("a.cc", "struct POINT origin { 0, 0 };\nint x = g(a,\n  A_WARNINGS\n);\n", ["origin", "x"]),
    ],
)
def test_macros_are_told_from_what_is_defined(path: str, text: str, found: list[str]) -> None:
    outline = read(path, text)
    assert [each.qualified for each in outline.symbols] == found
    assert not outline.broken


def test_a_macro_in_a_line_of_its_own_keeps_the_documentation() -> None:
    [found] = read("a.h", "\n/** Opens it. */\nA_EXTERN\nint open_it(int d);\n").symbols
    assert (found.doc, found.start_line) == ("Opens it.", 2)


@pytest.mark.parametrize(
    "text",
    [
        "class " + "A_API " * 50_000 + "b",
        "\n" + "A_EXPORT_API " * 50_000 + "1",
        "\nclass A_API" + " " * 300_000 + "1",
        "\nA" + "_END" * 50_000 + "-",
        "\nA_API(" * 50_000,
        "class A_EXPORT B" + ":" * 100_000,
        "\nclass A_B" * 50_000,
        "a GUARDED_BY " * 50_000 + "a" + " " * 100_000,
        "a" + " A_GUARDED_BY(" * 50_000,
    ],
)
def test_what_looks_like_many_macros_takes_no_time(text: str) -> None:
    began = time.process_time()
    assert len(without_macros(text)) == len(text)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("path", "text", "declares"),
    [
        ("a.h", "#define N 3\nint f(int);\nstruct A { int b; };\n", True),
        ("a.h", "typedef struct { int b; } A;\nint f(A *);\n", True),
        ("a.c", "int f(int);\n", False),
        ("a.h", "int f(int);\nstatic inline int g(void) { return 1; }\n", False),
        ("a.h", "static inline int g(void) { return 1; }\nint f(int);\n", False),
        ("a.h", "int f(int);\n#define G(x) ((x) + 1)\n", False),
        ("a.hpp", "int f(int);\nauto g = [](int a) { return a; };\n", False),
        ("a.h", "struct A { int b; };\n#define N 3\n", False),
        ("a.java", "interface A { int b(); }\n", True),
        ("a.java", "interface A { int b(); default int c() { return b(); } }\n", False),
        ("a.java", "interface A { int b(); A NONE = () -> 1; }\n", False),
        ("a.java", "abstract class A { abstract int b(); }\n", False),
        ("a.java", "@interface A { String value(); }\n", False),
        ("a.cs", "namespace N { public delegate int D(); interface A { int B(); } }\n", True),
        ("a.cs", "interface A { void C(); } class D { public int X { get { return 1; } } }\n", False),
        ("a.cs", "class A { static extern int B(); }\n", False),
        ("a.php", "<?php\ninterface A { function b(): int; }\n", True),
        ("a.kt", "expect class A { fun b(): Int\n class C\n}\n", True),
        ("a.kt", "interface A { fun b(): Int }\nclass B { init { run() } }\n", False),
        ("a.kt", "fun b(): Int = 1\n", False),
        ("a.go", "package a\n\ntype A interface { B() int }\n", True),
        ("a.go", "package a\n\ntype A interface { B() int }\n\ntype C struct { d int }\n", False),
        ("a.go", "package a\n\nfunc add(a, b int) int\n", False),
        ("a.ts", "export interface A { b(): number }\nexport type C = A | null\n", True),
        ("a.tsx", "interface A { onClose(): void }\nexport default (a: A) => null\n", False),
        ("a.ts", "interface A { b(): void }\nclass C { static { run() } }\n", False),
        ("a.swift", "protocol A { func b() -> Int }\n", True),
        ("a.swift", "protocol A { func b() }\nstruct V: View { var body: some View { Text() } }\n", False),
        ("a.scala", "trait A { def b: Int }\n", True),
        ("a.scala", "trait A { def b: Int = 1 }\n", False),
        ("a.pyi", "def a(): ...\n", True),
        ("a.d.cts", "export const a: 1\n", True),
        ("a.dart", "class A { A(this.x); final int x; }\n", False),
        ("a.rs", "trait A { fn b(); }\n", False),
        ("a.ts", "interface A {\n  b(): number\n  c(((: {{{\n\nexport function d() { return 1 }\n", False),
    ],
)
def test_what_declares_functions_and_defines_none_is_told(path: str, text: str, declares: bool) -> None:
    assert read(path, text).declares is declares


def test_a_method_with_a_capital_letter_makes_no_type_known() -> None:
    text = "class A { void F() { var a = db.Find(1); var b = new Store(); } }\n"
    assert [(each.name, each.type) for each in read("a.cs", text).bindings] == [("b", "Store")]


def test_a_types_specification_calls_nothing() -> None:
    text = "defmodule A do\n  @spec load(map) :: map\n  def load(m), do: Repo.get(m)\nend\n"
    assert [each.name for each in read("a.ex", text).references] == ["get"]


def test_a_field_that_keeps_an_annotated_parameter_has_its_type() -> None:
    text = (
        "class A:\n    def __init__(self, store: Store, other, more: More | None = None):\n        self.store = store\n"
        "        self.other = other\n        self.more = more or More()\n        self.kept: Kept = make()\n"
        "        local: Local = 1\n"
    )
    found = {(each.within, each.name): each.type for each in read("a.py", text).bindings}
    assert found[("A", "self.store")] == "Store"
    assert found[("A", "self.more")] == "More"
    assert found[("A", "self.kept")] == "Kept"
    assert found[("A.__init__", "local")] == "Local"
    assert ("A", "self.other") not in found
