"""The links of a repository, kept in step with its outlines."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping

from sylk_ray.codebase.outline import Import, Outline, Reference, ReferenceKind, Symbol, SymbolKind
from sylk_ray.codebase.resolution import links
from sylk_ray.codebase.resolution.calls import Calls
from sylk_ray.codebase.resolution.imports import Imports
from sylk_ray.codebase.resolution.links import Link, Place
from sylk_ray.codebase.resolution.manifests import Manifests
from sylk_ray.codebase.resolution.scope import Found, Scope, Scopes
from sylk_ray.codebase.resolution.tables import Tables, heirs, offers, package_of, words_of
from sylk_ray.knowledge.model import EdgeType

_HOLDERS = frozenset({SymbolKind.TYPE, SymbolKind.MODULE})


class Resolver:
    """Joins outlines by links. Not for several threads at once."""

    def __init__(self) -> None:
        self._tables = Tables()
        self._texts: dict[str, str] = {}
        self._manifests = Manifests({})
        self._renew()

    def _renew(self) -> None:
        self._scopes = Scopes(self._tables, Imports(self._tables, self._manifests))
        self._calls = Calls(self._scopes)

    @property
    def paths(self) -> list[str]:
        """The files that are known, in order."""
        return sorted(self._tables.outlines)

    def add(self, outlines: Iterable[Outline]) -> None:
        """Takes in what was read, for one that asks for the links of every file after its next ``update``."""
        for outline in outlines:
            self._tables.remove(outline.path)
            self._tables.add(outline)

    def update(
        self,
        outlines: Iterable[Outline],
        removed: Iterable[str] = (),
        manifests: Mapping[str, str | None] | None = None,
    ) -> set[str]:
        """Takes in what was read anew, and forgets what is gone.

        ``manifests`` are the texts of files named in ``manifests.NAMES``, None for one that is gone. The answer is the
        files whose links may have become others: each has to be asked for again with ``links_of``, and has none if it
        is gone.
        """
        tables = self._tables
        changed: dict[str, tuple[Outline | None, Outline | None]] = {}
        for path in removed:
            before = tables.remove(path)
            if before is not None:
                changed[path] = (before, None)
        for outline in outlines:
            before = tables.remove(outline.path)
            earlier = changed[outline.path][0] if outline.path in changed else before
            tables.add(outline)
            changed[outline.path] = (earlier, outline)
        everything = self._take_manifests(manifests or {})
        self._renew()
        if everything:
            return {*tables.outlines, *changed}
        return self._affected(changed) if changed else set()

    def _take_manifests(self, manifests: Mapping[str, str | None]) -> bool:
        before = dict(self._texts)
        for path, text in manifests.items():
            if text is None:
                self._texts.pop(path, None)
            else:
                self._texts[path] = text
        if self._texts == before:
            return False
        self._manifests = Manifests(self._texts)
        return True

    def _affected(self, changed: Mapping[str, tuple[Outline | None, Outline | None]]) -> set[str]:
        """The changed files, those that need a name whose meaning may be another now, and those whose imports may lead
        elsewhere. What a file that is looked at anew passes on, by re-exports and by its types' bases, counts too."""
        names: set[str] = set()
        shaken: set[str] = set()
        offered: set[str] = set()
        for path, (before, after) in changed.items():
            names |= _changed_names(before, after)
            if before is None or after is None or package_of(before) != package_of(after):
                for each in (before, after):
                    if each is not None:
                        offered |= offers(each) | self._offered_by_manifests(each)
            if _passes_on(before) != _passes_on(after):
                shaken.add(path)
        todo = list(self._tables.needing(offered)) + list(shaken)
        seen: set[str] = set()
        while todo:
            path = todo.pop()
            if path in seen:
                continue
            seen.add(path)
            for outline in (self._tables.outlines.get(path), changed.get(path, (None, None))[0]):
                if outline is None:
                    continue
                names |= {here for imported in outline.imports for _, here in imported.names if here != "*"}
                names |= {heir for _, heir in heirs(outline)}
                if _passes_on_everything(outline):
                    todo.extend(self._tables.needing(offers(outline) | self._offered_by_manifests(outline)))
        names = self._tables.heirs_of(names)
        return {*changed, *seen, *self._tables.needing(names)}

    def _offered_by_manifests(self, outline: Outline) -> set[str]:
        """Where a manifest gives a folder a name, its files are meant by that name."""
        folder, name = posixpath.split(outline.path)
        folder = f"{folder}/" if folder else ""
        if outline.language == "go":
            return {f"/{words_of(each)[-1]}" for each, at in self._manifests.go_modules.items() if at == folder}
        if name.startswith("index."):
            return {f"/{word}" for each in self._manifests.packages for word in words_of(each)}
        return set()

    # --- links

    def links_of(self, path: str) -> list[Link]:
        """The links that begin in a file; none if it is not known. Of several to the same place the surest."""
        return self.holding_of(path) + self.meaning_of(path)

    def holding_of(self, path: str) -> list[Link]:
        """Those to what the file itself defines: they depend on no other file."""
        found: dict[tuple[str, Place, EdgeType], Link] = {}
        outline = self._tables.outlines.get(path)
        if outline is not None:
            self._hold(outline, found)
        return list(found.values())

    def meaning_of(self, path: str) -> list[Link]:
        """Those to what the file imports, calls, uses and derives from."""
        outline = self._tables.outlines.get(path)
        if outline is None:
            return []
        scope = self._scopes.of(path)
        found: dict[tuple[str, Place, EdgeType], Link] = {}
        self._import(scope, found)
        for reference in outline.references:
            # Half of them are of elsewhere, and looking for them takes as long as for the others.
            if self._scopes.may_be_defined(reference.name):
                self._refer(scope, reference, found)
        return list(found.values())

    def defines(self, path: str, qualified: str) -> bool:
        """Whether a file has a definition of that name."""
        return bool(self._tables.symbols(path, qualified))

    def external_modules(self, path: str) -> list[tuple[str, int]]:
        """What a file imports from outside of the repository: each module as written, and the line, once."""
        if path not in self._tables.outlines:
            return []
        found: dict[str, int] = {}
        for imported, files in self._scopes.of(path).files_of:
            if not files and not imported.relative and imported.module:
                found.setdefault(imported.module, imported.line)
        return list(found.items())

    def _hold(self, outline: Outline, found: dict[tuple[str, Place, EdgeType], Link]) -> None:
        for symbol in outline.symbols:
            holder = symbol.qualified[: -len(symbol.name)].rstrip(".")
            holds = self._tables.symbols(outline.path, holder) if holder else []
            place = Place(outline.path, symbol.qualified)
            if not any(each.kind in _HOLDERS for each in holds):
                if not holds:
                    self._add(found, outline.path, "", place, EdgeType.DEFINES, 1.0, symbol.start_line)
            else:
                self._add(found, outline.path, holder, place, EdgeType.CONTAINS, 1.0, symbol.start_line)

    def _import(self, scope: Scope, found: dict[tuple[str, Place, EdgeType], Link]) -> None:
        for imported, files in scope.files_of:
            for path in files:
                if path != scope.path:
                    self._add(found, scope.path, "", Place(path), EdgeType.IMPORTS, links.SAME_FILE, imported.line)
            for _, here in imported.names:
                self._import_name(scope, imported, here, found)

    def _import_name(
        self, scope: Scope, imported: Import, here: str, found: dict[tuple[str, Place, EdgeType], Link]
    ) -> None:
        if here == "*":
            return
        if definition := scope.imported(here):
            place, sure = definition
            self._add(found, scope.path, "", place, EdgeType.IMPORTS, sure, imported.line)
        else:
            for path in scope.module_files(here):
                if path != scope.path:
                    self._add(found, scope.path, "", Place(path), EdgeType.IMPORTS, links.SAME_FILE, imported.line)

    def _refer(self, scope: Scope, reference: Reference, found: dict[tuple[str, Place, EdgeType], Link]) -> None:
        if reference.kind is ReferenceKind.CALL:
            targets, of = self._calls.targets(scope, reference), EdgeType.CALLS
        else:
            written = f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name
            inherits = reference.kind is ReferenceKind.INHERIT
            around = reference.within.rpartition(".")[0] if inherits else reference.within
            typed = scope.type(written, around)
            targets: list[Found] = [typed] if typed else []
            of = EdgeType.IMPLEMENTS if inherits else EdgeType.REFERENCES
        for place, sure in targets:
            if of is not EdgeType.CALLS and place == Place(scope.path, reference.within):
                continue
            place, sure = self._defined(scope, place, sure)
            self._add(found, scope.path, reference.within, place, of, sure, reference.line)

    def _defined(self, scope: Scope, place: Place, sure: float) -> Found:
        """For a prototype in a header the definition, if there is but one."""
        if scope.outline.language not in ("c", "cpp"):
            return place, sure
        symbols = self._tables.symbols(place.path, place.symbol)
        if not symbols or not all(_is_prototype(each) for each in symbols):
            return place, sure
        elsewhere = [
            path
            for path, others in self._tables.definitions(symbols[0].name).items()
            if any(each.qualified == place.symbol and not _is_prototype(each) for each in others)
        ]
        if len(elsewhere) != 1:
            return place, sure
        return Place(elsewhere[0], place.symbol), min(sure, links.THROUGH_A_MODULE)

    def _add(
        self,
        found: dict[tuple[str, Place, EdgeType], Link],
        path: str,
        symbol: str,
        target: Place,
        of: EdgeType,
        sure: float,
        line: int,
    ) -> None:
        key = (symbol, target, of)
        known = found.get(key)
        if known is not None and known.confidence >= sure and line in known.lines:
            return
        before = known.lines if known else ()
        found[key] = Link(
            source_path=path,
            source_symbol=symbol,
            target_path=target.path,
            target_symbol=target.symbol,
            type=of,
            confidence=max(sure, known.confidence) if known else sure,
            lines=before if line in before else (*before, line),
        )


def _is_prototype(symbol: Symbol) -> bool:
    return symbol.signature.endswith(";") and symbol.kind in (SymbolKind.FUNCTION, SymbolKind.METHOD)


def _changed_names(before: Outline | None, after: Outline | None) -> set[str]:
    """The names of the definitions that one has and the other has not, or in another way."""
    changed = {name for _, name, *_ in _told(before) ^ _told(after)}
    if before and after and (package_of(before) != package_of(after) or before.language != after.language):
        changed |= {each.name for outline in (before, after) for each in outline.symbols}
    # A name with dots, Elixir's of modules, is also meant by its end.
    changed |= {name.rpartition(".")[2] for name in changed}
    return changed | {"default"} if changed else changed


def _told(outline: Outline | None) -> set[tuple[str, str, SymbolKind, bool, bool, bool]]:
    return {
        (each.qualified, each.name, each.kind, each.exported, _is_prototype(each), "export default" in each.signature)
        for each in (outline.symbols if outline else ())
    }


def _passes_on(outline: Outline | None) -> object:
    """What others may see through a file: its imports, the bases of its types and the types of their fields."""
    if outline is None:
        return None
    imports = [(each.module, each.names, each.alias, each.relative) for each in outline.imports]
    return imports, heirs(outline), outline.bindings


def _passes_on_everything(outline: Outline) -> bool:
    """Whether a name that it does not write may be had from it: it imports all of another file."""
    return any(
        ("*", "*") in each.names or (not each.names and outline.language in ("c", "cpp", "ruby", "bash"))
        for each in outline.imports
    )
