"""A file of exchanges, a line of JSON each."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from sylk_ray.errors import InputError
from sylk_ray.llm.errors import UnknownRequest
from sylk_ray.llm.keys import hide_keys
from sylk_ray.llm.replay.identity import canonical, differences, key_of, likeness
from sylk_ray.llm.reply import CallPiece, Piece, TextPiece, ThoughtPiece
from sylk_ray.llm.request import Request

T = TypeVar("T")


class RecordingUnreadable(InputError):
    """A recording is not there, or not one."""

    code = "recording_unreadable"


class Exchange(Struct, frozen=True):
    """A request, and the pieces that came; neighbouring ones of a kind are one."""

    key: str
    model: str
    request: Request
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, model: str, request: Request, pieces: Iterable[Piece], secrets: Iterable[str] = ()) -> Exchange:
        """What is to be kept: without the secrets, and without what looks like one."""
        known = list(secrets)
        hidden = _hidden(request, Request, known)
        return cls(key_of(hidden), model, hidden, tuple(_hidden(piece, Piece, known) for piece in _joined(pieces)))


class Recording:
    """Exchanges by what was asked. The same request asked again gets the next answer to it, and the last for ever."""

    def __init__(self, exchanges: Iterable[Exchange] = ()) -> None:
        self._by_key: dict[str, list[Exchange]] = {}
        self._asked: dict[str, int] = {}
        for exchange in exchanges:
            self._by_key.setdefault(key_of(exchange.request), []).append(exchange)

    @classmethod
    def read(cls, file: Path) -> Recording:
        """All of a file. Raises RecordingUnreadable."""
        exchanges: list[Exchange] = []
        try:
            lines = file.read_bytes().splitlines()
        except OSError as problem:
            raise RecordingUnreadable(f"the recording {file} cannot be read: {problem}") from problem
        for number, line in enumerate(lines, 1):
            try:
                exchanges.append(msgspec.json.decode(line, type=Exchange))
            except (msgspec.DecodeError, InputError) as problem:
                raise RecordingUnreadable(f"{file}:{number} is no exchange: {problem}") from problem
        return cls(exchanges)

    def __len__(self) -> int:
        """Different requests."""
        return len(self._by_key)

    def answer(self, request: Request) -> tuple[Piece, ...]:
        """The pieces that came. Raises UnknownRequest, with how the nearest request differs."""
        key = key_of(request)
        if key not in self._by_key:
            raise UnknownRequest(
                f"the request {key} was not recorded: {self._nearest(request)}",
                hint="record it anew when the change is meant",
            )
        number = self._asked.get(key, 0)
        self._asked[key] = number + 1
        exchanges = self._by_key[key]
        return exchanges[min(number, len(exchanges) - 1)].pieces

    def _nearest(self, request: Request) -> str:
        asked = canonical(request)
        others = [canonical(exchanges[0].request) for exchanges in self._by_key.values()]
        nearest = max(others, key=lambda other: likeness(asked, other), default=None)
        return "the recording is empty" if nearest is None else "; ".join(differences(asked, nearest))


def append(file: Path, exchange: Exchange) -> None:
    """Add it, in one write, so that processes may add to one file; nobody else may read it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(opened, msgspec.json.encode(exchange) + b"\n")
    finally:
        os.close(opened)


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if isinstance(piece, TextPiece) and isinstance(last, TextPiece):
            joined[-1] = TextPiece(last.text + piece.text)
        elif isinstance(piece, ThoughtPiece) and isinstance(last, ThoughtPiece):
            joined[-1] = ThoughtPiece(last.text + piece.text)
        elif isinstance(piece, CallPiece) and isinstance(last, CallPiece) and piece.index == last.index:
            joined[-1] = CallPiece(
                last.index, last.id or piece.id, last.name or piece.name, last.arguments + piece.arguments
            )
        else:
            joined.append(piece)
    return joined


def _hidden(value: T, kind: Any, secrets: list[str]) -> T:
    return msgspec.convert(_hidden_within(msgspec.to_builtins(value), secrets), kind)


def _hidden_within(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        return hide_keys(value, secrets)
    if isinstance(value, dict):
        return {name: _hidden_within(each, secrets) for name, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_hidden_within(each, secrets) for each in cast("list[Any]", value)]
    return value
