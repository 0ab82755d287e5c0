"""Macros of C and C++ that a parser takes for something else.

``class FOO_EXPORT Cache {`` reads as a function, and a line of ``FOO_BEGIN_NAMESPACE`` as the type of what follows. A
parser does not know what they stand for; their names and places tell those that stand for nothing that is defined.
"""

from __future__ import annotations

import re

from sylk_ray.codebase.reading.source import blanked

# Names have bounds, and are matched as one: none is tried twice, however long or many they are.
_ARGUMENTS = r"(?:\([^()\n]{0,200}\))?"
_OF_A_TYPE = r"(?>(?:[A-Z][A-Z0-9]{0,80}_[A-Z0-9_]{0,80}|\w{1,80}_(?:API|EXPORT))\b)"
_ENDS = "|".join(
    (
        "API_?",
        "EXPORTS?",
        "EXPORT_[A-Z0-9_]{1,80}",
        "EXTERN",
        "DLL[A-Z0-9_]{0,80}",
        "PUBLIC",
        "PRIVATE",
        "INTERNAL",
        "LOCAL",
        "HIDDEN",
        "VISIBLE",
        "[A-Z]{0,80}INLINE",
        "CONSTEXPR[A-Z0-9_]{0,80}",
        "NODISCARD",
        "NORETURN",
        "DEPRECATED[A-Z0-9_]{0,80}",
        "MUSTTAIL",
        "FUNC",
        "FN",
        "DECL",
    )
)
"""What those of functions end with; the names of types may, too."""
_OF_A_FUNCTION = rf"(?>(?:[A-Z][A-Z0-9_]{{0,80}}_(?:{_ENDS})|[A-Z]{{1,80}}(?:EXTERN|DLL))\b)"
_BEFORE_A_TYPE = tuple(
    re.compile(
        rf"{word}\s+((?:{_OF_A_TYPE}{_ARGUMENTS}\s+){{1,4}})"
        r"(?=(?!(?:final|sealed|abstract)\b)[A-Za-z_][\w:]{0,200}(?:<[^<>{};]{0,200}>)?\s*(?:final\s*)?"
        r"(?:\{|:(?!:)[^;{}()]{0,300}\{))"
    )
    for word in ("class", "struct", "union", "enum")
)
"""Of a definition: its body follows. One for each word, as letters that come first are looked for fast."""
_FIRST_IN_LINE = re.compile(r"[ \t]*(?:(?:typedef|enum|template[ \t]*<.{0,200}>)[ \t]*)?")
_LONGEST_BEFORE = 300
_BEFORE_A_FUNCTION = re.compile(
    r"\n[ \t]*+(?:(?:static|inline|extern|virtual|explicit|friend)[ \t]+)*+"
    rf"((?:{_OF_A_FUNCTION}{_ARGUMENTS}[ \t]++){{1,4}})"
    r"(?=[A-Za-z_~])(?!\w+\s*[(;=,\[{])"
)
"""Of a declaration that has a type without it."""
_BETWEEN_DECLARATIONS = re.compile(
    r"\n([ \t]*+[A-Z][A-Z0-9_]{0,80}(?:NAMESPACE|DECLS|DIAG|WARNINGS?)(?:_[A-Z0-9_]{0,80})?"
    rf"{_ARGUMENTS}[ \t]*+)(?=\n(?!\s*\{{))"
)
_BEHIND = (
    "GUARDED_BY",
    "LOCKS_REQUIRED",
    "LOCKS_EXCLUDED",
    "LOCK_FUNCTION",
    "THREAD_SAFETY_ANALYSIS",
    "LIFETIME_BOUND",
)
"""Clang's usual names for what a declaration is annotated with."""
_BEHIND_A_DECLARATION = re.compile(
    rf"[\w)>\]](?<!def)(?<!define)(?<!defined)\s+(?>([A-Z_]{{0,80}}(?:{'|'.join(_BEHIND)})\b{_ARGUMENTS}))"
)
_ENDS_WHAT_STANDS_BEFORE = "\n;{}/>"


def without_macros(text: str) -> str:
    """The text with blanks in place of such macros: what remains stands where it stood."""
    text = f"\n\n{text}\n"
    for each in _BEFORE_A_TYPE:
        text = each.sub(_blanked_if_first, text)
    if any(each in text for each in _BEHIND):
        text = _BEHIND_A_DECLARATION.sub(_blanked, text)
    text = _BEFORE_A_FUNCTION.sub(_blanked, text)
    return _BETWEEN_DECLARATIONS.sub(_blanked_if_between, text)[2:-1]


def _blanked_if_first(found: re.Match[str]) -> str:
    at = found.start()
    line = found.string.rfind("\n", max(at - _LONGEST_BEFORE, 0), at)
    return _blanked(found) if line >= 0 and _FIRST_IN_LINE.fullmatch(found.string, line + 1, at) else found[0]


def _blanked_if_between(found: re.Match[str]) -> str:
    return _blanked(found) if found.string[found.start() - 1] in _ENDS_WHAT_STANDS_BEFORE else found[0]


def _blanked(found: re.Match[str]) -> str:
    first, last = found.start(1) - found.start(), found.end(1) - found.start()
    return found[0][:first] + blanked(found[1]) + found[0][last:]
