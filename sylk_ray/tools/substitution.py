"""What goes in the place of a structural match: its variables filled in, its lines indented to fit.

``$A`` is the text of a node, ``$$$ARGS`` the original text from the first to the last of several. Further
lines take the indentation of the line where the match begins; captured lines move along, unless a string or
comment runs over them, because then moving would change what they say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ast_grep_py import SgNode

_VARIABLE = re.compile(r"\$(?:\$\$)?(?P<name>[A-Z_][A-Z0-9_]*)")


def variables(text: str) -> frozenset[str]:
    """The names of the variables in a pattern, a rule or a replacement."""
    return frozenset(found["name"] for found in _VARIABLE.finditer(text))


class Match(NamedTuple):
    """A node and where it is, in characters; asked for once, since that takes a walk through the text."""

    start: int
    end: int
    node: SgNode

    @classmethod
    def of(cls, node: SgNode) -> Match:
        """The place of a node."""
        place = node.range()
        return cls(place.start.index, place.end.index, node)


@dataclass(frozen=True)
class Replacement:
    """A replacement's text, and the names that the pattern captures; other ``$NAME`` are left as they are."""

    text: str
    captured: frozenset[str]

    def applied(self, source: str, matches: Iterable[Match]) -> str:
        """The source with each match replaced. The matches are sorted and do not overlap."""
        parts: list[str] = []
        position = 0
        for match in matches:
            parts += (source[position : match.start], self._filled(source, match))
            position = match.end
        return "".join((*parts, source[position:]))

    def _filled(self, source: str, match: Match) -> str:
        outer = _indentation(source, match.start)
        first, *rest = self.text.split("\n")
        lines = [self._filled_line(source, match.node, first, outer)]
        for line in rest:
            lead = outer if line.strip() else ""
            inner = outer + _indentation(line, len(line))
            lines.append(lead + self._filled_line(source, match.node, line, inner))
        return "\n".join(lines)

    def _filled_line(self, source: str, match: SgNode, line: str, indentation: str) -> str:
        def value(variable: re.Match[str]) -> str:
            if variable["name"] not in self.captured:
                return variable[0]
            return _captured(source, match, variable["name"], indentation)

        return _VARIABLE.sub(value, line)


def _captured(source: str, match: SgNode, name: str, indentation: str) -> str:
    single = match.get_match(name)
    nodes = [single] if single is not None else match.get_multiple_matches(name)
    if not nodes:
        return ""
    start = nodes[0].range().start.index
    text = nodes[0].text() if len(nodes) == 1 else source[start : nodes[-1].range().end.index]
    was = _indentation(source, _block_start(source, nodes))
    if "\n" not in text or was == indentation or any(map(_has_leaf_over_lines, nodes)):
        return text
    first, *rest = text.split("\n")
    moved = (indentation + line.removeprefix(was) if line.startswith(was) else line for line in rest)
    return "\n".join((first, *moved))


def _block_start(source: str, nodes: Sequence[SgNode]) -> int:
    """Where the captured lines begin that share an indentation: a comment behind a block's header is captured with
    the block, but stands on the header's line."""
    starts = [node.range().start.index for node in nodes]
    if nodes[0].kind() != "comment" or _begins_line(source, starts[0]):
        return starts[0]
    return next((start for start in starts if _begins_line(source, start)), starts[0])


def _begins_line(source: str, position: int) -> bool:
    return not source[source.rfind("\n", 0, position) + 1 : position].strip()


def _has_leaf_over_lines(node: SgNode) -> bool:
    children = node.children()
    if not children:
        return "\n" in node.text().strip("\r\n")
    return any(map(_has_leaf_over_lines, children))


def _indentation(text: str, position: int) -> str:
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]
