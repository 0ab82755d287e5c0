"""Keeping a conversation within what a model can read: what was told long ago, and can be asked again, is left out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sylk_ray.llm import ToolResult, Turn, Usage, count_tokens

LONG = 0.7
"""Of the window, from which on old answers are left out."""
LEFT = 0.45
"""Of the window, down to which they are."""
FULL = 0.95
"""Of the window, from which on nothing more goes in."""
LAST_WORDS = 800
"""Tokens that stay free for what is said when it is full."""
KEPT = 4
"""The last answers are never left out."""
_SHORT = 400
"""Characters of an answer that is not worth leaving out."""


class Window:
    """Of ``tokens``; without a number nothing is left out before a provider says that it is too long. What is left out
    stays so: a provider caches a conversation up to where it changes."""

    def __init__(self, tokens: int | None, full_at: float = FULL) -> None:
        """It is full when the part ``full_at`` is used, or there is no room for last words; never below ``LONG``."""
        self._tokens = tokens
        self._full_at = full_at
        self._most = 0.0 if tokens is None else max(LONG * tokens, min(full_at * tokens, tokens - LAST_WORDS))
        self._left_out: set[int] = set()
        self._sizes: dict[int, int] = {}
        self._known = 0
        """Turns that the model has counted, as ``_counted`` tokens."""
        self._counted = 0

    @property
    def tokens(self) -> int | None:
        """Its size; None where that is not known."""
        return self._tokens

    def fit(self, turns: Sequence[Turn]) -> list[Turn]:
        """The conversation as it is to be sent."""
        if self._tokens is not None and self._size(turns) > LONG * self._tokens:
            self._leave_out(turns, LEFT * self._tokens)
        return [
            _note(turn) if place in self._left_out and isinstance(turn, ToolResult) else turn
            for place, turn in enumerate(turns)
        ]

    def read(self, count: int, usage: Usage) -> None:
        """So many turns were so many tokens for the model, as it says."""
        if not usage.estimated and usage.input:
            # The reply follows them, and is among what was counted.
            self._known, self._counted = count + 1, usage.input + usage.output

    def full(self, turns: Sequence[Turn]) -> bool:
        """Whether there is no room, with all left out that can be."""
        if self._tokens is None or self._size(turns) <= self._most:
            return False
        self._leave_out(turns, LEFT * self._tokens)
        return self._size(turns) > self._most

    def used(self, turns: Sequence[Turn]) -> float:
        """The part of it, 0 to 1 and more; 0 when its size is not known."""
        return self._size(turns) / self._tokens if self._tokens else 0.0

    def emptied(self) -> Window:
        """One of the same size, for another conversation."""
        return Window(self._tokens, self._full_at)

    def shrink(self, turns: Sequence[Turn]) -> bool:
        """Leave out all that can be, because it was too long whatever we thought; whether there was anything."""
        before = len(self._left_out)
        self._leave_out(turns, 0)
        return len(self._left_out) > before

    def _leave_out(self, turns: Sequence[Turn], down_to: float) -> None:
        results = [place for place, turn in enumerate(turns) if isinstance(turn, ToolResult)]
        for place in results[:-KEPT]:
            if self._size(turns) <= down_to:
                return
            turn = turns[place]
            if place not in self._left_out and isinstance(turn, ToolResult) and len(turn.text) > _SHORT:
                before, self._sizes[place] = self._cost(place, turn), count_tokens(_note(turn).text)
                self._left_out.add(place)
                if place < self._known:
                    self._counted -= before - self._sizes[place]

    def _size(self, turns: Sequence[Turn]) -> int:
        """What the model has counted, and for what came since what we count."""
        fresh = enumerate(turns[self._known :], self._known)
        return self._counted + sum(self._cost(place, turn) for place, turn in fresh)

    def _cost(self, place: int, turn: Turn) -> int:
        if place not in self._sizes:
            self._sizes[place] = count_tokens(msgspec.json.encode(turn).decode())
        return self._sizes[place]


def _note(turn: ToolResult) -> ToolResult:
    lines = turn.text.count("\n") + 1
    told = f"[{lines} lines are left out here; call {turn.name} again if you need them]"
    return msgspec.structs.replace(turn, text=told)
