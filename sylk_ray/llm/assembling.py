"""A reply, put together as its pieces come."""

from __future__ import annotations

from msgspec import Struct

from sylk_ray.llm.reply import CallPiece, Piece, Stop, StopPiece, TextPiece, ThoughtPiece, Usage, UsagePiece


class RawCall(Struct, frozen=True):
    """A call as the model wrote it: the arguments are text."""

    id: str
    name: str
    arguments: str


class Assembly:
    """All of one attempt so far."""

    def __init__(self) -> None:
        self.pieces = 0
        """That have come; no more than there are tokens."""
        self.characters = 0
        """Of the answer and the calls."""
        self.usage: Usage | None = None
        self.stop: Stop | None = None
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._calls: dict[int, list[CallPiece]] = {}

    def add(self, piece: Piece) -> None:
        """One more."""
        if isinstance(piece, TextPiece):
            self._text.append(piece.text)
            self.characters += len(piece.text)
        elif isinstance(piece, ThoughtPiece):
            self._thoughts.append(piece.text)
        elif isinstance(piece, CallPiece):
            self._calls.setdefault(piece.index, []).append(piece)
            self.characters += len(piece.arguments)
        elif isinstance(piece, UsagePiece):
            self.usage = piece.usage
        elif isinstance(piece, StopPiece):
            self.stop = piece.reason
        self.pieces += isinstance(piece, (TextPiece, ThoughtPiece, CallPiece))

    @property
    def text(self) -> str:
        """The answer."""
        return "".join(self._text)

    @property
    def thoughts(self) -> str:
        """What was thought before it."""
        return "".join(self._thoughts)

    @property
    def calls(self) -> list[RawCall]:
        """The calls that the server has told apart, in their order."""
        return [
            RawCall(
                next((part.id for part in parts if part.id), ""),
                # Most send a name once; some repeat it with each part.
                next((part.name for part in parts if part.name), ""),
                "".join(part.arguments for part in parts),
            )
            for _, parts in sorted(self._calls.items())
        ]
