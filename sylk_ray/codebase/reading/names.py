"""Names as code writes them: the last part of a path, what stands before it, and the types within a signature."""

from __future__ import annotations

import re
from functools import lru_cache

_LAST = re.compile(r"[A-Za-z_$#@\u0080-\U0010ffff][\w$]*[!?]?$")
_TYPE_ARGUMENTS = re.compile(r"(?:::)?<[^()]*>$|\[[^()\[\]]*\]$")
_GENERIC = re.compile(r"<[^<>()]*>")
_LAST_OPERAND = re.compile(r"(?<=[\s+\-*/%&|=<>!({\[,;])[\w.@:\\]+$")
_PATH = re.compile(r"[\w$@.:\\]+")
_BASE = re.compile(
    r"\s*(?:(?:public|private|protected|virtual|open|final|with)\s+)*\*?((?:\\|::)?[A-Za-z_][\w]*(?:(?:\.|::|\\)\w+)*)"
)
_WORD = re.compile(r"\b[A-Z]\w*[a-z]\w*\b")
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")

ELSE = "()"
"""The receiver where it is neither a name nor the call of one."""


@lru_cache(maxsize=1 << 14)
def called(text: str) -> tuple[str, str]:
    """What stands before the last name of a callee, and that name; ("", "") if it ends in none.

    ``a.b.c`` gives ("a.b", "c"), ``Order(1).total`` gives ("Order()", "total"). Arrows are written as dots.
    """
    if text.isascii() and text.isidentifier():
        return "", text
    if text.endswith((">", "]")):
        text = _TYPE_ARGUMENTS.sub("", text)
    last = _LAST.search(text)
    if last is None:
        return "", ""
    before = text[: last.start()]
    if not before:
        return "", last[0]
    return receiver(before), last[0]


def receiver(before: str) -> str:
    """What stands before a name, its separator included or not, in one form."""
    plain = before.strip().replace("?.", ".").replace("!.", ".").replace("->", ".").replace("$", "")
    plain = plain.rstrip(".:\\?! ")
    if _PATH.fullmatch(plain):
        return plain
    plain = _GENERIC.sub("", plain)
    if _PATH.fullmatch(plain):
        return plain
    if operand := _LAST_OPERAND.search(plain):
        return operand[0]
    if plain.endswith(")"):
        head = plain.removeprefix("new ").removeprefix("await ").removeprefix("(await ").split("(", 1)
        if len(head) == 2 and _PATH.fullmatch(head[0]) and _closes_at_end(plain):
            return f"{head[0]}()"
    return ELSE if plain else ""


def _closes_at_end(text: str) -> bool:
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == ")" and depth == 0:
            return at == len(text) - 1
    return False


def bases(text: str) -> list[str]:
    """The types of a list of base types, their arguments left out: ``Base(id), a.Closable<T>`` gives two."""
    found: list[str] = []
    for piece in top_level_pieces(text):
        base = _BASE.match(piece)
        if base and "=" not in piece.split("(")[0].split("<")[0]:
            found.append(base[1])
    return found


def top_level_pieces(text: str, separators: str = ",&+") -> list[str]:
    """A text split at its separators, those within brackets apart."""
    pieces: list[str] = []
    depth = start = 0
    for at, char in enumerate(text):
        if char in "([{<":
            depth += 1
        elif char in ")]}" or (char == ">" and text[at - 1] not in "-="):
            depth -= 1
        elif depth == 0 and char in separators:
            pieces.append(text[start:at])
            start = at + 1
    pieces.append(text[start:])
    return pieces


def types_in(signature: str) -> dict[str, None]:
    """The capitalised names of a signature, strings left out, each once, in order."""
    if '"' in signature or "'" in signature:
        signature = _STRING.sub("", signature)
    return dict.fromkeys(_WORD.findall(signature))
