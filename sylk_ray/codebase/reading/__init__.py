"""One file read: its symbols, imports, references, documentation and parts, the same for every language.

::

    outline = read("src/parser.py", text)               # the language by the name, and by the contents where needed
    outline.symbols[0].qualified, outline.symbols[0].start_line
    outline.references                                  # what it calls, inherits and uses, and within which definition

A file that does not parse is read around what is broken; one that the parser gives up on is read as plain text.
Languages without a grammar are read by the beginnings of their lines, without what they refer to. Nothing that a file
holds makes ``read`` raise.
"""

from __future__ import annotations

from ast_grep_py import SgRoot

from sylk_ray.codebase.languages import BY_LINES, CONFIGURATION, GRAMMARS, language_of
from sylk_ray.codebase.outline import Outline
from sylk_ray.codebase.reading.conditions import first_branches, with_other_branches
from sylk_ray.codebase.reading.configuration import read_configuration
from sylk_ray.codebase.reading.definitions import read_definitions
from sylk_ray.codebase.reading.grammars import RULES
from sylk_ray.codebase.reading.line_patterns import LINE_RULES
from sylk_ray.codebase.reading.prose import read_asciidoc, read_markdown, read_rst, read_text
from sylk_ray.codebase.reading.reader import Reader
from sylk_ray.codebase.reading.recovering import read_behind_mistakes
from sylk_ray.codebase.reading.source import Source

__all__ = ["read"]

LONG_LINES = 2000
"""Characters in a line on the average above which a file is read as plain text, whatever its language."""
MUCH_BROKEN = 20
"""Lines above which a file is read once more, with the first branches of its conditions alone."""
_PROSE = {"markdown": read_markdown, "rst": read_rst, "asciidoc": read_asciidoc}


def read(path: str, text: str, language: str | None = None) -> Outline:
    """The outline of a file. ``path`` is relative to the root, with forward slashes; it is not opened.

    ``language`` is a name of ``languages.LANGUAGES``, found out by the path and the text if it is None.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode()
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    language = language or language_of(path, text[:8192]) or "text"
    if language in GRAMMARS and text.strip() and not _is_one_long_line(text):
        outline = read_behind_mistakes(text, lambda rest: _parsed(path, rest, language))
        if outline is not None:
            return outline
    if language in BY_LINES and not _is_one_long_line(text):
        return read_definitions(path, text, language, LINE_RULES[language])
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if language in _PROSE:
        return _PROSE[language](path, lines)
    if language in CONFIGURATION:
        return read_configuration(path, lines, language)
    return read_text(path, lines, language)


def _is_one_long_line(text: str) -> bool:
    """Whether columns go into the thousands: counting them for every node would take longer than anything else."""
    return len(text) > LONG_LINES * 10 and len(text) > LONG_LINES * (text.count("\n") + 1)


def _broken_lines(outline: Outline) -> int:
    return sum(last - first + 1 for first, last in outline.broken)


def _parsed(path: str, text: str, language: str) -> Outline | None:
    """None if the parser gives up on it. Its panics are no Exception."""
    rules = RULES[language]

    def parsed(some: str) -> Outline:
        # What some of the text stands for is looked up in all of it: signatures, documentation, lines.
        root = SgRoot(rules.prepared(some), rules.grammar).root()
        return Reader(path, language, Source(text), rules).read(root)

    try:
        outline = parsed(text)
        if rules.conditions and _broken_lines(outline) > MUCH_BROKEN:
            first = first_branches(text)
            of_first = parsed(first)
            if 2 * _broken_lines(of_first) < _broken_lines(outline):
                return with_other_branches(of_first, outline, text, first)
        return outline
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None
