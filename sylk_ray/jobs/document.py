"""A YAML text as plain data, together with where in the text each value stands.

What PyYAML accepts silently is refused here: duplicate keys, tags, aliases that contain themselves or that
expand without end.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec
import yaml

from sylk_ray.jobs.problems import JobProblems, Path, Problem, told_path
from sylk_ray.jobs.scalars import plain_value
from sylk_ray.jobs.syntax import MAX_DEPTH, PLAIN, QUOTED, compose

MAX_VALUES = 100_000
"""How many values a document may hold once its aliases are expanded."""
MAX_EXPANDED_CHARACTERS = 8_000_000

_ACCEPTED_TAGS = {
    PLAIN,
    QUOTED,
    "sequence",
    "mapping",
    *(f"tag:yaml.org,2002:{t}" for t in ("str", "seq", "map")),
}
_MERGE = "<<"


class Place(msgspec.Struct):
    """Where one value stands, and the places of what is in it."""

    line: int
    column: int
    text: str | None = None
    """A scalar as it was written, without its quotes; None for lists and mappings."""
    fields: dict[str, Place] = msgspec.field(default_factory=dict[str, "Place"])
    keys: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict[str, tuple[int, int]])
    items: list[Place] = msgspec.field(default_factory=list["Place"])

    def at(self, step: str | int) -> Place | None:
        """The place of one field or item; None when there is no such."""
        if isinstance(step, str):
            return self.fields.get(step)
        return self.items[step] if 0 <= step < len(self.items) else None


class Document(msgspec.Struct):
    data: dict[str, Any]
    root: Place


def read_document(text: str, source: str) -> Document:
    """Keys are text, values are what ``scalars`` makes of them. Raises JobProblems."""
    top = compose(text, source)
    builder = _Builder()
    try:
        built = builder.build(top, ())
    except _TooMuch:
        limit = f"the job holds more than {MAX_VALUES:,} values"
        builder.report((), top, f"{limit} once its aliases are expanded", "use fewer aliases (*name)")
        raise JobProblems(source, builder.problems) from None
    data: object = built.value
    if not builder.problems and not isinstance(data, dict):
        builder.report((), top, "a job is a mapping of fields", "begin with: name: my_job")
    if builder.problems:
        raise JobProblems(source, builder.problems)
    return Document(cast("dict[str, Any]", data), built.place)


class _TooMuch(Exception):
    """The aliases expand to more than a job can need."""


class _Built(msgspec.Struct):
    """A value with its size: how many values and characters it expands to, and how deep it is."""

    value: Any
    place: Place
    values: int = 1
    characters: int = 0
    depth: int = 1

    def count(self, inner: _Built) -> None:
        self.values += inner.values
        self.characters += inner.characters
        self.depth = max(self.depth, inner.depth + 1)
        if self.values > MAX_VALUES or self.characters > MAX_EXPANDED_CHARACTERS or self.depth > MAX_DEPTH * 2:
            raise _TooMuch


class _Builder:
    """Builds each node once, so an alias costs nothing: it shares the data and the place of its anchor."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._built: dict[int, _Built] = {}
        self._open: set[int] = set()

    def report(self, path: Path, node: yaml.Node, message: str, hint: str = "") -> None:
        self.problems.append(Problem(told_path(path), *_position(node), message, hint))

    def build(self, node: yaml.Node, path: Path) -> _Built:
        key = id(node)
        if key in self._open:
            self.report(path, node, "this alias contains itself", "write the value out")
            return _Built(None, Place(*_position(node)))
        if key not in self._built:
            self._open.add(key)
            self._built[key] = self._build(node, path)
            self._open.discard(key)
        return self._built[key]

    def _build(self, node: yaml.Node, path: Path) -> _Built:
        if node.tag not in _ACCEPTED_TAGS:
            told = node.tag[:80].replace("tag:yaml.org,2002:", "!!")
            self.report(path, node, f"the tag {told} has no meaning in a job", "remove it")
            return _Built(None, Place(*_position(node)))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return self._list(node, path)
        return self._scalar(node, path)

    def _scalar(self, node: yaml.Node, path: Path) -> _Built:
        text = str(node.value)
        if not text.isprintable() and any("\ud800" <= character <= "\udfff" for character in text):
            self.report(path, node, "half of a surrogate pair is not a character", r"write \U0001F600, not \uD83D")
            text = ""
        value = plain_value(text) if node.tag == PLAIN else text
        return _Built(value, Place(*_position(node), text=text), characters=len(text))

    def _list(self, node: yaml.SequenceNode, path: Path) -> _Built:
        found = _Built([], Place(*_position(node)))
        for index, item in enumerate(node.value):
            inner = self.build(item, (*path, index))
            found.value.append(inner.value)
            found.place.items.append(inner.place)
            found.count(inner)
        return found

    def _mapping(self, node: yaml.MappingNode, path: Path) -> _Built:
        found = _Built({}, Place(*_position(node)))
        own: dict[str, yaml.Node] = {}
        for key_node, value_node in node.value:
            if key_node.tag == PLAIN and key_node.value == _MERGE:
                self._merge(found, value_node, path)
            elif not isinstance(key_node, yaml.ScalarNode):
                self.report(path, key_node, "the name of a field is text, not a list or a mapping")
            elif key_node.value in own:
                first = own[key_node.value].start_mark.line + 1
                hint = f"it is also on line {first}; remove one of them"
                self.report((*path, key_node.value), key_node, f'the field "{key_node.value}" is here twice', hint)
            else:
                own[key_node.value] = key_node
                self._field(found, key_node, value_node, path)
        return found

    def _field(self, found: _Built, key_node: yaml.Node, value_node: yaml.Node, path: Path) -> None:
        """The key is the text that was written: ``on`` and ``1`` are names like any other."""
        key = self._scalar(key_node, path).place.text or ""
        inner = self.build(value_node, (*path, key))
        found.value.pop(key, None)
        found.value[key] = inner.value
        found.place.fields[key] = inner.place
        found.place.keys[key] = _position(key_node)
        found.characters += len(key)
        found.count(inner)

    def _merge(self, found: _Built, node: yaml.Node, path: Path) -> None:
        """``<<: *base`` or ``<<: [*one, *two]``: fields that are already there win."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for source in sources:
            inner = self.build(source, path)
            value: object = inner.value
            if not isinstance(value, dict):
                self.report(path, node, "<< merges mappings, and this is not one", "give an alias of a mapping")
                continue
            found.value = {**cast("dict[str, Any]", value), **found.value}
            found.place.fields = {**inner.place.fields, **found.place.fields}
            found.place.keys = {**inner.place.keys, **found.place.keys}
            found.count(inner)


def _position(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1
