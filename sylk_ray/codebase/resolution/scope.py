"""What a name means within one file: by its definitions, its imports, its package, and what its types are.

A lookup goes outwards, from what surely is meant to what may be: the definitions around, the file, what is imported,
the package, and for types and functions the only one of that name in the repository.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from itertools import chain

from sylk_ray.codebase.outline import Import, Outline, ReferenceKind, SymbolKind
from sylk_ray.codebase.resolution import links
from sylk_ray.codebase.resolution.families import HANDED_ON, IMPLICIT_SELF, KEEPING, PACKAGED, family
from sylk_ray.codebase.resolution.imports import Imports
from sylk_ray.codebase.resolution.links import Place
from sylk_ray.codebase.resolution.tables import Tables, package_of

_MOST_STEPS = 4
"""Of re-exports followed one after the other, and of base types."""
_DEEPEST = 32
"""Members of base types that are looked for to know another base type."""
_NOWHERE: Collection[str] = ()
_TYPES = frozenset({SymbolKind.TYPE})
_SURROUNDED = frozenset({SymbolKind.FUNCTION, SymbolKind.METHOD, SymbolKind.MODULE})
Found = tuple[Place, float]


class Scopes:
    """The scopes of all files of one state of a repository, made when they are first asked for."""

    def __init__(self, tables: Tables, imports: Imports) -> None:
        self.tables = tables
        self.imports = imports
        self.looked_for: set[tuple[str, str, str]] = set()
        """Members of base types that are being looked for: path, type and name."""
        self._made: dict[str, Scope] = {}
        self._candidates: dict[tuple[str, str, frozenset[SymbolKind], bool], list[Place]] = {}
        self._by_qualified: dict[str, dict[str, dict[str, None]]] = {}

    def of(self, path: str) -> Scope:
        """The scope of a known file."""
        scope = self._made.get(path)
        if scope is None:
            scope = self._made[path] = Scope(self, self.tables.outlines[path])
        return scope

    def may_be_defined(self, name: str) -> bool:
        """Whether a file here defines a name, or gives it to what it imports: most names are of elsewhere."""
        return "." in name or name == "default" or bool(self.tables.definitions(name)) or name in self._given

    @cached_property
    def _given(self) -> frozenset[str]:
        """What names that were imported are called, and the ends of those with dots (Elixir's modules)."""
        imports = chain.from_iterable(outline.imports for outline in self.tables.outlines.values())
        called = {here for each in imports for there, here in each.names if here != there}
        return frozenset(called.union(name.rpartition(".")[2] for name in self.tables.names if "." in name))

    def giving(self, name: str, files: list[str]) -> list[str]:
        """Those of some files that may give a name to who imports them, in order. There are hundreds where a C#
        namespace is imported, and one or two of them define it."""
        definitions = self.tables.definitions(name.rpartition(".")[2])
        outlines = self.tables.outlines
        return [path for path in files if path in definitions or outlines[path].language not in KEEPING]

    def defining(self, name: str, qualified: str) -> Collection[str]:
        """The files that define a plain name under a qualified one, in order. Names such as ``get`` are defined by
        hundreds, each under another one, so they are told apart once for all who ask."""
        known = self._by_qualified.get(name)
        if known is None:
            known = self._by_qualified[name] = {}
            for path, symbols in sorted(self.tables.definitions(name).items()):
                for symbol in symbols:
                    known.setdefault(symbol.qualified, {})[path] = None
        return known.get(qualified, _NOWHERE)

    def candidates(self, name: str, kin: str, kinds: frozenset[SymbolKind], *, top: bool) -> list[Place]:
        """All definitions of a name in files of a family, of the kinds; ``top``: at their top level only."""
        asked = (name, kin, kinds, top)
        known = self._candidates.get(asked)
        if known is None:
            found: dict[Place, None] = {}
            for path, symbols in self.tables.definitions(name).items():
                if family(self.tables.outlines[path].language) == kin:
                    tops = self.tables.tops(path) if top else ()
                    for symbol in symbols:
                        if symbol.kind in kinds and (not top or symbol.qualified in tops):
                            found[Place(path, symbol.qualified)] = None
            known = self._candidates[asked] = list(found)
        return known


class Scope:
    """One file's."""

    def __init__(self, scopes: Scopes, outline: Outline) -> None:
        self._scopes = scopes
        self._tables = scopes.tables
        self.outline = outline
        self.path = outline.path
        self.implicit_self = outline.language in IMPLICIT_SELF
        self._family = family(outline.language)
        self.modules: dict[str, list[str]] = {}
        """What an imported module is called here, with its files; none of them for somebody else's."""
        self._named: dict[str, tuple[Import, str, list[str]]] = {}
        self._stars: list[str] = []
        self.files_of: list[tuple[Import, list[str]]] = []
        for imported in outline.imports:
            files = scopes.imports.files(outline, imported)
            self.files_of.append((imported, files))
            self._add(imported, files)
        self._bases: dict[str, list[tuple[str, str]]] = {}
        for each in outline.references:
            if each.kind is ReferenceKind.INHERIT:
                self._bases.setdefault(each.within, []).append((each.receiver, each.name))
        self._types = {(each.within, each.name): each.type for each in outline.bindings}
        self._below: dict[str, list[str]] = {}
        self._known: dict[tuple[str, str], Found | None] = {}
        self._qualified: dict[tuple[str, str, str], Found | None] = {}
        self._exported: dict[tuple[str, int], Place | None] = {}
        self._starred: dict[str, Place | None] = {}
        self._own: dict[str, str] = {}

    def _add(self, imported: Import, files: list[str]) -> None:
        language = self.outline.language
        if not imported.names:
            name = imported.alias or _own_name(imported.module, language)
            self.modules[name] = files
            if language in ("c", "cpp", "ruby", "bash"):
                self._stars.extend(files)
            elif not imported.alias:
                self.modules.setdefault(imported.module, files)
        for there, here in imported.names:
            if there == "*":
                self._stars.extend(files)
            else:
                self._named[here] = (imported, there, files)

    # --- names

    def is_foreign(self, receiver: str) -> bool:
        """Whether what stands before a name was imported, and is not of this repository."""
        first = receiver.split("(")[0].replace("::", ".").split(".")[0]
        if receiver in self.modules or first in self.modules:
            return not self.modules.get(receiver, self.modules.get(first))
        return first in self._named and self.imported(first) is None and not self.module_files(first)

    def imports_name(self, name: str) -> bool:
        """Whether a plain name is imported, from wherever."""
        return name in self._named

    def imported(self, name: str, steps: int = _MOST_STEPS) -> Found | None:
        """A definition that is imported by name."""
        known = self._named.get(name)
        if known is None or steps == 0:
            return None
        _, there, files = known
        for path in files:
            if path == self.path and there == name:
                continue
            found = self._scopes.of(path).exported(there, steps - 1)
            if found:
                return found, links.IMPORTED
        for path in self._submodules(name):
            found = self._scopes.of(path).exported(there, steps - 1) if path != self.path else None
            if found:
                return found, links.IMPORTED
        return None

    def module_files(self, name: str) -> list[str]:
        """The files of a module that has this name here."""
        if name in self.modules:
            return self.modules[name]
        return self._submodules(name)

    def _submodules(self, name: str) -> list[str]:
        known = self._named.get(name)
        if known is None:
            return []
        if name not in self._below:
            self._below[name] = self._scopes.imports.submodule(self.outline, known[0], known[1])
        return self._below[name]

    def exported(self, name: str, steps: int = _MOST_STEPS) -> Place | None:
        """What a name of this file means to one that imports it: a definition, or a re-export."""
        if not self._scopes.may_be_defined(name):
            return None
        key = (name, steps)
        if key not in self._exported:
            self._exported[key] = self._find_exported(name, steps)
        return self._exported[key]

    def _find_exported(self, name: str, steps: int) -> Place | None:
        if self._tables.has(self.path, name):
            return Place(self.path, name)
        if name == "default":
            return self._default()
        if inner := self._tables.in_module(self.path, name):
            return Place(self.path, inner)
        if steps == 0 or self.outline.language in KEEPING:
            return None
        if found := self.imported(name, steps):
            return found[0]
        for path in self._stars if self.outline.language in HANDED_ON else ():
            if path != self.path and (place := self._scopes.of(path).exported(name, steps - 1)):
                return place
        return None

    def _default(self) -> Place | None:
        for symbol in self.outline.symbols:
            if "." not in symbol.qualified and "export default" in symbol.signature:
                return Place(self.path, symbol.qualified)
        shown = [each for each in self.outline.symbols if each.exported and "." not in each.qualified]
        return Place(self.path, shown[0].qualified) if len(shown) == 1 else None

    def plain(self, name: str, within: str) -> Found | None:
        """What a name without anything before it means, in a definition of this file."""
        key = (within, name)
        if self._scopes.looked_for:
            return self._plain(name, within)
        if key not in self._known:
            self._known[key] = self._plain(name, within)
        return self._known[key]

    def _plain(self, name: str, within: str) -> Found | None:
        tables = self._tables
        around = within
        while around:
            if self._tables.has(self.path, f"{around}.{name}") and self._seen_from_within(around):
                return Place(self.path, f"{around}.{name}"), links.SAME_SCOPE
            if self.implicit_self and self._is_type(around) and (member := self.member(around, name)):
                return member, links.SAME_SCOPE if member.path == self.path else links.IMPORTED
            around = around.rpartition(".")[0]
        if tables.has(self.path, name):
            return Place(self.path, name), links.SAME_FILE
        if found := self.imported(name):
            return found
        if place := self._through_stars(name):
            return place, links.THROUGH_A_MODULE
        return self._in_package(name)

    def _through_stars(self, name: str) -> Place | None:
        """What is meant by a name of the files that are taken in as a whole."""
        if not self._stars or not self._scopes.may_be_defined(name):
            return None
        if name not in self._starred:
            others = (path for path in self._scopes.giving(name, self._stars) if path != self.path)
            places = (self._scopes.of(path).exported(name) for path in others)
            self._starred[name] = next(filter(None, places), None)
        return self._starred[name]

    def _seen_from_within(self, qualified: str) -> bool:
        if self.implicit_self:
            return True
        kinds = {symbol.kind for symbol in self._tables.symbols(self.path, qualified)}
        return bool(kinds & _SURROUNDED)

    def _is_type(self, qualified: str) -> bool:
        symbols = self._tables.symbols(self.path, qualified)
        return not symbols or any(symbol.kind in (SymbolKind.TYPE, SymbolKind.MODULE) for symbol in symbols)

    def _in_package(self, name: str) -> Found | None:
        language = self.outline.language
        if language == "go":
            folder = self.path.rpartition("/")[0]
            for path in self._scopes.defining(name, name):
                if path.rpartition("/")[0] == folder and path.endswith(".go"):
                    return Place(path, name), links.SAME_PACKAGE
        elif language in PACKAGED and self.outline.package:
            package = self._tables.packages.get(package_of(self.outline), _NOWHERE)
            for path in self._scopes.defining(name, name):
                if path in package:
                    return Place(path, name), links.SAME_PACKAGE
        return None

    # --- types

    def type(self, written: str, within: str) -> Found | None:
        """The type that a written one means: ``Store``, ``storage.Store``, ``crate::Store``."""
        before, _, name = written.replace("::", ".").replace("\\", ".").strip(".").rpartition(".")
        found = self.qualified(before, name, within) if before else self.plain(name, within)
        if found is None and not (self.imports_name(name) or (before and self.is_foreign(before))):
            found = self.only_one(name, _TYPES)
        return found

    def qualified(self, before: str, name: str, within: str) -> Found | None:
        """A name with a module, a type or a namespace before it."""
        key = (before, name, within)
        # Within a look for base types an answer may be cut short: it is neither kept nor taken from what was kept, so
        # that none depends on what was asked before.
        if self._scopes.looked_for:
            return self._find_qualified(before, name, within)
        if key not in self._qualified:
            self._qualified[key] = self._find_qualified(before, name, within)
        return self._qualified[key]

    def _find_qualified(self, before: str, name: str, within: str) -> Found | None:
        files = self.module_files(before) or self.module_files(before.replace(".", "::"))
        for path in self._scopes.giving(name, files):
            if place := self._scopes.of(path).exported(name):
                return place, links.THROUGH_A_MODULE
        first, _, rest = before.partition(".")
        inner = f"{rest}.{name}" if rest else name
        for path in self._scopes.giving(inner, self.module_files(first)):
            if place := self._scopes.of(path).exported(inner):
                return place, links.THROUGH_A_MODULE
        if self._tables.has(self.path, f"{before}.{name}"):
            return Place(self.path, f"{before}.{name}"), links.SAME_FILE
        holder = self.plain(first, within)
        if holder is not None:
            place, sure = holder
            owner = ".".join(part for part in (place.symbol, rest) if part)
            if member := self._scopes.of(place.path).member(owner, name):
                return member, min(sure, links.IMPORTED)
            return None
        by_full_name = f"{before}.{name}"
        for path in self._scopes.defining(name, by_full_name):
            if self._is_kin(path):
                return Place(path, by_full_name), links.THROUGH_A_TYPE
        return self._of_package(before, name)

    def _of_package(self, before: str, name: str) -> Found | None:
        for path in sorted(self._tables.packages.get(before, ())):
            if self._tables.has(path, name):
                return Place(path, name), links.IMPORTED
        return None

    def member(self, qualified: str, name: str, steps: int = _MOST_STEPS) -> Place | None:
        """A member of a type of this file, its own or one of a base type's."""
        if self._tables.has(self.path, f"{qualified}.{name}"):
            return Place(self.path, f"{qualified}.{name}")
        if elsewhere := self._extended(qualified, name):
            return elsewhere
        return self.inherited(qualified, name, steps)

    def _extended(self, qualified: str, name: str) -> Place | None:
        """Where a type's members may stand in other files: Go, Rust, Swift, C++, C#, Ruby."""
        if self.outline.language not in ("go", "rust", "swift", "cpp", "c", "csharp", "ruby", "kotlin"):
            return None
        wanted = f"{qualified}.{name}"
        for path in self._scopes.defining(name, wanted):
            if path != self.path and self._is_kin(path):
                return Place(path, wanted)
        return None

    def inherited(self, qualified: str, name: str, steps: int = _MOST_STEPS) -> Place | None:
        """A member of one of a type's base types."""
        asked, under_way = (self.path, qualified, name), self._scopes.looked_for
        # `class Store(Store.Base)`: where the base type is, is asked of the base type.
        if steps == 0 or asked in under_way or len(under_way) >= _DEEPEST:
            return None
        under_way.add(asked)
        try:
            for before, base in self._bases.get(qualified, ()):
                found = self.type(f"{before}.{base}" if before else base, qualified.rpartition(".")[0])
                if found is None or found[0] == Place(self.path, qualified):
                    continue
                place = found[0]
                if member := self._scopes.of(place.path).member(place.symbol, name, steps - 1):
                    return member
            return None
        finally:
            under_way.remove(asked)

    def type_of(self, name: str, within: str) -> Found | None:
        """The type of a local name or a field, where the code says it."""
        around = within
        while True:
            for spelled in (name, f"this.{name}", f"self.{name}") if around != within else (name,):
                of = self._types.get((around, spelled))
                if of is not None:
                    return self.type(of, around)
            if not around:
                return None
            around = around.rpartition(".")[0]

    def own_type(self, within: str) -> str:
        """The innermost type that a definition stands in."""
        known = self._own.get(within)
        if known is None:
            known = self._own[within] = self._find_own_type(within)
        return known

    def _find_own_type(self, within: str) -> str:
        around = within
        while around:
            symbols = self._tables.symbols(self.path, around)
            if not symbols or any(symbol.kind is SymbolKind.TYPE for symbol in symbols):
                return around
            around = around.rpartition(".")[0]
        return ""

    # --- the repository

    def _is_kin(self, path: str) -> bool:
        other = self._tables.outlines[path].language
        return family(other) == self._family

    def candidates(self, name: str, kinds: frozenset[SymbolKind], *, top: bool) -> list[Place]:
        """All definitions of a name in files of this family, of the kinds; ``top``: at their top level only."""
        return self._scopes.candidates(name, self._family, kinds, top=top)

    def only_one(self, name: str, kinds: frozenset[SymbolKind]) -> Found | None:
        """The only definition of a name in the repository."""
        found = self.candidates(name, kinds, top=True)
        return (found[0], links.ONLY_ONE) if len(found) == 1 else None


def _own_name(module: str, language: str) -> str:
    """What a module is called where it is imported without a name of its own."""
    if language == "go":
        last = module.rsplit("/", 1)[-1]
        return module.rsplit("/", 2)[-2] if last[:1] == "v" and last[1:].isdigit() and "/" in module else last
    if language == "rust":
        return module.rsplit("::", 1)[-1]
    return module
