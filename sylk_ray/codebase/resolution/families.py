"""What of a language matters to how its names are looked up."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FAMILIES = {
    "javascript": "js",
    "typescript": "js",
    "tsx": "js",
    "java": "jvm",
    "kotlin": "jvm",
    "scala": "jvm",
    "c": "c",
    "cpp": "c",
    "objective-c": "c",
}
IMPLICIT_SELF = frozenset(
    {"java", "kotlin", "scala", "csharp", "swift", "cpp", "ruby", "elixir", "dart", "solidity", "zig"}
)
"""Where a plain name within a type may be one of its members."""
PACKAGED = frozenset({"java", "kotlin", "scala", "csharp", "php"})
"""Where files say the package that they belong to, and see all of it without an import."""
KEEPING = PACKAGED - {"php"}
"""Where who takes in a package has what its files define, and nothing that they import."""
HANDED_ON = frozenset(
    {"python", "javascript", "typescript", "tsx", "rust", "c", "cpp", "objective-c", "ruby", "bash", "dart"}
)
"""Where who takes in a file as a whole has what that file takes in as a whole."""
OWN = frozenset({"self", "this", "cls", "Self", "static", "@", "__MODULE__", "self.class", "()self"})
ABOVE = frozenset({"super", "super()", "parent", "base"})
COMMON = _words(
    """
    get set run close open read write add remove delete update create init new start stop next size length len
    count name value values keys items list map filter reduce push pop append extend insert find exists contains
    has is equals toString to_s to_string string str hash clone copy print println log error info warn debug
    format parse join split replace trim strip lower upper sort reverse call apply bind then catch send receive
    put post patch load save reset clear begin end commit rollback execute query emit on off once wait notify
    main setup teardown build make from into unwrap expect ok err iter collect default fmt eq cmp forEach each
    index test assert describe it range min max sum abs round sleep require include raise throw require_once
    first last empty any all
    """
)
"""Names that so many types have that one candidate of several says nothing."""


def family(language: str) -> str:
    """Languages of one family see each other's definitions."""
    return _FAMILIES.get(language, language)
