"""A place in a text that moves on as words, names and quoted strings are taken."""

from __future__ import annotations

import re

from sylk_ray.routing.not_understood import NotUnderstood

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
"""What a letter after a backslash stands for within quotes."""

_SPACE = re.compile(r"\s*")
_BARE = re.compile(r"\S*")


class Cursor:
    """Reads ``text`` from left to right; every complaint names the place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def complain(self, message: str, *, hint: str = "", at: int | None = None) -> NotUnderstood:
        return NotUnderstood(message, text=self.text, offset=self.at if at is None else at, hint=hint)

    def skip_space(self) -> bool:
        """Whether there was any."""
        before = self.at
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at > before

    @property
    def ended(self) -> bool:
        return self.at >= len(self.text)

    def starts(self, sign: str) -> bool:
        return self.text.startswith(sign, self.at)

    def take(self, pattern: re.Pattern[str]) -> str:
        """What matches here, which may be nothing."""
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found.group()

    def bare(self) -> str:
        """All up to the next space."""
        return self.take(_BARE)

    def rest(self) -> str:
        """All that is left, without the space after it."""
        taken = self.text[self.at :].rstrip()
        self.at = len(self.text)
        return taken

    def quoted(self) -> str:
        """A string in double quotes, from its first quote on."""
        opened = self.at
        said: list[str] = []
        self.at += 1
        while not self.ended:
            character = self.text[self.at]
            if character == '"':
                self.at += 1
                return "".join(said)
            if character == "\\":
                character = self._escaped()
            said.append(character)
            self.at += 1
        raise self.complain("this quote is not closed", hint='end it with "', at=opened)

    def _escaped(self) -> str:
        """Leaves the place on the letter after the backslash."""
        letter = self.text[self.at + 1 : self.at + 2]
        if letter not in ESCAPES or not letter:
            shown = f'"\\{letter}" means nothing' if letter else "a backslash stands alone"
            raise self.complain(
                shown, hint=r"within quotes write \\ for a backslash, \" for a quote, \n for a new line"
            )
        self.at += 1
        return ESCAPES[letter]

    def message(self) -> str:
        """A quoted string and nothing after it, or all that is left."""
        if not self.starts('"'):
            return self.rest()
        said = self.quoted()
        self.skip_space()
        if not self.ended:
            raise self.complain(
                "there is more after the closing quote",
                hint=r"put quotes around all of it, and write \" for a quote within",
            )
        return said
