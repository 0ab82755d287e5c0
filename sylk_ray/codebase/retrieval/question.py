"""What a query asks for: words, names of definitions, paths, and kinds of files."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from sylk_ray.codebase.roles import Role
from sylk_ray.knowledge.words import UNSPACED, asked_words, pieces

_LETTER, _IN_NAME = rf"(?:[^\W\d{UNSPACED}]|\$)", rf"[^\W{UNSPACED}]|\$"
_WRITTEN = rf"{_LETTER}(?:{_IN_NAME})*"
_NAME = re.compile(rf"{_WRITTEN}(?:(?:\.|::|#|->|/){_WRITTEN})*")
_SEPARATOR = re.compile(r"\.|::|#|->")
_SEGMENT = r"(?:[\w.\-@+~$]|\[{1,2}[\w.\-]+\]{1,2}|\([\w.\-]+\))+"
"""Of a path: ``[id]`` and ``(shop)`` are folders of web frameworks."""
_ALIAS = "@~+$"
"""What may stand around a path, and be none of it: ``@src/a.py`` mentions a file, ``~/`` is a root to frameworks."""
_PRODUCTS = (".js", ".io", ".net", ".ai", ".com", ".org", ".dev", ".app")
"""How names of products end, too."""
_FILE = r"\.?[\w\-]+(?:\.[\w\-]+)*\.[A-Za-z]\w*\b"
# From where a word begins: a long one that is no path is not read again from each of its characters.
_PATH = re.compile(rf"(?<![\w.\-@+~$\])])/?{_SEGMENT}(?:/{_SEGMENT})+|(?<![\w.\-]){_FILE}")
_BEFORE_PATH = re.compile(r"^(?:\.{0,2}/)+")


def _signs(role: Role, words: str) -> dict[str, Role]:
    return dict.fromkeys(words.split(), role)


_WANTED = {
    **_signs(Role.TEST, "test tests spec specs fixture fixtures mock mocks"),
    **_signs(Role.EXAMPLE, "example examples sample samples demo demos benchmark benchmarks tutorial tutorials"),
}
"""What is asked for where it ends a question or one of ``_WITH`` follows, and not after one of ``_BESIDE``, whatever of
``_BETWEEN`` stands there."""
_SPOKEN_OF = {
    **_signs(Role.DOCUMENT, "doc docs documentation documented readme changelog guide manual"),
    **_signs(Role.CONFIGURATION, "ini makefile dockerfile cmake ci pyproject pyproject.toml package.json cargo.toml"),
    **_signs(Role.COPY, "vendored amalgamated minified third-party"),
}
_FOLLOWING = "case cases for of that which cover covers covering about showing how in to against"
_WITH = frozenset(_FOLLOWING.split())
_BESIDE = frozenset(["in", "for", "during", "by", "while", "under", "from", "between"])
_BETWEEN = frozenset(["unit", "integration", "the", "a", "its", "their", "all", "any"])
_DECLARATIONS = re.compile(
    r"\b(?:declar(?:es?|ed|ations?)|typings|type definitions|header files?)\b"
    r"|(?<!\bline )(?<!\buser )(?<!\bnetwork )\binterfaces?\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w")
_PLAIN_WORD = re.compile(r"[^\s,;:?!()\"'`]+")


class Question(msgspec.Struct, frozen=True):
    """A query, read."""

    text: str
    words: tuple[str, ...]
    """Stemmed, without those that say nothing."""
    names: tuple[str, ...]
    """What is written as the name of a definition is: the last part of each, as written."""
    qualified: tuple[str, ...]
    """Each with what stands before it, joined by dots; two may end in the same name."""
    paths: tuple[str, ...]
    """Without the root, ``./`` or ``../`` before them."""
    meant: frozenset[str]
    """Those of them that can be nothing else; in a sentence ``node.js`` may be a file, and is mostly none."""
    roles: dict[Role, str]
    """Kinds of files that it speaks of, with the stem of the word that does."""
    declarations: bool
    """Whether it speaks of what is only declared, as an interface."""
    is_name: bool
    """Whether it is nothing but a name."""


def read_question(text: str, root: str = "") -> Question:
    """What a query asks for, of a root that its paths may begin with."""
    stripped = text.strip().strip("`'\"")
    is_name = bool(_NAME.fullmatch(stripped)) and "/" not in stripped
    written = [found for found in _NAME.findall(text) if is_name or _is_code(found)]
    qualified = [".".join(part for part in _SEPARATOR.split(each) if part) for each in written]
    found = _PATH.findall(text)
    alone = not _WORD.search(_PATH.sub("", text))
    paths = {path: alone or "/" in each or not each.endswith(_PRODUCTS) for each in found for path in _ways(root, each)}
    return Question(
        text=text,
        words=tuple(asked_words(text)),
        names=tuple(dict.fromkeys(each.rpartition(".")[2] for each in qualified)),
        qualified=tuple(dict.fromkeys(qualified)),
        paths=tuple(paths),
        meant=frozenset(path for path, certain in paths.items() if certain),
        roles=dict(_roles(text)),
        declarations=bool(_DECLARATIONS.search(text)),
        is_name=is_name,
    )


def _ways(root: str, path: str) -> Iterator[str]:
    """How a path that is written so may be called here, without the full stop of a sentence after it."""
    path = path.rstrip(".")
    yield _BEFORE_PATH.sub("", path.removeprefix(f"{root}/"))
    plain = path.strip(_ALIAS)
    if plain and plain != path:
        yield _BEFORE_PATH.sub("", plain)


def _roles(text: str) -> Iterator[tuple[Role, str]]:
    """That something is read from JSON, or done in unit tests, asks for no such file."""
    words = [word.rstrip(".") for word in _PLAIN_WORD.findall(text.lower())]
    for at, word in enumerate(words):
        role = _SPOKEN_OF.get(word)
        if word in _WANTED and (at + 1 == len(words) or words[at + 1] in _WITH):
            before = next((each for each in reversed(words[:at]) if each not in _BETWEEN), "")
            role = None if before in _BESIDE else _WANTED[word]
        if role is not None:
            yield role, asked_words(word)[-1]


def _is_code(written: str) -> bool:
    """Whether a word of a sentence is the name of a definition: no sentence has camelCase, underscores or ``::``."""
    last = _SEPARATOR.split(written)[-1]
    if "_" in last.strip("_") or "::" in written or "#" in written or "->" in written:
        return True
    return len(pieces(last)) > 1 and not last.isupper() and last[1:] != last[1:].lower()
