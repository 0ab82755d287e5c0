"""Who defines which name, who needs which name, and where files stand: what resolving asks, kept by file.

Everything is registered by file and taken back by file, so that a change costs what it touches.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar

from sylk_ray.codebase.outline import Outline, ReferenceKind, Symbol, SymbolKind

T = TypeVar("T")
_NO_NAMES: frozenset[str] = frozenset()
_SEPARATOR = re.compile(r"[./\\()]|::")


class Tables:
    """The names of all files of a repository. Inner dictionaries stand for ordered sets."""

    def __init__(self) -> None:
        self.outlines: dict[str, Outline] = {}
        self.packages: dict[str, dict[str, None]] = {}
        self._defining: dict[str, dict[str, list[Symbol]]] = {}
        self._by_qualified: dict[str, dict[str, list[Symbol]]] = {}
        self._tops: dict[str, frozenset[str]] = {}
        self._in_modules: dict[str, dict[str, str]] = {}
        self._folders: dict[str, dict[str, None]] = {}
        self._by_name: dict[str, dict[str, None]] = {}
        self._needing: dict[str, dict[str, None]] = {}
        self._heirs: dict[str, dict[str, set[str]]] = {}
        self._unnoted: dict[str, Outline] = {}
        """Files that are not among those that need something or derive from something yet: nobody asks for them before
        a file changes."""

    def add(self, outline: Outline) -> None:
        """A file that was not there, or was removed."""
        path = outline.path
        self.outlines[path] = outline
        qualified: dict[str, list[Symbol]] = {}
        for symbol in outline.symbols:
            qualified.setdefault(symbol.qualified, []).append(symbol)
            self._defining.setdefault(symbol.name, {}).setdefault(path, []).append(symbol)
        self._by_qualified[path] = qualified
        tops = top_names(outline)
        self._tops[path] = frozenset(tops)
        self._in_modules[path] = {each.rpartition(".")[2]: each for each in reversed(tops) if "." in each}
        self._folders.setdefault(posixpath.dirname(path), {})[path] = None
        self._by_name.setdefault(posixpath.basename(path), {})[path] = None
        if outline.package:
            self.packages.setdefault(package_of(outline), {})[path] = None
        self._unnoted[path] = outline

    def _note(self) -> None:
        for path, outline in self._unnoted.items():
            for need in needs(outline):
                self._needing.setdefault(need, {})[path] = None
            for base, heir in heirs(outline):
                self._heirs.setdefault(base, {}).setdefault(path, set()).add(heir)
        self._unnoted.clear()

    def remove(self, path: str) -> Outline | None:
        """Takes back all that a file said; None if it is not known."""
        outline = self.outlines.pop(path, None)
        if outline is None:
            return None
        for name in {symbol.name for symbol in outline.symbols}:
            _drop(self._defining, name, path)
        del self._by_qualified[path], self._tops[path], self._in_modules[path]
        _drop(self._folders, posixpath.dirname(path), path)
        _drop(self._by_name, posixpath.basename(path), path)
        if outline.package:
            _drop(self.packages, package_of(outline), path)
        if self._unnoted.pop(path, None) is None:
            for need in needs(outline):
                _drop(self._needing, need, path)
            for base in {base for base, _ in heirs(outline)}:
                _drop(self._heirs, base, path)
        return outline

    def symbols(self, path: str, qualified: str) -> list[Symbol]:
        """The definitions of one file under a qualified name (overloads are several)."""
        return self._by_qualified.get(path, {}).get(qualified, [])

    def has(self, path: str, qualified: str) -> bool:
        """Whether a file defines a qualified name."""
        return qualified in self._by_qualified.get(path, ())

    def definitions(self, name: str) -> dict[str, list[Symbol]]:
        """By file, all definitions of a plain name."""
        return self._defining.get(name, {})

    @property
    def names(self) -> Iterable[str]:
        """Every plain name that something is defined under."""
        return self._defining.keys()

    def tops(self, path: str) -> frozenset[str]:
        """The names at a file's top level."""
        return self._tops.get(path, _NO_NAMES)

    def in_module(self, path: str, name: str) -> str | None:
        """The qualified name of what a file defines under a plain name in a module that is written as a block."""
        return self._in_modules[path].get(name)

    def folder(self, folder: str) -> list[str]:
        """The files of one folder, in order."""
        return sorted(self._folders.get(folder, ()))

    def only_with_suffix(self, suffix: str) -> list[str]:
        """The one file whose path ends so, at a slash; none if there are several."""
        ending = "/" + suffix.removeprefix("./").lstrip("/")
        found = [path for path in self._by_name.get(posixpath.basename(suffix), ()) if f"/{path}".endswith(ending)]
        return found if len(found) == 1 else []

    def needing(self, names: Iterable[str]) -> set[str]:
        """The files that need any of some names."""
        self._note()
        return {path for name in names for path in self._needing.get(name, ())}

    def heirs_of(self, names: set[str]) -> set[str]:
        """Some names of types with those of the types that derive from them, over any number of steps."""
        self._note()
        known, todo = set(names), list(names)
        while todo:
            for derived in self._heirs.get(todo.pop(), {}).values():
                todo.extend(derived - known)
                known |= derived
        return known


def _drop(table: dict[str, dict[str, T]], key: str, path: str) -> None:
    inner = table.get(key)
    if inner is not None:
        inner.pop(path, None)
        if not inner:
            del table[key]


def package_of(outline: Outline) -> str:
    """With dots, whatever the language writes."""
    return outline.package.replace("\\", ".").replace("::", ".")


def top_names(outline: Outline) -> list[str]:
    """The qualified names at a file's top level; within modules that are written as blocks too."""
    modules = {symbol.qualified for symbol in outline.symbols if symbol.kind is SymbolKind.MODULE}
    return [
        symbol.qualified
        for symbol in outline.symbols
        if "." not in symbol.qualified
        or symbol.name == symbol.qualified
        or symbol.qualified.rpartition(".")[0] in modules
    ]


def heirs(outline: Outline) -> list[tuple[str, str]]:
    """(name of the base, name of the type) of all that a file's types derive from, and (type, field) of their fields.

    Who goes through the second depends on what the first means."""
    types = {symbol.qualified for symbol in outline.symbols if symbol.kind is SymbolKind.TYPE}
    derived = [
        (each.name, each.within.rpartition(".")[2]) for each in outline.references if each.kind is ReferenceKind.INHERIT
    ]
    fields = [
        (words_of(each.type)[-1], words_of(each.name)[-1])
        for each in outline.bindings
        if each.within in types and words_of(each.type) and words_of(each.name)
    ]
    return derived + fields


def needs(outline: Outline) -> set[str]:
    """The names that a file's links depend on: what it refers to, and with a ``/`` before it what files it imports."""
    found: set[str] = set()
    found.update(reference.name for reference in outline.references)
    for receiver in {reference.receiver for reference in outline.references}:
        found.update(words_of(receiver))
    for binding in outline.bindings:
        found.update(words_of(binding.type))
    for imported in outline.imports:
        found.add(imported.module)
        words = words_of(imported.module)
        found.update(f"/{word}" for word in words)
        found.update(words)
        for there, here in imported.names:
            found.update((there, here, f"/{there}"))
        if imported.alias:
            found.add(imported.alias)
        if not words or imported.module.startswith(".") or imported.module.endswith(("/", ".")):
            found.add("/__init__")
            found.add("/index")
    folders = outline.path.split("/")[:-1]
    if outline.language == "rust":
        found.update(f"/{folder}" for folder in (*folders, "lib", "main", "mod"))
    elif any(imported.relative or imported.module.startswith(".") for imported in outline.imports):
        found.update(f"/{folder}" for folder in folders)
    return found


@lru_cache(maxsize=1 << 16)
def words_of(path: str) -> tuple[str, ...]:
    """The names that a path of a module, a type or a receiver consists of."""
    return tuple(word for word in _SEPARATOR.split(path) if word)


def offers(outline: Outline) -> set[str]:
    """The names, with a ``/`` before each, under which imports may mean this file."""
    path = outline.path
    folder, name = posixpath.split(path)
    found = {f"/{name.split('.')[0]}", f"/{posixpath.basename(folder)}"}
    found.update(f"/{word}" for word in words_of(outline.package)[-1:])
    if outline.language in ("go", "rust", "lua"):
        found.update(f"/{word}" for word in words_of(path))
    return found
