"""JSON as models write it: with comments, other quotes, Python's words, a comma too many, or without its last brackets.

What is read, and the repair's name:

========================================  =========================
``{'a': 'b'}``                            single quotes
``{“a”: “b”}``                            curly quotes
``{a: 1}``                                unquoted name
``{"a": 1,}``                             trailing comma
``{"a": 1 "b": 2}``                       missing comma
``{"a": True, "b": None}``                Python literal
a line break or tab within a string       unescaped control character
``"\\d"``, ``"\\'"``                        invalid escape
``\"\"\"text\"\"\"``                            triple quotes
``// …``, ``# …``, ``/* … */``            comment
``{"a": [1``                              missing bracket
``{{"a": 1}}``                            doubled braces
========================================  =========================

Not read, since it would have to be guessed at: a value or a string that is not whole, a word that is no literal, a name
without a value, a name twice with other values.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

SHOWN = 30
DEEPEST = 100
_NUMBER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")
_STRICT_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_NAME = re.compile(r"[A-Za-z_$][\w$-]*")
_SPACE = re.compile(r"\s*")
_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?\*/", re.DOTALL)
_LITERALS: dict[str, Any] = {"true": True, "false": False, "null": None}
_PYTHON: dict[str, Any] = {"True": True, "False": False, "None": None}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_QUOTES = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "`": "`"}
_QUOTE_REPAIRS = {"'": "single quotes", "\u201c": "curly quotes", "\u2018": "curly quotes", "`": "backquotes"}


class NotJson(Exception):
    """It cannot be read without guessing. ``cut`` when it is as if the end were missing."""

    def __init__(self, text: str, at: int, found: str, wanted: str, *, cut: bool = False) -> None:
        line = text.count("\n", 0, at) + 1
        column = at - (text.rfind("\n", 0, at) + 1) + 1
        super().__init__(f"line {line}, column {column}: {found}, where {wanted} is wanted")
        self.at = at
        self.cut = cut


class Lenient(Struct, frozen=True):
    """A value, where its text ends, and what was mended to read it."""

    value: Any
    end: int
    repairs: tuple[str, ...] = ()


def read_json(text: str, start: int = 0) -> Lenient:
    """The value that begins at ``start``, after space; what follows it is not looked at. Raises NotJson."""
    reader = _Reader(text, start)
    value = reader.value(0)
    return Lenient(value, reader.at, tuple(dict.fromkeys(reader.repairs)))


class _Reader:
    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.repairs: list[str] = []

    def value(self, depth: int) -> Any:
        self._space()
        if depth > DEEPEST:
            raise self._wrong("a simpler value: this one is nested too deeply")
        begins = self._here()
        if begins == "{":
            return self._object(depth)
        if begins == "[":
            return self._list(depth)
        if begins in _QUOTES:
            return self._string()
        if found := _NUMBER.match(self.text, self.at):
            return self._number(found[0], within=depth > 0)
        if found := _NAME.match(self.text, self.at):
            word = found[0]
            if word in _LITERALS or word in _PYTHON:
                self.at += len(word)
                if word in _PYTHON:
                    self.repairs.append("Python literal")
                return _LITERALS[word] if word in _LITERALS else _PYTHON[word]
            raise self._wrong("a value (text needs quotes)", cut=found.end() == len(self.text))
        raise self._wrong("a value")

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        self._space()
        if self._here() == "{":
            return self._doubled(depth)
        made: dict[str, Any] = {}
        while True:
            self._space()
            if self._closes("}"):
                return made
            at, name = self.at, self._name()
            self._space()
            if self._here() != ":":
                raise self._wrong(f"a colon after the name {name!r}")
            self.at += 1
            value = self.value(depth + 1)
            if name in made and made[name] != value:
                self.at = at
                raise self._wrong(f"one value of {name!r}, which was given before with another")
            made[name] = value
            self._comma("}")

    def _doubled(self, depth: int) -> dict[str, Any]:
        """``{{"a": 1}}``, from the templates of prompts that a model has learnt from."""
        if depth > DEEPEST:
            raise self._wrong("a simpler value: this one is nested too deeply")
        self.repairs.append("doubled braces")
        made = self._object(depth + 1)
        self._space()
        if not self._closes("}"):
            raise self._wrong("a second }")
        return made

    def _list(self, depth: int) -> list[Any]:
        self.at += 1
        made: list[Any] = []
        while True:
            self._space()
            if self._closes("]"):
                return made
            made.append(self.value(depth + 1))
            self._comma("]")

    def _closes(self, bracket: str) -> bool:
        """Past the bracket, if it is here; at the end of the text it is taken as if it were."""
        if self._here() == bracket:
            self.at += 1
            return True
        if self.at == len(self.text):
            self.repairs.append("missing bracket")
            return True
        return False

    def _comma(self, bracket: str) -> None:
        self._space()
        here = self._here()
        if here == ",":
            self.at += 1
            self._space()
            if self._here() == bracket:
                self.repairs.append("trailing comma")
            elif self.at == len(self.text):
                raise self._wrong("what follows the comma", cut=True)
        elif here not in (bracket, ""):
            if here in "}])" or here == ":":
                raise self._wrong(f"a comma or {bracket}")
            self.repairs.append("missing comma")

    def _name(self) -> str:
        if self._here() in _QUOTES:
            return self._string()
        found = _NAME.match(self.text, self.at)
        if found is None:
            raise self._wrong("a name in quotes")
        self.at = found.end()
        self.repairs.append("unquoted name")
        return found[0]

    def _string(self) -> str:
        text, begins = self.text, self.at
        opening = text[begins]
        if text.startswith(opening * 3, begins) and opening in "\"'":
            return self._triple(opening * 3)
        closing = _QUOTES[opening]
        parts: list[str] = []
        at = begins + 1
        while at < len(text):
            character = text[at]
            if character == closing:
                self.at = at + 1
                if opening != '"':
                    self.repairs.append(_QUOTE_REPAIRS[opening])
                return "".join(parts)
            if character == "\\":
                at = self._escape(at, parts)
                continue
            if character < " ":
                self.repairs.append("unescaped control character")
            parts.append(character)
            at += 1
        self.at = begins
        raise self._wrong("a text with its closing quote", cut=True)

    def _triple(self, quotes: str) -> str:
        end = self.text.find(quotes, self.at + 3)
        if end < 0:
            raise self._wrong("a text with its closing quotes", cut=True)
        found = self.text[self.at + 3 : end]
        self.at = end + 3
        self.repairs.append("triple quotes")
        return found

    def _escape(self, at: int, parts: list[str]) -> int:
        """What follows a backslash; where it ends."""
        text, escaped = self.text, self.text[at + 1 : at + 2]
        if escaped in _ESCAPES and escaped:
            parts.append(_ESCAPES[escaped])
            return at + 2
        if escaped == "u":
            code = text[at + 2 : at + 6]
            if re.fullmatch(r"[0-9a-fA-F]{4}", code):
                first, at = int(code, 16), at + 6
                second = re.match(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})", text[at : at + 6])
                if 0xD800 <= first < 0xDC00 and second:
                    parts.append(chr(0x10000 + ((first - 0xD800) << 10) + int(second[1], 16) - 0xDC00))
                    return at + 6
                if 0xD800 <= first < 0xE000:
                    self.repairs.append("invalid escape")
                parts.append("\ufffd" if 0xD800 <= first < 0xE000 else chr(first))
                return at
        self.repairs.append("invalid escape")
        if escaped in ("'", "`"):
            parts.append(escaped)
        elif escaped == "\n":
            parts.append("\n")
        else:
            parts.append("\\" + escaped)  # as in a regular expression or a path, which forgot to double it
        return at + 1 + len(escaped)

    def _number(self, found: str, *, within: bool) -> int | float:
        end = self.at + len(found)
        if end == len(self.text) and within:
            raise self._wrong("something after a number, which may be cut off", cut=True)
        if self.text[end : end + 1].isalnum() or self.text[end : end + 1] in ("_", "."):
            raise self._wrong("a number, or quotes around a text")
        self.at = end
        strict = _STRICT_NUMBER.fullmatch(found)
        if strict is None:
            self.repairs.append("number as in a program")
        if found.lower().lstrip("+-").startswith("0x"):
            return int(found, 16)
        if any(character in found for character in ".eE"):
            return float(found)
        return int(found)

    def _space(self) -> None:
        while True:
            at = _SPACE.match(self.text, self.at)
            self.at = at.end() if at else self.at
            comment = _COMMENT.match(self.text, self.at)
            if comment is None:
                return
            self.at = comment.end()
            self.repairs.append("comment")

    def _here(self) -> str:
        return self.text[self.at : self.at + 1]

    def _wrong(self, wanted: str, *, cut: bool = False) -> NotJson:
        rest = self.text[self.at : self.at + SHOWN]
        found = f"there is {rest!r}" if rest else "the text ends"
        return NotJson(self.text, self.at, found, wanted, cut=cut or not rest)
