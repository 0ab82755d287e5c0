"""To which file an import leads, language by language."""

from __future__ import annotations

import pytest

from sylk_ray.codebase.reading import read
from sylk_ray.codebase.resolution import Resolver
from sylk_ray.codebase.resolution.links import THROUGH_A_MODULE
from sylk_ray.knowledge.model import EdgeType


def resolver_of(files: dict[str, str], manifests: dict[str, str] | None = None) -> Resolver:
    resolver = Resolver()
    resolver.update([read(path, text) for path, text in files.items()], manifests=dict(manifests or {}))
    return resolver


def imported(files: dict[str, str], path: str, manifests: dict[str, str] | None = None) -> set[str]:
    """The files, and with a colon the definitions, that a file imports."""
    return {
        f"{link.target_path}:{link.target_symbol}".rstrip(":")
        for link in resolver_of(files, manifests).links_of(path)
        if link.type is EdgeType.IMPORTS
    }


PYTHON = {
    "src/shop/__init__.py": "from .orders import Order\n",
    "src/shop/orders.py": "class Order: ...\n",
    "src/shop/deep/__init__.py": "",
    "src/shop/deep/store.py": "class Store: ...\n",
    "tools.py": "def helper(): ...\n",
}
JS = {
    "src/view/index.ts": "export class View {}\nexport default function draw() {}\n",
    "src/parse.ts": "export function parse() {}\n",
    "src/all.js": "export * from './parse';\n",
    "packages/core/package.json": "",
    "packages/core/src/index.ts": "export const core = 1;\n",
}
JS_MANIFESTS = {
    "tsconfig.json": '{ // paths\n "compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"]}} }',
    "packages/core/package.json": '{"name": "@acme/core"}',
}
JAVA = {
    "a/Order.java": "package com.acme.shop;\npublic class Order { static int total() { return 1; } }\n",
    "a/Store.kt": "package com.acme.core\nclass Store\nfun open() = 1\n",
}
RUST = {
    "src/lib.rs": "pub mod lexer;\nmod parser;\npub fn top() {}\n",
    "src/lexer.rs": "pub struct Lexer;\n",
    "src/parser/mod.rs": "mod inner;\n",
    "src/parser/inner.rs": "pub struct Deep;\n",
}
C = {
    "include/list.h": "int add(int a);\n",
    "src/list.c": "int add(int a) { return a; }\n",
    "src/own.h": "int own(void);\n",
}

FURTHER = {
    "src/Data/Shop.hs": "module Data.Shop where\ntotal :: Int -> Int\ntotal x = x\n",
    "src/list.zig": "pub fn add() void {}\n",
    "lib/order.dart": "class Order {}\n",
    "contracts/Token.sol": "contract Token {}\n",
    "modules/net/main.tf": 'variable "name" {}\n',
    "pkgs/shop/default.nix": "{ }\n",
    "proto/order.proto": "message Order {}\n",
    "lib/Shop/Order.pm": "package Shop::Order;\nsub total { 1 }\n",
    "App/Store.h": "@interface Store\n@end\n",
}


@pytest.mark.parametrize(
    ("files", "path", "text", "found"),
    [
        (PYTHON, "src/shop/a.py", "from . import orders", {"src/shop/__init__.py", "src/shop/orders.py"}),
        (PYTHON, "src/shop/a.py", "from .orders import Order", {"src/shop/orders.py", "src/shop/orders.py:Order"}),
        (
            PYTHON,
            "src/shop/deep/a.py",
            "from ..orders import Order as O",
            {"src/shop/orders.py", "src/shop/orders.py:Order"},
        ),
        (PYTHON, "tests/test_a.py", "import shop.deep.store", {"src/shop/deep/store.py"}),
        (PYTHON, "tests/test_a.py", "from shop import Order", {"src/shop/__init__.py", "src/shop/orders.py:Order"}),
        (PYTHON, "main.py", "import tools, os", {"tools.py"}),
        (JS, "src/a.ts", "import { View } from './view';", {"src/view/index.ts", "src/view/index.ts:View"}),
        (JS, "src/a.ts", "import draw from './view/index.js';", {"src/view/index.ts", "src/view/index.ts:draw"}),
        (JS, "src/a.js", "const { parse } = require('./all');", {"src/all.js", "src/parse.ts:parse"}),
        (JS, "src/x/a.tsx", "import { parse } from '@/parse';", {"src/parse.ts", "src/parse.ts:parse"}),
        (
            JS,
            "app/a.ts",
            "import { core } from '@acme/core';",
            {"packages/core/src/index.ts", "packages/core/src/index.ts:core"},
        ),
        (JS, "app/a.ts", "import react from 'react';", set()),
        (JAVA, "b/A.java", "package b;\nimport com.acme.shop.Order;", {"a/Order.java", "a/Order.java:Order"}),
        (JAVA, "b/A.java", "package b;\nimport static com.acme.shop.Order.total;", {"a/Order.java"}),
        (JAVA, "b/A.kt", "package b\nimport com.acme.core.open as o", {"a/Store.kt", "a/Store.kt:open"}),
        (JAVA, "b/A.scala", "package b\nimport com.acme.core.{Store => S}", {"a/Store.kt", "a/Store.kt:Store"}),
        (
            FURTHER,
            "app/Main.hs",
            "module Main where\nimport Data.Shop (total)",
            {"src/Data/Shop.hs", "src/Data/Shop.hs:total"},
        ),
        (FURTHER, "src/a.zig", 'const list = @import("list.zig");', {"src/list.zig"}),
        (FURTHER, "lib/a.dart", "import 'order.dart' show Order;", {"lib/order.dart", "lib/order.dart:Order"}),
        (FURTHER, "test/a.dart", "import 'package:shop/order.dart' as o;", {"lib/order.dart"}),
        (FURTHER, "contracts/A.sol", 'import "./Token.sol";', {"contracts/Token.sol"}),
        (FURTHER, "main.tf", 'module "net" {\n  source = "./modules/net"\n}', {"modules/net/main.tf"}),
        (FURTHER, "pkgs/all.nix", "{ shop = import ./shop { }; }", {"pkgs/shop/default.nix"}),
        (FURTHER, "proto/a.proto", 'import "order.proto";', {"proto/order.proto"}),
        (FURTHER, "bin/a.pl", "use Shop::Order;", {"lib/Shop/Order.pm"}),
        (FURTHER, "App/a.m", '#import "Store.h"', {"App/Store.h"}),
        (RUST, "src/a.rs", "use crate::lexer::Lexer;", {"src/lexer.rs", "src/lexer.rs:Lexer"}),
        (RUST, "src/parser/b.rs", "use super::inner::Deep;", {"src/parser/inner.rs", "src/parser/inner.rs:Deep"}),
        (RUST, "src/main.rs", "use acme::top;", {"src/lib.rs", "src/lib.rs:top"}),
        (C, "src/a.c", '#include "own.h"\n#include <list.h>\n#include <stdio.h>', {"src/own.h", "include/list.h"}),
        ({"lib/shop/order.rb": "", "spec/x.rb": ""}, "spec/a.rb", "require 'shop/order'", {"lib/shop/order.rb"}),
        ({"lib/shop/order.rb": ""}, "lib/shop.rb", "require_relative 'shop/order'", {"lib/shop/order.rb"}),
        ({"lua/tools/parse.lua": ""}, "main.lua", "local p = require('tools.parse')", {"lua/tools/parse.lua"}),
        ({"tools/init.lua": ""}, "main.lua", "require 'tools'", {"tools/init.lua"}),
        ({"lib/x.sh": ""}, "lib/run.sh", 'source "$(dirname "$0")/x.sh"', {"lib/x.sh"}),
        (
            {"src/Order.php": "<?php\nnamespace Acme\\Shop;\nclass Order {}\n"},
            "b.php",
            "<?php\nuse Acme\\Shop\\Order;",
            {"src/Order.php", "src/Order.php:Order"},
        ),
        ({"Order.cs": "namespace Acme.Shop;\nclass Order {}\n"}, "B.cs", "using Acme.Shop;", {"Order.cs"}),
        (
            {"lib/o.ex": "defmodule Shop.Order do\nend\n"},
            "lib/b.ex",
            "defmodule B do\n  alias Shop.Order\nend\n",
            {"lib/o.ex"},
        ),
    ],
)
def test_an_import_leads_to_its_files(files: dict[str, str], path: str, text: str, found: set[str]) -> None:
    manifests = {**JS_MANIFESTS, "Cargo.toml": '[package]\nname = "acme"\n'}
    assert imported({**files, path: text + "\n"}, path, manifests) == found


def test_a_go_package_is_all_of_its_files_but_the_tests() -> None:
    files = {
        "server/a.go": "package server\nfunc Serve() {}\n",
        "server/b.go": "package server\n",
        "server/b_test.go": "package server\n",
        "main.go": 'package main\nimport "github.com/acme/app/server"\nfunc main() { server.Serve() }\n',
    }
    assert imported(files, "main.go", {"go.mod": "module github.com/acme/app\n"}) == {"server/a.go", "server/b.go"}
    assert imported(files, "main.go") == set()


def test_a_name_is_handed_on_by_an_include_and_not_by_a_namespace() -> None:
    include = {
        "a.c": '#include "b.h"\nvoid f() { g(); }\n',
        "b.h": '#include "c.h"\n',
        "c.h": "void g() {}\nvoid h() {}\n",
    }
    other = {"d.c": "void g() {}\n"}
    assert called(include | other, "a.c") == {"c.h:g"}
    spaces = {
        "A.cs": "using Shop;\nclass A { void F() { new Store(); } }\n",
        "B.cs": "using Core;\nnamespace Shop { class Order {} }\n",
        "C.cs": "namespace Core { class Store {} }\n",
        "D.cs": "namespace Other { class Store {} }\n",
    }
    assert called(spaces, "A.cs") == set()


def test_a_java_package_hands_on_nothing_that_its_files_import() -> None:
    user = "package a;\nimport shop.*;\nclass A { void f() { new Store(); } }\n"
    stores = {f"{name}/Store.java": f"package {name};\nclass Store {{}}\n" for name in ("core", "other", "shop")}
    own = stores.pop("shop/Store.java")
    for order in ("class Order { Store store; }", "class Order { class Inner { class Store {} } Store store; }"):
        files = stores | {"a/A.java": user, "shop/B.java": f"package shop;\nimport core.Store;\n{order}\n"}
        assert called(files, "a/A.java") == set()
        assert called(files | {"shop/Store.java": own}, "a/A.java") == {"shop/Store.java:Store"}


def test_in_php_a_class_is_found_by_what_the_file_of_another_one_imports() -> None:
    files = {
        "src/Run.php": "<?php\nnamespace App;\nuse Doc\\Query;\nclass Run { function f() { new Query\\Parser(); } }\n",
        "src/Query.php": "<?php\nnamespace Doc;\nuse Doc\\Query\\Parser;\nclass Query { function g() {} }\n",
        "src/Query/Parser.php": "<?php\nnamespace Doc\\Query;\nclass Parser {}\n",
        "src/Other/Parser.php": "<?php\nnamespace Doc\\Other;\nclass Parser {}\n",
    }
    assert called(files, "src/Run.php") == {"src/Query/Parser.php:Parser"}


def called(files: dict[str, str], path: str) -> set[str]:
    """The definitions that a file calls."""
    return {
        f"{link.target_path}:{link.target_symbol}"
        for link in resolver_of(files).links_of(path)
        if link.type is EdgeType.CALLS and link.confidence >= THROUGH_A_MODULE
    }
