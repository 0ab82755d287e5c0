"""A command as a POSIX shell takes it apart: words, whose pieces may be quoted each in its way, and operators."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

_OPERATOR = re.compile(r"&&|\|\||;;|\|&|&>>?|>>|>&|>\||<<<|<<-?|<&|<>|[;&|()<>`]")
_PLAIN = re.compile(r"[\w./*?\[\]@%+=:,^!~-]")
"""Characters that need no quotes; some of them stand for the names of files."""
_GLOB = re.compile(r"[*?\[]")
_EXPANDS = re.compile(r"[\w{(@*#?$!-]")
"""What makes of a dollar before it something else than a dollar."""


class Unreadable(ValueError):
    """A quote has no end."""


class Token(NamedTuple):
    """A word, or an operator."""

    text: str
    """As the program gets it, where nothing is expanded."""
    operator: bool = False
    quoted: bool = False
    """Whether a piece of it was: then it is no word of the shell's own."""
    expands: bool = False
    """Whether a shell puts something else in the place of a part of it."""
    names: bool = False
    """Whether a shell puts the names of files in its place."""
    again: str = ""
    """Written so that a shell reads ``text``, but for the names of files."""


def tokens(command: str) -> list[Token]:
    """In their order; the end of a line is ``;``, and a comment is left out. Raises Unreadable."""
    return _Reader(command).read()


class _Reader:
    def __init__(self, command: str) -> None:
        self._command = command
        self._at = 0
        self._found: list[Token] = []
        self._begin()

    def _begin(self) -> None:
        self._text: list[str] = []
        self._again: list[str] = []
        self._started = self._quoted = self._expands = self._names = False

    def _end_word(self) -> None:
        if self._started:
            text, again = "".join(self._text), "".join(self._again)
            self._found.append(Token(text, False, self._quoted, self._expands, self._names, again))
        self._begin()

    def read(self) -> list[Token]:
        command = self._command
        while self._at < len(command):
            mark = command[self._at]
            self._at += 1
            if mark in " \t\r":
                self._end_word()
            elif mark == "\n":
                self._operator(";", line=True)
            elif mark == "#" and not self._started:
                end = command.find("\n", self._at)
                self._at = len(command) if end < 0 else end
            elif found := _OPERATOR.match(command, self._at - 1):
                self._at = found.end()
                self._operator(found[0])
            elif mark == "'":
                self._quote(self._until("'"))
            elif mark == '"':
                self._double()
            elif mark == "\\":
                self._escaped()
            else:
                self._bare(mark)
        self._end_word()
        return self._found

    def _operator(self, text: str, *, line: bool = False) -> None:
        self._end_word()
        if line and (not self._found or self._found[-1].operator):
            return  # it ends nothing
        self._found.append(Token(text, operator=True))

    def _bare(self, mark: str) -> None:
        self._started = True
        self._text.append(mark)
        self._again.append(mark if _PLAIN.fullmatch(mark) else shlex.quote(mark))
        self._names = self._names or bool(_GLOB.fullmatch(mark))
        self._expands = self._expands or (mark == "$" and self._dollar_expands("'\""))

    def _dollar_expands(self, also: str = "") -> bool:
        following = self._command[self._at : self._at + 1]
        return bool(following) and (bool(_EXPANDS.fullmatch(following)) or following in also)

    def _quote(self, piece: str) -> None:
        self._started = self._quoted = True
        self._text.append(piece)
        self._again.append(shlex.quote(piece))

    def _until(self, quote: str) -> str:
        end = self._command.find(quote, self._at)
        if end < 0:
            raise Unreadable("a quote has no end")
        piece, self._at = self._command[self._at : end], end + 1
        return piece

    def _double(self) -> None:
        piece: list[str] = []
        while self._at < len(self._command):
            mark = self._command[self._at]
            self._at += 1
            if mark == '"':
                self._quote("".join(piece))
                return
            if mark == "\\" and self._command[self._at : self._at + 1] in ("$", "`", '"', "\\", "\n"):
                escaped = self._command[self._at]
                self._at += 1
                piece.append("" if escaped == "\n" else escaped)
                continue
            self._expands = self._expands or mark == "`" or (mark == "$" and self._dollar_expands())
            piece.append(mark)
        raise Unreadable("a quote has no end")

    def _escaped(self) -> None:
        escaped = self._command[self._at : self._at + 1]
        self._at += 1
        if escaped != "\n":
            self._quote(escaped or "\\")
