"""Macros of C and C++ that a parser takes for something else.

``class FOO_EXPORT Cache {`` reads as a function, and a line of ``FOO_BEGIN_NAMESPACE`` as the type of what follows. A
parser does not know what they stand for, but their places and names tell that they stand for nothing that is defined.
"""

from __future__ import annotations

import re

# Names have bounds, and are matched as one: none is tried twice, however long or many they are.
_ARGUMENTS = r"(?:\([^()\n]{0,200}\))?"
_BEFORE_A_TYPE = tuple(
    re.compile(
        rf"{word}\s+((?:(?>(?:[A-Z][A-Z0-9_]{{3,80}}|\w{{1,80}}_(?:API|EXPORT))\b){_ARGUMENTS}\s+){{1,4}})"
        r"(?=(?!final\b)[A-Za-z_][\w:]{0,200}(?:<[^<>{};]{0,200}>)?\s*(?:final\s*)?(?:\{|:(?![:\s]*\d|:)))"
    )
    for word in ("class", "struct", "union", "enum")
)
"""One for each word, as each then begins with letters that are looked for fast."""
_BEFORE_A_DECLARATION = re.compile(
    r"\n[ \t]*+(?:(?:static|inline|extern|virtual|explicit|friend)[ \t]+)*+"
    r"((?:(?>(?:[A-Z][A-Z0-9_]{0,80}_(?:API_?|EXPORTS?|EXPORT_[A-Z0-9_]{1,80}|EXTERN|DLL[A-Z0-9_]{0,80}|PUBLIC|PRIVATE"
    r"|INTERNAL|LOCAL|[A-Z]{0,80}INLINE|CONSTEXPR[A-Z0-9_]{0,80}|NODISCARD|NORETURN|DEPRECATED[A-Z0-9_]{0,80}|FUNC|FN|DECL"
    rf"|VISIBLE|HIDDEN|MUSTTAIL|ATTRIBUTE[A-Z0-9_]{{0,80}})|[A-Z]{{1,80}}(?:EXTERN|DLL))\b){_ARGUMENTS}\s++){{1,4}})"
    r"(?=[A-Za-z_~])"
)
_BETWEEN_DECLARATIONS = re.compile(
    r"\n([ \t]*+[A-Z][A-Z0-9_]{0,80}(?:NAMESPACE|DECLS|DIAG|WARNINGS?|_BEGIN|_END|_PUSH|_POP|_OPEN|_CLOSE)"
    rf"(?:_[A-Z0-9_]{{0,80}})?{_ARGUMENTS}[ \t]*+)(?=\n)"
)
_SEEN = re.compile(r"\S")


def without_macros(text: str) -> str:
    """The text with blanks in place of such macros: what remains stands where it stood."""
    for each in (*_BEFORE_A_TYPE, _BEFORE_A_DECLARATION, _BETWEEN_DECLARATIONS):
        text = each.sub(_blanked, text)
    return text


def _blanked(found: re.Match[str]) -> str:
    first, last = found.start(1) - found.start(), found.end(1) - found.start()
    return found[0][:first] + _SEEN.sub(" ", found[1]) + found[0][last:]
