"""Documentation as a person would say it: without marks, parameters and what is not prose."""

from __future__ import annotations

import re

FEWEST, MOST = 3, 40
"""Words of what is asked with."""

_ENDS = re.compile(
    r"\n\s*\n|\n\s*(?:[@\\](?:param|return|returns|throws|see|since|author|example|deprecated|type|tparam|sa|note)\b"
    r"|:param|:return|:rtype|:type|Parameters?\s*\n|Args:|Arguments:|Returns:|Raises:|Examples?:|>>>|```|# Examples?)"
)
_TAGS = re.compile(r"\{@\w+\s+([^}]*)\}|<[^<>\n]{1,80}>|[@\\](?:brief|short|details|summary|c|p|a|ref|internal)\b\s?")
_LINKS = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])?|:[\w:]+:`~?([^`]*)`|https?://\S+")
_MARKS = re.compile(r"[`*_#|=~<>]{1,}(?=\s|$)|(?<!\S)[`*#|=~<>]+|`+|\*\*|__(?=\w+__)")
_SENTENCE = re.compile(r"(.+?[.!?:;])(?:\s+(?=[A-Z(`\"'])|$)", re.DOTALL)
_APART = re.compile(r"\s+([.,;:!?])(?=\s|$)")
_LETTERS = re.compile(r"[A-Za-z]{2,}")
_CODE_MARKS = re.compile(r"[{};=]|\w\(|->|=>|::|\+\+|&&|\|\|")
_SAID_OF_FILES = re.compile(
    r"copyright|licen[cs]e|all rights reserved|noqa|pylint|eslint|type: ignore|todo|fixme|nolint|clang-format"
    r"|warranty|pragma|prettier|istanbul|rubocop:|phpcs|@ts-",
    re.IGNORECASE,
)


def prose(doc: str) -> str:
    """The first paragraph, in one line, without marks."""
    text = "\n".join(line.strip().lstrip("*").strip() for line in doc.strip().split("\n"))
    found = _ENDS.search(f"{text}\n")
    text = text[: found.start()] if found and found.start() > 0 else text
    text = _LINKS.sub(lambda each: each[1] or each[2] or " ", _TAGS.sub(lambda each: each[1] or " ", text))
    return _APART.sub(r"\1", " ".join(_MARKS.sub(" ", text).split()))


def rest(doc: str) -> str:
    """The second paragraph, likewise."""
    paragraphs = re.split(r"\n\s*\n", doc.strip())
    return prose(paragraphs[1]) if len(paragraphs) > 1 else ""


def first_sentence(text: str) -> str:
    """Of what ``prose`` gave."""
    found = _SENTENCE.match(text)
    return (found[1] if found else text).rstrip(" .:;!")


def says_something(text: str) -> bool:
    """Whether it is prose in English: enough words, hardly a mark of code, nothing about licences or linters."""
    words = _LETTERS.findall(text)
    if text.startswith(("@", "\\")) or min(len(text.split()), len(words)) < FEWEST or _SAID_OF_FILES.search(text):
        return False
    plain = sum(map(len, words)) / max(len(text.replace(" ", "")), 1)
    return text.isascii() and plain > 0.75 and len(_CODE_MARKS.findall(text)) <= 1 + len(words) // 12


def shortened(text: str) -> str:
    """At most ``MOST`` words."""
    return " ".join(text.split()[:MOST])
