"""To which definitions a call leads, with how sure that is."""

from __future__ import annotations

from sylk_ray.codebase.outline import Reference, SymbolKind
from sylk_ray.codebase.resolution import links
from sylk_ray.codebase.resolution.families import ABOVE, COMMON, OWN
from sylk_ray.codebase.resolution.links import Place
from sylk_ray.codebase.resolution.scope import Found, Scope, Scopes

_CALLED_PLAINLY = frozenset({SymbolKind.FUNCTION, SymbolKind.TYPE})
_MEMBERS = frozenset({SymbolKind.METHOD})
_CALLED_OR_MEMBERS = _CALLED_PLAINLY | _MEMBERS


class Calls:
    """Resolves the calls of any file of one state of a repository."""

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes

    def targets(self, scope: Scope, call: Reference) -> list[Found]:
        """The places that may be meant; several where none is surer than another."""
        if not call.receiver:
            return self._plain(scope, call)
        found = self._with_receiver(scope, call, call.receiver.replace("::", ".").replace("\\", "."))
        if found:
            return [found]
        if scope.is_foreign(call.receiver) or self._has_known_type(scope, call):
            return []
        return self._by_name(scope, call.name, _MEMBERS, top=False)

    def _plain(self, scope: Scope, call: Reference) -> list[Found]:
        found = scope.plain(call.name, call.within)
        if found:
            return [found]
        if scope.imports_name(call.name):
            return []
        if scope.implicit_self:
            return self._by_name(scope, call.name, _CALLED_OR_MEMBERS, top=False)
        return self._by_name(scope, call.name, _CALLED_PLAINLY, top=True)

    def _with_receiver(self, scope: Scope, call: Reference, receiver: str) -> Found | None:
        first, _, rest = receiver.partition(".")
        own = scope.own_type(call.within)
        if receiver.startswith("@"):
            return self._through(scope, scope.type_of(receiver, own), call.name)
        if first in ABOVE or receiver in ABOVE:
            member = scope.inherited(own, call.name) if own else None
            return (member, links.IMPORTED) if member else None
        if first in OWN and own:
            if not rest:
                member = scope.member(own, call.name)
                if member is None:
                    return None
                same = member.path == scope.path and member.symbol.rpartition(".")[0] == own
                return member, links.SAME_SCOPE if same else links.IMPORTED
            return self._through_path(scope, own, rest.split("."), call.name)
        if receiver.endswith("()"):
            made = scope.type(receiver[:-2], call.within) if receiver != "()" else None
            return self._through(scope, made, call.name)
        if typed := scope.type_of(first, call.within):
            if not rest:
                return self._through(scope, typed, call.name)
            place = typed[0]
            return self._through_path(self._scopes.of(place.path), place.symbol, rest.split("."), call.name)
        if found := scope.qualified(receiver, call.name, call.within):
            return found
        return None

    def _through_path(self, scope: Scope, own: str, fields: list[str], name: str) -> Found | None:
        """A member of a field of a field…: each must have a type that is known."""
        for at, field in enumerate(fields):
            typed = _field_type(scope, own, field)
            if typed is None:
                return None
            if at == len(fields) - 1:
                return self._through(scope, typed, name)
            scope, own = self._scopes.of(typed[0].path), typed[0].symbol
        return None

    def _through(self, scope: Scope, typed: Found | None, name: str) -> Found | None:
        if typed is None:
            return None
        place, sure = typed
        member = self._scopes.of(place.path).member(place.symbol, name)
        return (member, min(sure, links.THROUGH_A_TYPE)) if member else None

    def _has_known_type(self, scope: Scope, call: Reference) -> bool:
        """Whether the receiver's type is one of this repository, which then just has no such member."""
        first = call.receiver.replace("::", ".").split(".")[0]
        if scope.type_of(first, call.within) is not None:
            return "." not in call.receiver
        known = scope.plain(first, call.within)
        return known is not None and bool(first[:1].isupper()) and "." not in call.receiver

    def _by_name(self, scope: Scope, name: str, kinds: frozenset[SymbolKind], *, top: bool) -> list[Found]:
        """What the name alone says: sure to a degree where there is one, less where there are few."""
        if name in COMMON or len(name) < 3:
            return []
        found = scope.candidates(name, kinds, top=top)
        if not 0 < len(found) <= links.MOST_CANDIDATES:
            return []
        sure = max(links.ONLY_ONE / len(found), links.LEAST)
        return [(place, sure) for place in found]


def _field_type(scope: Scope, own: str, field: str) -> Found | None:
    for spelled in (field, f"self.{field}", f"this.{field}"):
        typed = scope.type_of(spelled, own)
        if typed is not None:
            return typed
    return None


__all__ = ["Calls", "Place"]
