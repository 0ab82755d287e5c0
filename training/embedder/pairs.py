"""What people wrote about code, and the code: one file's pairs.

The document of a pair is the text that an index would keep of it (name, path, lines), without what is asked with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from sylk_ray.codebase.chunks import Chunk, cut
from sylk_ray.codebase.indexing.nodes import of_a_file, spoken_of
from sylk_ray.codebase.outline import Outline, Symbol, SymbolKind
from sylk_ray.codebase.roles import Role, role_of
from sylk_ray.knowledge.words import pieces
from training.embedder.cleaning import first_sentence, prose, rest, says_something, shortened

SHORTEST = 3
"""Lines of code that are left when the words are taken out."""
_COMMENT = re.compile(r"^\s*(?://+!?|#+(?![!\[])|--+(?!\[)|/\*+|\*(?!/)|;;+)\s?(.*?)(?:\*/)?\s*$")
_MARKED = re.compile(r"^\s*(?://|#|--|/\*|;;)")
_SQUEEZED = re.compile(r"[\W_]+")
_TAGS = re.compile(r"<[^<>]*>|<[^<>]*$|^[^<>]*>")
"""Of documentation in XML and HTML (C#, Java), which an outline takes without them. Some go on in the next line."""
_IN_COMMENT = re.compile(r"^\s*(?://|\*|/\*|--)")
_PREFIX = re.compile(r"^\s*[bBfFrRuU]{1,2}(?=\"|')")
"""Of a string that is documentation."""
_BY_LINE = {"python": "#", "ruby": "#", "bash": "#", "haskell": "--", "lua": "--"}


class Pair(msgspec.Struct, frozen=True, gc=False):
    """Words, and the code that they are about."""

    kind: str
    """doc, more, name, comment, file, test, section or gloss."""
    query: str
    document: str
    path: str
    language: str


def pairs_of(outline: Outline, text: str) -> Iterator[Pair]:
    """All that one file of code gives."""
    if role_of(outline.path, outline.language) is not Role.CODE:
        return
    yield from _of_the_file(outline, text)
    for chunk in cut(outline, text):
        symbol = outline.symbols[chunk.symbol] if chunk.symbol is not None and chunk.first else None
        if symbol is not None:
            yield from _of_a_definition(outline, symbol, chunk)
        yield from _of_comments(outline, chunk, symbol.doc if symbol else "")


def squeezed(text: str) -> str:
    """Its letters and digits, in small letters."""
    return _SQUEEZED.sub("", text.lower())


def without(code: str, said: str) -> str:
    """Code without the lines that are part of what was said, whatever marks they have."""
    whole = squeezed(said)
    return "\n".join(line for line in code.split("\n") if not _says_part_of(whole, line))


def _says_part_of(whole: str, line: str) -> bool:
    bare = _TAGS.sub("", line) if _IN_COMMENT.match(line) else _PREFIX.sub("", line)
    plain = [squeezed(each) for each in (line, bare)]
    return any(not each or (len(each) > 3 and each in whole) for each in plain)


def in_words(name: str) -> str:
    """``parseHTTPRequest`` as parse http request."""
    return " ".join(pieces(name))


def document(name: str, path: str, code: str) -> str:
    """As an index keeps it."""
    return f"{name}\n{path}\n{code}"


def code_of(document: str) -> str:
    """Without name and path; empty for a text that has none, as a word of a dictionary."""
    return "".join(document.split("\n", 2)[2:])


def head_of(document: str) -> tuple[str, str]:
    """Name and path."""
    name, path, _ = document.split("\n", 2)
    return name, path


def of_the_file(outline: Outline, text: str, said: str) -> str:
    """A file, as an index keeps it, without what is said of it."""
    kept = of_a_file(msgspec.structs.replace(outline, doc=""))
    return document(outline.path.rpartition("/")[2], outline.path, f"{kept}\n{spoken_of(without(text, said))}")


def _of_the_file(outline: Outline, text: str) -> Iterator[Pair]:
    """What it says of itself, or what is said of the type that takes most of it."""
    docs = [outline.doc]
    docs += (
        symbol.doc
        for symbol in outline.symbols
        if symbol.kind is SymbolKind.TYPE and 2 * (symbol.end_line - symbol.start_line) > outline.lines
    )
    for doc in docs:
        said = prose(doc)
        if says_something(said) and len(outline.symbols) > 1:
            kept = of_the_file(outline, text, doc)
            yield Pair("file", shortened(said), kept, outline.path, outline.language)


def _of_a_definition(outline: Outline, symbol: Symbol, chunk: Chunk) -> Iterator[Pair]:
    code = without(chunk.text, symbol.doc) if symbol.doc else chunk.text
    if code.count("\n") + 1 < SHORTEST:
        return
    kept = document(symbol.name, outline.path, code)

    def pair(kind: str, query: str, found: str = kept) -> Pair:
        return Pair(kind, shortened(query), found, outline.path, outline.language)

    said = prose(symbol.doc)
    # Go's documentation begins with the name; whoever asks does not know it.
    said = re.sub(rf"^{re.escape(symbol.name)}\b\s*[:,-]?\s*", "", said)
    first = first_sentence(said)
    if says_something(first):
        yield pair("doc", first)
        if len(said) > len(first) + 20:
            yield pair("more", said)
    more = rest(symbol.doc)
    if says_something(more):
        yield pair("more", more)
    words = pieces(symbol.name)
    if len(words) > 1 and symbol.kind is not SymbolKind.MODULE:
        nameless = re.sub(rf"\b{re.escape(symbol.name)}\b", " ", code)
        yield pair("name", " ".join(words), document("", outline.path, nameless))


def _of_comments(outline: Outline, chunk: Chunk, doc: str) -> Iterator[Pair]:
    lines = chunk.text.split("\n")
    told = squeezed(doc)
    for start, end in _commented(lines, outline.language):
        if told and _is_documentation(told, lines[start:end], inner=any(line.strip() for line in lines[:start])):
            continue
        found = [_COMMENT.match(line) for line in lines[start:end]]
        said = " ".join(" ".join(each[1].split()) for each in found if each).strip()
        if len(said) < 20:
            continue
        said = prose(said)
        remaining = lines[:start] + lines[end:]
        if says_something(said) and len(remaining) >= SHORTEST:
            kept = document(chunk.title.rpartition(".")[2], outline.path, "\n".join(remaining))
            yield Pair("comment", shortened(said), kept, outline.path, outline.language)


def _is_documentation(told: str, comment: Sequence[str], inner: bool) -> bool:
    """Whether a comment is what was told of the definition. One with code above it is only if most of it was told."""
    said = [_says_part_of(told, line) for line in comment if squeezed(_TAGS.sub("", line))]
    return bool(said) and (2 * sum(said) > len(said) if inner else said[0])


def _commented(lines: Sequence[str], language: str) -> Iterator[tuple[int, int]]:
    """Where comments stand alone on their lines, from and to."""
    mark = _BY_LINE.get(language)
    at = 0
    while at < len(lines):
        plain = lines[at].strip()
        if not _MARKED.match(lines[at]) or (mark and not plain.startswith(mark)) or (not mark and plain[0] == "#"):
            at += 1
            continue
        end = at + 1
        if plain.startswith("/*"):
            while end < len(lines) and "*/" not in lines[end - 1]:
                end += 1
        else:
            while end < len(lines) and lines[end].strip().startswith(plain[:2]):
                end += 1
        yield at, end
        at = end
