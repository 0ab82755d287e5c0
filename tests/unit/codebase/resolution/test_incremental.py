"""What is kept in step file by file is what would be made from nothing."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sylk_ray.codebase.outline import Outline
from sylk_ray.codebase.reading import read
from sylk_ray.codebase.resolution import Link, Resolver

PATHS = {
    "a.py": "python",
    "b.py": "python",
    "p/__init__.py": "python",
    "p/a.py": "python",
    "p/c.py": "python",
    "x/a.ts": "typescript",
    "x/b.ts": "typescript",
    "x/b/index.ts": "typescript",
    "g/a.go": "go",
    "g/b.go": "go",
    "a.go": "go",
    "J.java": "java",
    "k/K.java": "java",
    "src/lib.rs": "rust",
    "src/a.rs": "rust",
    "src/a/b.rs": "rust",
    "l.c": "c",
    "l.h": "c",
    "h/l.h": "c",
    "e/a.ex": "elixir",
    "e/b.ex": "elixir",
    "c.ex": "elixir",
    "n/A.cs": "csharp",
    "n/B.cs": "csharp",
    "m/A.cs": "csharp",
    "q/A.php": "php",
    "q/B.php": "php",
    "r/A.php": "php",
}
LINES = {
    "python": [
        "from a import Foo",
        "from b import *",
        "from . import c",
        "from .a import Foo as Bar",
        "import p.a",
        "import a as m",
        "from p import Foo, gnu",
        "class Foo: ...",
        "class Foo(Bar):\n    def gnu(self): self.hub()",
        "class Bar(Foo):\n    s: Foo\n    def hub(self): self.s.gnu()",
        "def gnu(x: Foo): x.gnu()",
        "def hub(y: Bar): y.s.hub()",
        "def f(z): z.gnu(); gnu(); m.hub()",
        "class Bar:\n    def hub(self): Foo().gnu()",
    ],
    "typescript": [
        "import { Foo } from './b';",
        "export * from './a';",
        "import Bar from './b';",
        "export class Foo { gnu() { this.hub(); } }",
        "export class Bar extends Foo { hub() {} }",
        "export function f(x: Foo) { x.gnu(); }",
        "export default class Bar {}",
        "export { Foo } from '../x/b';",
        "export function hub() { f(); new Bar().gnu(); }",
    ],
    "go": [
        'import "acme/g"',
        'import m "acme"',
        "type Foo struct{ s Bar }",
        "type Bar struct{ Foo }",
        "func (f *Foo) Gnu() { f.s.Hub() }",
        "func (b Bar) Hub() { b.Gnu() }",
        "func F() { g.F(); m.F(); x := NewFoo(); x.Gnu() }",
        "func NewFoo() *Foo { return nil }",
    ],
    "java": [
        "package k;",
        "import k.*;",
        "import k.Foo;",
        "class Foo { void gnu() { hub(); } }",
        "class Bar extends Foo { void hub() { gnu(); } }",
        "class Use { Foo s; void f(Bar b) { b.gnu(); s.hub(); } }",
    ],
    "rust": [
        "use crate::a::Foo;",
        "use super::*;",
        "mod b;",
        "pub use self::b::Bar;",
        "pub struct Foo { s: Bar }",
        "impl Foo { pub fn gnu(&self) { self.s.hub(); } }",
        "pub struct Bar;",
        "impl Bar { fn hub(&self) { f(); } }",
        "pub fn f() { let x = Foo::new(); x.gnu(); }",
        "pub trait Show { fn gnu(&self); }",
        "impl Show for Bar {}",
    ],
    "c": [
        '#include "l.h"',
        '#include "h/l.h"',
        "int gnu(int x);",
        "int gnu(int x) { return hub(x); }",
        "int hub(int x) { return gnu(x); }",
    ],
    "csharp": [
        "using n;",
        "using m;",
        "using Hub = n.Foo;",
        "namespace n;",
        "namespace m;",
        "class Foo { void gnu() { hub(); new Bar(); } class Bar {} }",
        "class Bar : Foo { void hub() { gnu(); } }",
        "class Use { Foo s; void f(Bar b) { b.gnu(); s.hub(); new n.Foo(); } }",
    ],
    "php": [
        "<?php namespace q; ?>",
        "<?php namespace r; ?>",
        "<?php use q\\Foo; ?>",
        "<?php use r\\Foo as Bar; ?>",
        "<?php class Foo { function gnu() { $this->hub(); new Bar(); } } ?>",
        "<?php class Bar extends Foo { function hub() { $this->gnu(); new Foo\\Bar(); } } ?>",
        "<?php function f() { new Foo(); } ?>",
    ],
    "elixir": [
        "defmodule Foo.Bar do\n  alias Foo.Hub\n  def gnu(b) do\n    Hub.hub(%Bar{})\n  end\nend",
        "defmodule Foo.Hub do\n  def hub(b) do\n    Foo.Bar.gnu(b)\n  end\nend",
        "defmodule Foo.Use do\n  alias Foo.{Bar, Hub}\n  def f(b) do\n    Bar.gnu(%Hub{})\n    gnu(b)\n  end\nend",
        "defmodule Use do\n  import Foo.Bar\n  def g(b) do\n    gnu(%Bar{})\n    Hub.hub(b)\n  end\nend",
    ],
}

_edit = st.sampled_from(sorted(PATHS)).flatmap(
    lambda path: st.tuples(
        st.just(path),
        st.none()
        | st.lists(st.sampled_from(LINES[PATHS[path]]), max_size=4, unique=True).map(
            lambda lines: "\n".join(lines) + "\n"
        ),
    )
)


def shown(links: list[Link]) -> list[Link]:
    return sorted(links, key=lambda link: (link.source_symbol, link.target_path, link.target_symbol, link.type))


@settings(max_examples=250, deadline=None)
@given(st.lists(st.lists(_edit, min_size=1, max_size=4), min_size=1, max_size=6))
def test_links_kept_in_step_are_those_made_from_nothing(batches: list[list[tuple[str, str | None]]]) -> None:
    manifests = {"go.mod": "module acme\n"}
    resolver, kept = Resolver(), dict[str, list[Link]]()
    resolver.update([], manifests=dict(manifests))
    files: dict[str, str] = {}
    for batch in batches:
        edits = dict(batch)
        written = {path: text for path, text in edits.items() if text is not None}
        gone = [path for path, text in edits.items() if text is None]
        files = {path: text for path, text in {**files, **written}.items() if path not in gone}
        for path in resolver.update([read(path, text) for path, text in written.items()], gone):
            kept[path] = shown(resolver.links_of(path))
        anew = Resolver()
        anew.update([read(path, files[path]) for path in sorted(files)], manifests=dict(manifests))
        for path in PATHS:
            assert kept.get(path, []) == shown(anew.links_of(path)), path


def test_a_body_that_changes_touches_no_other_file() -> None:
    resolver = Resolver()
    resolver.update([read("a.py", "def f(): ...\n"), read("b.py", "from a import f\nf()\n")])
    assert resolver.update([read("a.py", "def f():\n    return 1\n")]) == {"a.py"}


def test_a_name_that_is_gone_touches_those_who_used_it() -> None:
    resolver = Resolver()
    resolver.update(
        [read("a.py", "def f(): ...\n"), read("b.py", "from a import f\nf()\n"), read("c.py", "def g(): ...\n")]
    )
    assert resolver.update([read("a.py", "def h(): ...\n")]) == {"a.py", "b.py"}


def test_of_several_that_define_a_name_the_first_is_meant_for_as_long_as_it_does() -> None:
    a, b = (read(f"{name}.go", f"package p\nfunc Open() {{}}\nfunc {name}() {{}}\n") for name in "ab")
    user = read("user.go", "package p\nfunc use() { Open() }\n")
    elsewhere = read("q/a.go", "package q\nfunc Open() {}\n")
    resolver = Resolver()

    def meant() -> list[str]:
        return [link.target_path for link in resolver.links_of("user.go") if link.target_symbol == "Open"]

    resolver.update([elsewhere, b, user, a])
    assert meant() == ["a.go"]
    resolver.update([], ["a.go"])
    assert meant() == ["b.go"]
    resolver.update([a])
    assert meant() == ["a.go"]


def test_a_name_with_dots_that_is_new_touches_those_who_use_its_end() -> None:
    bar = "defmodule Foo.Bar do\n  def gnu(b), do: b\nend\n"
    use = "defmodule Use do\n  import Foo.Bar\n  def g(%Hub{} = b) do\n    gnu(%Hub{})\n  end\nend\n"
    resolver = Resolver()
    resolver.update([read("lib/foo/bar.ex", bar), read("u.ex", use)])
    assert "Foo.Hub" not in {link.target_symbol for link in resolver.links_of("u.ex")}
    hub = "defmodule Foo.Hub do\n  defstruct [:a]\nend\n"
    assert "u.ex" in resolver.update([read("lib/foo/bar.ex", bar + hub)])
    assert "Foo.Hub" in {link.target_symbol for link in resolver.links_of("u.ex")}


def test_a_manifest_that_changes_touches_all() -> None:
    resolver = Resolver()
    resolver.update([read("a.go", "package a\n")])
    assert resolver.update([], manifests={"go.mod": "module acme\n"}) == {"a.go"}
    assert resolver.update([], manifests={"go.mod": "module acme\n"}) == set()


def test_a_thousand_files_are_joined_quickly() -> None:
    text = "from pkg.m{n} import C{n}\n\nclass C{m}(C{n}):\n" + "".join(
        f"    def f{k}(self, other: C{{n}}):\n        other.f{k}()\n        self.f{k}()\n        helper{k}(self)\n"
        for k in range(8)
    )
    outlines = [read(f"pkg/m{m}.py", text.format(m=m, n=max(m - 1, 0))) for m in range(1000)]
    start = time.process_time()
    resolver = Resolver()
    count = sum(len(resolver.links_of(path)) for path in resolver.update(outlines))
    assert count > 20_000
    assert time.process_time() - start < 3.0


def _class(order: random.Random, depth: int = 0) -> str:
    """A class with base types, members and classes within, whose names are few, so that they often mean each other."""
    names, members = ("Alpha", "Beta", "Gamma", "Delta"), ("loadit", "saveit", "runit")
    base = ".".join(order.sample(names, order.choice((0, 1, 1, 2))))
    lines = [f"class {order.choice(names)}({base}):"]
    for _ in range(order.randint(1, 2)):
        lines += [f"  def {order.choice(members)}(self):", f"    self.{order.choice(members)}()"]
        lines += [f"    {order.choice(names)}.{order.choice(members)}()", f"    {order.choice(names)}()"]
    for _ in range(order.randint(0, 2) if depth < 2 else 0):
        lines += (f"  {line}" for line in _class(order, depth + 1).split("\n"))
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(0, 400, 40))
def test_links_are_the_same_in_whatever_order_they_are_asked_for(seed: int) -> None:
    for number in range(seed, seed + 40):
        order = random.Random(number)
        imports = "from f0 import *\nfrom f1 import *\n"
        files = {f"f{n}.py": imports + "\n".join(_class(order) for _ in range(order.randint(1, 2))) for n in range(3)}
        outlines = [read(path, text) for path, text in files.items()]

        def links(paths: list[str], outlines: list[Outline] = outlines) -> dict[str, list[Link]]:
            resolver = Resolver()
            resolver.update(outlines)
            return {path: resolver.links_of(path) for path in paths}

        alone = {path: links([path])[path] for path in files}
        assert links(list(files)) == alone
        assert links(list(reversed(files))) == alone
