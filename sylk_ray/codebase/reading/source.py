"""A text by lines: what stands above a definition as its documentation, and what a file says at its top."""

from __future__ import annotations

import re
from inspect import cleandoc

import msgspec


class CommentStyle(msgspec.Struct, frozen=True):
    """How a language writes comments."""

    line: tuple[str, ...] = ("//",)
    """What begins a comment that ends with its line."""
    block: tuple[str, str] | None = ("/*", "*/")
    attribute: tuple[str, ...] = ()
    """What begins a line that may stand between the documentation and what it documents."""


SLASHES = CommentStyle()
HASHES = CommentStyle(line=("#",), block=None)

_MARKS = re.compile(
    r"^[ \t]*(?:/\*[*!]?|\*/|\*(?!\*)|//[/!]?|#+!?|--\[\[|---?@?(?: [|^](?=\s))?|\]\]|\{-+(?: ?\|)?|-\}"
    r")?[ \t]?|[ \t]*(?:\*+/|\]\]|-\})[ \t]*$"
)
_LICENCE = re.compile(r"licen[sc]e|copyright|\(c\)|SPDX-|all rights reserved", re.IGNORECASE)
_DIRECTIVE = re.compile(
    r"^(?:!|go:|\+build|nolint|eslint|tslint|ts-|prettier|@ts-|pylint|noqa|type:|mypy|pragma|region|endregion"
    r"|frozen_string_literal|encoding|-\*-|vim:|shellcheck|rubocop|swiftlint|ktlint|istanbul|globals?\b|jshint|jslint|<reference"
    r"|# (?:LANGUAGE|OPTIONS_GHC|OPTIONS|INCLUDE)\b)"
)
_TAGS = re.compile(r"</?(?:summary|para|remarks|returns|c|code|see\w*|(?:type)?param\w*|value|example)\b[^>]*>")
MOST_OF_A_DOC = 4000
_USUAL = frozenset({"//", "#", "--", "/*", "--[[", "{-"})
_SEEN = re.compile(r"\S")


def blanked(text: str) -> str:
    """As many blanks, in as many lines: what stands behind it keeps its place."""
    return _SEEN.sub(" ", text)


class Source:
    """A file's text, and its lines counted from 0."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")

    def above(self, line: int, style: CommentStyle) -> tuple[str, int]:
        """The documentation right above a line, and the line where that or its attributes begin.

        After a ``/** … */`` one blank line may follow, if it is not the file's own at its top.
        """
        first = at = line
        lines = self.lines
        while at > 0 and style.attribute:
            before = lines[at - 1].strip()
            if before.startswith(style.attribute):
                at -= 1
                first = at
            elif before.endswith("]") and (start := self._attribute_over(at - 1, style)) is not None:
                first = at = start
            else:
                break
        start = self._comment_over(at, style)
        if start == at and at > 1 and not lines[at - 1].strip() and lines[at - 2].strip() == "*/":
            start = self._comment_over(at - 1, style)
            if not lines[start].lstrip().startswith("/**") or start == 0:
                return "", first
        if start == at:
            return "", first
        return without_marks(lines[start:at], style), start

    def _attribute_over(self, line: int, style: CommentStyle) -> int | None:
        for at in range(line, max(line - 12, -1), -1):
            stripped = self.lines[at].strip()
            if stripped.startswith(style.attribute):
                return at
            if not stripped or stripped.endswith((";", "}")):
                return None
        return None

    def _comment_over(self, line: int, style: CommentStyle) -> int:
        """Where the comment begins that ends right above a line; the line itself if there is none."""
        lines = self.lines
        if line == 0:
            return line
        before = lines[line - 1].strip()
        if before.startswith(style.line) and not (style.block and before == style.block[1]):
            at = line - 1
            while at > 0 and lines[at - 1].lstrip().startswith(style.line):
                at -= 1
            return at + 1 if at == 0 and lines[0].startswith("#!") else at
        if style.block and before.endswith(style.block[1]):
            for at in range(line - 1, -1, -1):
                opening = lines[at].find(style.block[0])
                if opening >= 0 and not (at == line - 1 and before == style.block[0]):
                    return line if lines[at][:opening].strip() else at
        return line

    def top(self, style: CommentStyle) -> tuple[str, int, int]:
        """What the comments at the file's top say of it, and their lines [first, after]; licences are passed over."""
        at, lines = 0, self.lines
        while at < len(lines):
            line = lines[at].strip()
            if not line or line.startswith(("#!", "<?", "'use strict'", '"use strict"', "#pragma once")):
                at += 1
                continue
            end = self._comment_from(at, style)
            if end == at:
                break
            doc = without_marks(lines[at:end], style)
            if doc and not _LICENCE.search(doc):
                return doc, at, end
            at = end
        return "", 0, 0

    def _comment_from(self, line: int, style: CommentStyle) -> int:
        """Where the comment that begins at a line ends, that line excluded."""
        lines = self.lines
        stripped = lines[line].strip()
        if style.block and stripped.startswith(style.block[0]):
            for at in range(line, len(lines)):
                if style.block[1] in lines[at]:
                    return at + 1
            return line
        at = line
        while at < len(lines) and lines[at].lstrip().startswith(style.line):
            at += 1
        return at


def without_marks(lines: list[str], style: CommentStyle = SLASHES) -> str:
    """What a comment says, without the signs that make it one and without a linter's directives."""
    said: list[str] = []
    for line in lines:
        plain = _MARKS.sub("", _without_own_marks(line.rstrip(), style))
        if not _DIRECTIVE.match(plain.strip()):
            said.append(plain.rstrip("*/").rstrip() if plain.endswith("*/") else plain)
    return _TAGS.sub("", cleandoc("\n".join(said))).strip()[:MOST_OF_A_DOC]


def _without_own_marks(line: str, style: CommentStyle) -> str:
    """Without those that few languages have."""
    opening, closing = style.block or ("", "")
    if opening and opening not in _USUAL:
        stripped = line.strip()
        if stripped.startswith(opening):
            line = stripped[len(opening) :].lstrip("*|")
        if closing and line.rstrip().endswith(closing):
            line = line.rstrip()[: -len(closing)].rstrip("*")
    for mark in style.line:
        if mark not in _USUAL and line.lstrip().startswith(mark):
            return line.lstrip().lstrip(mark)
    return line
