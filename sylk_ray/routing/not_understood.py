"""What is wrong with an utterance, and where in it."""

from __future__ import annotations

from sylk_ray.errors import InputError

_SHOWN = 60
"""Characters of the text on each side of the place that are shown."""


class NotUnderstood(InputError):
    """An utterance that begins as one for an agent, a task or a command does not go on as one; nothing was sent."""

    code = "not_understood"
    # One that is rebuilt from its code, as after a wire, has no text.
    text: str = ""
    offset: int = 0
    """The character, counted from 0, at which it goes wrong; the length of the text when something is missing."""

    def __init__(self, message: str, *, text: str, offset: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.text = text
        self.offset = offset

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (self.message, self.text, self.offset, self.hint))

    def pointed(self) -> str:
        """Two lines: what was said around the place, and a caret under it."""
        start = max(0, self.offset - _SHOWN)
        shown = self.text[start : self.offset + _SHOWN]
        line = "".join(character if character.isprintable() else " " for character in shown)
        return f"{line}\n{' ' * (self.offset - start)}^"


def _again(message: str, text: str, offset: int, hint: str) -> NotUnderstood:
    return NotUnderstood(message, text=text, offset=offset, hint=hint)
