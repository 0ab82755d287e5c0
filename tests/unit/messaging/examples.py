"""An example of any message, made from its type alone and always the same, and how its wire form reads."""

from __future__ import annotations

import importlib
import json
import pkgutil
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

import actors
import sylk_ray
from sylk_ray.messaging import Address, DeadlinePassed, Message, Request
from sylk_ray.messaging.message import message_types, reply_type
from sylk_ray.messaging.wire import Envelope, Failure, encode_envelope

GOLDEN = Path(__file__).parent / "golden" / "wire.json"
ME, YOU = Address("s-7f3a", "engineer", "notes"), Address("s-7f3a", "pipeline", "notes")


@cache
def our_messages() -> list[type[Message]]:
    """Every message that this code base declares."""
    for package in (sylk_ray, actors):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)
    return [each for each in message_types() if each.__module__.startswith(("sylk_ray.", "actors."))]


def example(kind: Any, *, name: str = "x", unlike: Any = None) -> Any:
    """A value of a type. Text is the name of its field; what equals its default would not be seen on the wire."""
    return _made(inspect.type_info(kind), name, unlike)


def _made(info: inspect.Type, name: str, unlike: Any = None) -> Any:
    match info:
        case inspect.StructType() | inspect.DataclassType():
            return info.cls(**{each.name: _made(each.type, each.encode_name, _default(each)) for each in info.fields})
        case inspect.NamedTupleType():
            return info.cls(*(_made(each.type, each.encode_name) for each in info.fields))
        case inspect.Metadata():
            return _made(info.type, name, unlike)
        case inspect.UnionType():
            told = [each for each in info.types if not isinstance(each, inspect.NoneType)]
            return _made(told[0], name, unlike)
        case inspect.ListType() | inspect.SetType() | inspect.FrozenSetType() | inspect.VarTupleType():
            of = {inspect.ListType: list, inspect.SetType: set, inspect.FrozenSetType: frozenset}
            return of.get(type(info), tuple)([_made(info.item_type, name)])
        case inspect.TupleType():
            return tuple(_made(each, name) for each in info.item_types)
        case inspect.DictType() | inspect.CollectionType():
            return {_made(info.key_type, "key"): _made(info.value_type, name)}
        case inspect.LiteralType():
            return next(value for value in info.values if value != unlike)
        case inspect.EnumType():
            return next(value for value in info.cls if value != unlike)
        case inspect.BoolType():
            return not unlike
        case inspect.IntType():
            return 7
        case inspect.FloatType():
            return 1.5
        case inspect.BytesType():
            return b"\x00\xff"
        case inspect.StrType() | inspect.AnyType():
            return name
        case inspect.NoneType():
            return None
        case _:
            raise TypeError(f"no example of {info} is known; say how one is made")


def _default(field: inspect.Field) -> Any:
    return None if field.default is msgspec.NODEFAULT else field.default


def readable(value: Any) -> Any:
    """Decoded msgpack as JSON shows it: bytes as their hexadecimal digits, keys as text."""
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, dict):
        return {str(key): readable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [readable(each) for each in value]
    return value


def wire_forms() -> dict[str, Any]:
    """What is pinned: each message and each answer by itself, and whole packets with all that is known of them."""
    forms: dict[str, Any] = {}
    for each in our_messages():
        forms[each.kind] = _decoded(msgspec.msgpack.encode(example(each)))
        if issubclass(each, Request):
            answer = reply_type(each)
            forms[f"{each.kind} -> answer"] = _decoded(msgspec.msgpack.encode(example(answer, name="answer")))
    forms["a packet with a message"] = _decoded(encode_envelope(told()))
    forms["a packet with an answer"] = _decoded(encode_envelope(answered()))
    forms["a packet with a failure"] = _decoded(encode_envelope(failed()))
    return forms


def told() -> Envelope:
    """A request with all that an envelope can say."""
    from sylk_ray.sessions.messages import GetJob

    return Envelope("e1-1", ME, YOU, GetJob("j-1"), True, 12.5, trace="0af7" * 8, parent="e1-0", priority=1)


def answered() -> Envelope:
    """Its answer."""
    return Envelope("e2-1", YOU, ME, 7, answers="e1-1", trace="0af7" * 8, parent="e1-1", priority=1)


def failed() -> Envelope:
    """Its failure."""
    failure = Failure.of(DeadlinePassed("too late", hint="wait"))
    return Envelope("e2-1", YOU, ME, None, answers="e1-1", failure=failure, trace="0af7" * 8, parent="e1-1")


def _decoded(data: bytes) -> Any:
    return readable(msgspec.msgpack.decode(data))


def write() -> None:
    """Pin the wire form as it is now."""
    GOLDEN.parent.mkdir(exist_ok=True)
    forms = dict(sorted(wire_forms().items()))
    GOLDEN.write_text(json.dumps(forms, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(forms)} wire forms are in {GOLDEN}")


if __name__ == "__main__":
    write()
