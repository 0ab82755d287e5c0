"""Models whose replies are written down by role: who asks is told by the system prompt."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from sylk_ray.llm import CallPiece, Piece, Request, StopPiece, ToolResult, Usage, UsagePiece
from tests.models.server import says

Move = Sequence[Piece] | Callable[[Request], Sequence[Piece]]
ROLES = ("Academic", "Architect", "Engineer", "Inspector", "Tester")


def calls(*given: tuple[str, dict[str, Any]]) -> list[Piece]:
    """A reply that calls tools."""
    made = [CallPiece(index, f"c{index}", name, json.dumps(arguments)) for index, (name, arguments) in enumerate(given)]
    return [*made, UsagePiece(Usage(100, 10)), StopPiece("calls")]


def call(name: str, **arguments: Any) -> list[Piece]:
    """A reply that calls one."""
    return calls((name, arguments))


class RoleScript:
    """``ModelServer(answer=RoleScript(engineer=[...], inspector=[...]))``. A role that has run out says so, and fails
    whatever is tested."""

    def __init__(self, **moves: Sequence[Move]) -> None:
        self._moves = {role: list(each) for role, each in moves.items()}
        self.asked: list[tuple[str, Request]] = []

    def __call__(self, request: Request) -> Sequence[Piece]:
        role = next(
            each.lower()
            for each in ROLES
            if f"You are an {each}" in request.system or f"You are a {each}" in request.system
        )
        self.asked.append((role, request))
        moves = self._moves.get(role, [])
        if not moves:
            return says(f"nothing is written down for the {role}")
        move = moves.pop(0)
        return move(request) if callable(move) else move

    def requests(self, role: str) -> list[Request]:
        """What a role has asked."""
        return [request for each, request in self.asked if each == role]

    def told(self, role: str, number: int) -> list[str]:
        """What the role was told by tools before its reply of that number, counted from 1."""
        messages = self.requests(role)[number - 1].messages
        return [turn.text for turn in messages if isinstance(turn, ToolResult)]

    @property
    def left(self) -> dict[str, int]:
        """Replies that nobody asked for, by role."""
        return {role: len(moves) for role, moves in self._moves.items() if moves}
