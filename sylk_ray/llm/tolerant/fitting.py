"""Fitting a value to a JSON schema where there is one obvious way, and saying what is wrong where there is not.

It knows the part of JSON Schema (2020-12) that tools are described with: ``type``, ``enum``, ``const``, ``properties``,
``required``, ``additionalProperties``, ``items``, ``prefixItems``, ``anyOf``, ``oneOf``, ``allOf``, ``$ref`` within the
schema, and the bounds of numbers, texts and lists. What it does not know it lets pass; the tool has the last word.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any, cast

import msgspec
from msgspec import Struct

from sylk_ray.llm.tolerant.json_text import NotJson, read_json

Schema = Mapping[str, Any]
SHOWN = 60
MOST_STEPS = 20_000
DEEPEST = 100
SHORTEST = 4
"""Letters of a name that is taken for misspelt; in a shorter one a letter is too much of the name."""
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_NOTHING = ("", "None", "none", "null", "N/A", "n/a")
_ARTICLES = {"object": "an object", "array": "a list", "integer": "an integer", "null": "null"}


class Fitted(Struct, frozen=True):
    """A value that follows the schema, unless there are ``problems``: a line each, for the model."""

    value: Any
    repairs: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def fit(value: Any, schema: Schema) -> Fitted:
    """Make it follow the schema, changing forms and names and never what is meant."""
    fitting = _Fitting(schema)
    try:
        made = fitting.fit(value, schema, "")
    except _TooMuch:
        return Fitted(value, (), ("the value: it is nested too deeply; give a simpler one",))
    return Fitted(made, tuple(dict.fromkeys(fitting.repairs)), tuple(fitting.problems))


class _TooMuch(Exception):
    """Alternatives within alternatives take time without end."""


class _Fitting:
    def __init__(self, root: Schema, steps: Iterator[int] | None = None, depth: int = 0) -> None:
        self.repairs: list[str] = []
        self.problems: list[str] = []
        self._root = root
        self._steps = itertools.count() if steps is None else steps
        self._depth = depth

    def fit(self, value: Any, schema: Any, at: str) -> Any:
        if not isinstance(schema, Mapping):
            return value
        if next(self._steps) > MOST_STEPS or self._depth > DEEPEST:
            raise _TooMuch
        self._depth += 1
        try:
            return self._fit(value, self._resolved(cast("Schema", schema)), at)
        finally:
            self._depth -= 1

    def _fit(self, value: Any, schema: Schema, at: str) -> Any:
        for each in schema.get("allOf", ()):
            value = self.fit(value, each, at)
        for among in ("anyOf", "oneOf"):
            if among in schema:
                value = self._one_of(value, schema[among], at)
        value = self._typed(value, schema, at)
        if "const" in schema and value != schema["const"]:
            self._wrong(at, value, _shown(schema["const"]))
        elif "enum" in schema:
            value = self._among(value, schema["enum"], at)
        if isinstance(value, dict):
            value = self._object(cast("dict[str, Any]", value), schema, at)
        elif isinstance(value, list):
            value = self._list(cast("list[Any]", value), schema, at)
        self._bounds(value, schema, at)
        return value

    def _resolved(self, schema: Schema) -> Schema:
        for _ in range(20):
            reference = schema.get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#"):
                return schema
            target: Any = self._root
            for step in reference.removeprefix("#").split("/")[1:]:
                step = step.replace("~1", "/").replace("~0", "~")
                target = cast("Schema", target).get(step) if isinstance(target, Mapping) else None
            if not isinstance(target, Mapping):
                return {}
            schema = {**{name: each for name, each in schema.items() if name != "$ref"}, **cast("Schema", target)}
        return {}

    def _one_of(self, value: Any, schemas: list[Any], at: str) -> Any:
        """The first alternative that it follows as it is; else the only one that it can be made to follow."""
        tried = [self._try(value, each, at) for each in schemas]
        as_is = next((each for each in tried if not each.problems and not each.repairs), None)
        mended = [each for each in tried if not each.problems]
        if as_is is None and mended and all(each.value == mended[0].value for each in mended):
            as_is = mended[0]
        if as_is is not None:
            self.repairs += as_is.repairs
            return as_is.value
        if len(mended) > 1:
            kinds = " or ".join(_kind(self._resolved(each)) for each in schemas)
            self._wrong(at, value, f"one that can only be one of {kinds}")
            return value
        nearest = min(tried, key=lambda each: len(each.problems))
        told = [problem for problem in nearest.problems if not problem.startswith(f"{at or 'the value'}:")]
        if told:
            self.problems += nearest.problems
        else:
            self._wrong(at, value, " or ".join(dict.fromkeys(_kind(self._resolved(each)) for each in schemas)))
        return value

    def _try(self, value: Any, schema: Any, at: str) -> Fitted:
        trial = _Fitting(self._root, self._steps, self._depth)
        made = trial.fit(value, schema, at)
        return Fitted(made, tuple(trial.repairs), tuple(trial.problems))

    def _typed(self, value: Any, schema: Schema, at: str) -> Any:
        wanted = schema.get("type")
        types: list[str] = [wanted] if isinstance(wanted, str) else list(wanted or ())
        if not types or any(_is(value, kind) for kind in types):
            return int(value) if isinstance(value, float) and "integer" in types and "number" not in types else value
        ways: list[tuple[Any, str]] = []
        for kind in types:
            ways += self._as(value, kind, schema, at)
        if len(ways) == 1:
            made, repair = ways[0]
            self.repairs.append(repair)
            return made
        self._wrong(at, value, _kind(schema))
        return value

    def _as(self, value: Any, kind: str, schema: Schema, at: str) -> list[tuple[Any, str]]:
        """The value as another type, if there is one obvious way, with the name of the repair."""
        if isinstance(value, str):
            return _read_as(value, kind, partial(self._items_take, schema=schema, at=at))
        if kind == "string" and isinstance(value, (int, float)) and not isinstance(value, bool):
            return [(msgspec.json.encode(value).decode(), "number for a text")]
        if kind == "array" and value is not None and self._items_take(value, schema, at):
            return [([value], "one for a list")]
        return []

    def _items_take(self, value: Any, schema: Schema, at: str) -> bool:
        return "items" in schema and not self._try(value, schema["items"], at).problems

    def _among(self, value: Any, choices: list[Any], at: str) -> Any:
        if any(value == choice and type(value) is type(choice) for choice in choices):
            return value
        if isinstance(value, str):
            same = [each for each in choices if isinstance(each, str) and _plain(each) == _plain(value)]
            if len(same) == 1:
                self.repairs.append("spelling of a choice")
                return same[0]
        near = get_close_matches(str(value), [str(choice) for choice in choices], n=1)
        meant = f' (did you mean "{near[0]}"?)' if near else ""
        self._wrong(at, value, "one of " + ", ".join(_shown(choice) for choice in choices) + meant)
        return value

    def _object(self, value: dict[str, Any], schema: Schema, at: str) -> dict[str, Any]:
        properties: dict[str, Any] = schema.get("properties") or {}
        more: Any = schema.get("additionalProperties", True)
        required = set(schema.get("required", ()))
        value = self._renamed(value, properties, required, closed=more is False)
        made: dict[str, Any] = {}
        for name, each in value.items():
            place = f"{at}.{name}" if at else name
            if name in properties:
                if each is None and name not in required and self._try(None, properties[name], place).problems:
                    self.repairs.append("null for what is left out")
                elif name not in required and _repeats(each, properties[name]):
                    self.repairs.append("description for a value")
                elif name not in required and _is_nothing(each):
                    self.repairs.append("a word for an empty list")
                else:
                    made[name] = self.fit(each, properties[name], place)
            elif more is False:
                near = get_close_matches(name, properties, n=1, cutoff=0.6)
                meant = f'; did you mean "{near[0]}"?' if near else ""
                known = ", ".join(properties) or "none"
                self.problems.append(f"{place}: there is no such name{meant} (the names are: {known})")
            else:
                made[name] = self.fit(each, more, place)
        for name in schema.get("required", ()):
            if name not in value:
                place = f"{at}.{name}" if at else name
                self.problems.append(
                    f"{place}: it is missing; {_kind(self._resolved(properties.get(name, {})))} is wanted"
                )
        return made

    def _renamed(
        self, value: dict[str, Any], properties: dict[str, Any], required: set[str], *, closed: bool
    ) -> dict[str, Any]:
        """With names that are there for those that nearly are. Where other names are allowed, only what would be
        missing is taken for misspelt."""
        names = {name: name for name in value}
        for name in [each for each in value if each not in properties]:
            free = [each for each in properties if each not in value and (closed or each in required)]
            same = [each for each in free if _plain(each) == _plain(name)]
            near = same or [each for each in free if _is_slip(_plain(name), _plain(each))]
            if len(near) == 1 and near[0] not in names.values():
                names[name] = near[0]
                self.repairs.append(f'"{name}" for "{near[0]}"')
        return {names[name]: each for name, each in value.items()}

    def _list(self, value: list[Any], schema: Schema, at: str) -> list[Any]:
        first: list[Any] = schema.get("prefixItems", [])
        schemas = [*first, *[schema.get("items", True)] * (len(value) - len(first))]
        return [
            self.fit(each, kind, f"{at or 'the value'}[{number}]")
            for number, (each, kind) in enumerate(zip(value, schemas, strict=False))
        ]

    def _bounds(self, value: Any, schema: Schema, at: str) -> None:
        if isinstance(value, bool) or value is None:
            return
        if isinstance(value, (int, float)):
            size, what, suffix = value, "", ""
        elif isinstance(value, (str, list)):
            size, what = len(cast("str | list[Any]", value)), "characters" if isinstance(value, str) else "entries"
            suffix = "Length" if isinstance(value, str) else "Items"
        else:
            return
        least, most = ("minimum", "maximum") if not suffix else (f"min{suffix}", f"max{suffix}")
        if least in schema and size < schema[least]:
            self._wrong(at, value, f"at least {schema[least]} {what}".strip())
        if most in schema and size > schema[most]:
            self._wrong(at, value, f"at most {schema[most]} {what}".strip())
        if not suffix:
            if "exclusiveMinimum" in schema and size <= schema["exclusiveMinimum"]:
                self._wrong(at, value, f"more than {schema['exclusiveMinimum']}")
            if "exclusiveMaximum" in schema and size >= schema["exclusiveMaximum"]:
                self._wrong(at, value, f"less than {schema['exclusiveMaximum']}")
        if isinstance(value, str) and isinstance(schema.get("pattern"), str):
            try:
                follows = re.search(schema["pattern"], value)
            except re.error:  # not all of JSON Schema's patterns are Python's
                return
            if follows is None:
                self._wrong(at, value, f"a text that matches {schema['pattern']}")

    def _wrong(self, at: str, value: Any, wanted: str) -> None:
        self.problems.append(f"{at or 'the value'}: {_shown(value)} was given, and {wanted} is wanted")


def _read_as(text: str, kind: str, is_item: Callable[[Any], bool]) -> list[tuple[Any, str]]:
    plain = text.strip()
    if kind == "integer" and re.fullmatch(r"[-+]?\d{1,18}(?:\.0+)?", plain):
        return [(int(plain.partition(".")[0]), "text for an integer")]
    if kind == "number" and re.fullmatch(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", plain):
        return [(int(plain) if re.fullmatch(r"[-+]?\d+", plain) else float(plain), "text for a number")]
    if kind == "boolean" and plain.lower() in ("true", "false"):
        return [(plain.lower() == "true", "text for true or false")]
    if kind == "null" and plain.lower() in ("null", "none"):
        return [(None, "text for null")]
    opening = {"array": "[", "object": "{"}.get(kind, " ")
    if plain.startswith(opening):
        try:
            read = read_json(plain)
        except NotJson:
            read = None
        if read is not None and not plain[read.end :].strip() and "missing bracket" not in read.repairs:
            return [(read.value, f"text for {_ARTICLES[kind]}")]
    if kind == "array" and is_item(text):
        return [([text], "one for a list")]
    return []


def _repeats(value: Any, schema: Any) -> bool:
    """Whether a value only says what it should be: small models fill in so what they have nothing to say for."""
    told = cast("Schema", schema).get("description") if isinstance(schema, dict) else None
    return bool(told) and (value == told or value == [told])


def _is_nothing(value: Any) -> bool:
    """Whether it is a list of one word that says that there is nothing in it."""
    return isinstance(value, list) and len(cast("list[Any]", value)) == 1 and value[0] in _NOTHING


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, (object,)))


def _kind(schema: Schema) -> str:
    """What a schema wants, in words."""
    if "const" in schema:
        return _shown(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(_shown(choice) for choice in schema["enum"])
    for among in ("anyOf", "oneOf"):
        if among in schema:
            return " or ".join(dict.fromkeys(_kind(each) for each in schema[among]))
    wanted = schema.get("type", "a value")
    if isinstance(wanted, list):
        return " or ".join(_kind({**schema, "type": each}) for each in cast("list[str]", wanted))
    if wanted == "array" and isinstance(schema.get("items"), Mapping) and "type" in schema["items"]:
        return f"a list of {_kind(schema['items'])}"
    return _ARTICLES.get(wanted, wanted if wanted.startswith("a ") else f"a {wanted}")


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _is_slip(given: str, meant: str) -> bool:
    """Whether a letter is missing or too many, or two are swapped. Not one for another: ``x1`` is not ``x2``."""
    if min(len(given), len(meant)) < SHORTEST:
        return False
    if len(given) == len(meant):
        wrong = [at for at, (a, b) in enumerate(zip(given, meant, strict=True)) if a != b]
        return len(wrong) == 2 and wrong[1] == wrong[0] + 1 and sorted(given) == sorted(meant)
    shorter, longer = sorted((given, meant), key=len)
    return len(longer) == len(shorter) + 1 and any(
        longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer))
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())
