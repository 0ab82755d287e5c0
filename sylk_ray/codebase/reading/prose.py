"""Documents by their headings, and plain text by chunks."""

from __future__ import annotations

import re

from sylk_ray.codebase.outline import Outline, Part

CHUNK = 40
"""Lines of a plain text's part, about; a part ends at a blank line near to it."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_ASCIIDOC = re.compile(r"(={1,6})[ \t]+(\S.*)$")
_RST_MARK = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_NO_PARAGRAPH = re.compile(r" {0,3}(?:[#>|]|[-*+][ \t]|\d+[.)][ \t])|[ \t]*$|    ")


def read_markdown(path: str, lines: list[str]) -> Outline:
    """By ATX and setext headings; what stands in a fence or in front matter is none."""
    headings: list[tuple[int, int, str]] = []
    fence = ""
    start = _front_matter(lines)
    for at in range(start, len(lines)):
        line = lines[at]
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if mark:
            fence = mark[1]
        elif atx := _ATX.match(line):
            headings.append((at + 1, len(atx[1]), (atx[2] or "").strip()))
        elif at > start and (under := _SETEXT.match(line)) and not _NO_PARAGRAPH.match(lines[at - 1]):
            headings.append((at, 1 if under[1][0] == "=" else 2, lines[at - 1].strip()))
    return _by_headings(path, "markdown", lines, headings)


def _front_matter(lines: list[str]) -> int:
    if lines and lines[0].rstrip() == "---":
        for at in range(1, min(len(lines), 200)):
            if lines[at].rstrip() in ("---", "..."):
                return at + 1
    return 0


def read_rst(path: str, lines: list[str]) -> Outline:
    """By underlined titles; the level of a mark is the order in which it first appears."""
    headings: list[tuple[int, int, str]] = []
    levels: dict[str, int] = {}
    for at in range(1, len(lines)):
        title, mark = lines[at - 1].rstrip(), _RST_MARK.match(lines[at])
        if (
            mark
            and title
            and not title[0].isspace()
            and not _RST_MARK.match(title)
            and len(lines[at].rstrip()) >= len(title)
        ):
            overlined = at >= 2 and _RST_MARK.match(lines[at - 2]) is not None
            level = levels.setdefault(mark[1] + "o" * overlined, len(levels) + 1)
            headings.append((at - overlined, level, title.strip()))
    return _by_headings(path, "rst", lines, headings)


def read_asciidoc(path: str, lines: list[str]) -> Outline:
    """By the lines that begin with equals signs."""
    found = ((at, _ASCIIDOC.match(line)) for at, line in enumerate(lines, 1))
    return _by_headings(path, "asciidoc", lines, [(at, len(each[1]), each[2].strip()) for at, each in found if each])


def _by_headings(path: str, language: str, lines: list[str], headings: list[tuple[int, int, str]]) -> Outline:
    parts: list[Part] = []
    above: list[tuple[int, str]] = []
    first = headings[0][0] if headings else len(lines) + 1
    parts.extend(chunks(lines, 1, first - 1))
    for number, (at, level, title) in enumerate(headings):
        last = headings[number + 1][0] - 1 if number + 1 < len(headings) else len(lines)
        above = [*(each for each in above if each[0] < level), (level, title)]
        parts.append(Part(title=" > ".join(each[1] for each in above if each[1]), start_line=at, end_line=last))
    return Outline(path=path, language=language, lines=len(lines), doc=_first_paragraph(lines), parts=tuple(parts))


def _first_paragraph(lines: list[str]) -> str:
    said: list[str] = []
    for line in lines[_front_matter(lines) : 200]:
        plain = line.strip()
        if said and not plain:
            break
        if plain and plain[0] not in "#=-<![|>~`.:*_" and not _RST_MARK.match(plain):
            said.append(plain)
        elif said:
            break
    return " ".join(said)[:600]


def read_text(path: str, lines: list[str], language: str = "text") -> Outline:
    """By chunks that end at blank lines."""
    return Outline(path=path, language=language, lines=len(lines), parts=tuple(chunks(lines, 1, len(lines))))


def chunks(lines: list[str], first: int, last: int) -> list[Part]:
    """Lines (from 1, ends included) in parts of about ``CHUNK``; stretches of blank lines are none."""
    parts: list[Part] = []
    at = first
    while at <= last:
        if not lines[at - 1].strip():
            at += 1
            continue
        end = min(at + CHUNK - 1, last)
        if end < last:
            nearest = (n for n in range(end, at + CHUNK // 2, -1) if not lines[n - 1].strip())
            end = next(nearest, end)
        stop = end
        while not lines[stop - 1].strip():
            stop -= 1
        parts.append(Part(start_line=at, end_line=stop))
        at = end + 1
    return parts
