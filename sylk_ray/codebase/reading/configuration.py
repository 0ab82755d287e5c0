"""Configuration files by their top-level keys, and by those below where a key's part is long.

They are looked at as lines, not parsed: what counts is where a key stands, a broken file has keys as well, and comments
belong to what they stand above. JSON alone needs its braces counted, with strings and comments left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sylk_ray.codebase.outline import Outline, Part
from sylk_ray.codebase.reading.prose import chunks

SHORT = 30
"""Lines up to which a file's or a key's part stays whole."""

_YAML_KEY = re.compile(r"([\w.$/\"'-][^:#\n]*?)[ \t]*:(?:[ \t]|$)")
_TOML_TABLE = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY_VALUE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.\"-]*)\s*[=:]")
_STAGE = re.compile(r"FROM\s+\S+(?:\s+AS\s+(\S+))?", re.IGNORECASE)
_TARGET = re.compile(r"([\w./%$(){}-]+(?:\s+[\w./%$(){}-]+)*)\s*:(?![=:])|define\s+(\w+)")
_CMAKE = re.compile(r"\s*(\w+)\s*\(\s*([\w.${}-]*)")
_GO_BLOCK = re.compile(r"(module|go|toolchain|require|replace|exclude|retract|use)\b\s*([^\s(]*)")
_XML_ELEMENT = re.compile(r"( {0,4}|\t)<([A-Za-z][\w:.-]*)(?:\s+[^>]*?(?:name|id|Include)=\"([^\"]*)\")?")
_JSON_TOKEN = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|//[^\n]*|/\*.*?\*/|[{}\[\]:,\n]", re.DOTALL)


def read_configuration(path: str, lines: list[str], language: str) -> Outline:
    """The outline of a configuration file; one that has no keys is read as plain text."""
    starts = _STARTS[language](lines)
    parts = _parts(lines, starts) or chunks(lines, 1, len(lines))
    return Outline(path=path, language=language, lines=len(lines), parts=tuple(parts))


def _parts(lines: list[str], starts: list[tuple[int, str]]) -> list[Part]:
    """Parts from each start to the next, comments above belonging to what they stand above. A file that is short
    throughout stays in one."""
    if not starts:
        return []
    if len(lines) <= SHORT and any(line.strip() for line in lines):
        first = next(at for at, line in enumerate(lines, 1) if line.strip())
        last = max(at for at, line in enumerate(lines, 1) if line.strip())
        return [
            Part(title=", ".join(dict.fromkeys(title for _, title in starts))[:200], start_line=first, end_line=last)
        ]
    begins = [_with_comment(lines, at, starts[number - 1][0] if number else 0) for number, (at, _) in enumerate(starts)]
    if not any(char.isalnum() for line in lines[: begins[0] - 1] for char in line):
        begins[0] = 1
    parts = chunks(lines, 1, begins[0] - 1)
    for number, (_, title) in enumerate(starts):
        last = begins[number + 1] - 1 if number + 1 < len(starts) else len(lines)
        while last > begins[number] and not lines[last - 1].strip():
            last -= 1
        part = Part(title=title, start_line=begins[number], end_line=last)
        if parts and _small(parts[-1]) and _small(part) and parts[-1].title and "." not in title:
            together = f"{parts[-1].title}, {title}"
            if last - parts[-1].start_line < SHORT and len(together) <= 200:
                part = Part(title=together, start_line=parts[-1].start_line, end_line=last)
                parts.pop()
        parts.append(part)
    return parts


def _small(part: Part) -> bool:
    return part.end_line - part.start_line < SHORT // 3


def _with_comment(lines: list[str], at: int, after: int) -> int:
    while at - 1 > after and lines[at - 2].lstrip().startswith(("#", ";", "//", "<!--")):
        at -= 1
    return at


def _yaml(lines: list[str]) -> list[tuple[int, str]]:
    tops: list[tuple[int, str]] = []
    for at, line in enumerate(lines, 1):
        if line[:1] not in (" ", "\t", "#", "-") and (key := _YAML_KEY.match(line)):
            tops.append((at, key[1].strip("\"'")))
    return _with_inner(lines, tops, _yaml_inner)


def _yaml_inner(lines: list[str], first: int, last: int) -> list[tuple[int, str]]:
    indents = [
        len(line) - len(line.lstrip()) for line in lines[first:last] if line.strip() and line.lstrip()[0] not in "#-"
    ]
    wanted = min(indents, default=0)
    found: list[tuple[int, str]] = []
    if wanted:
        for at in range(first + 1, last + 1):
            line = lines[at - 1]
            if len(line) - len(line.lstrip()) == wanted and (key := _YAML_KEY.match(line.strip())):
                found.append((at, key[1].strip("\"'")))
    return found


def _with_inner(
    lines: list[str], tops: list[tuple[int, str]], inner: Callable[[list[str], int, int], list[tuple[int, str]]]
) -> list[tuple[int, str]]:
    """Long parts are divided by the keys below."""
    found: list[tuple[int, str]] = []
    for number, (at, title) in enumerate(tops):
        last = tops[number + 1][0] - 1 if number + 1 < len(tops) else len(lines)
        found.append((at, title))
        if last - at >= SHORT:
            found.extend((line, f"{title}.{key}") for line, key in inner(lines, at, last))
    return found


def _json(lines: list[str]) -> list[tuple[int, str]]:
    depth, line, last = 0, 1, ""
    tops: list[tuple[int, str]] = []
    second: list[tuple[int, str]] = []
    path = ""
    for token in _JSON_TOKEN.finditer("\n".join(lines)):
        text = token[0]
        if text in "{[":
            depth += 1
        elif text in "}]":
            depth -= 1
        elif text == ":" and last and depth in (1, 2):
            key = last[1:-1]
            if depth == 1:
                path = key
                tops.append((line, key))
            elif path:
                second.append((line, key))
        line += text.count("\n")
        if text[0] == '"':
            last = text
        elif text not in "\n" and not text.startswith("/"):
            last = ""

    def inner(_: list[str], first: int, end: int) -> list[tuple[int, str]]:
        return [each for each in second if first < each[0] <= end]

    return _once_a_line(_with_inner(lines, tops, inner))


def _once_a_line(starts: list[tuple[int, str]]) -> list[tuple[int, str]]:
    lines: dict[int, str] = {}
    for at, title in starts:
        lines.setdefault(at, title)
    return sorted(lines.items())


def _toml(lines: list[str]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for at, line in enumerate(lines, 1):
        if table := _TOML_TABLE.match(line):
            found.append((at, table[1].strip("\"'")))
        elif not found and (key := _KEY_VALUE.match(line)):
            found.append((at, key[1].strip("\"'")))
    return found


def _ini(lines: list[str]) -> list[tuple[int, str]]:
    sections = [(at, table[1]) for at, line in enumerate(lines, 1) if (table := _TOML_TABLE.match(line))]
    if sections:
        return sections
    found = ((at, _KEY_VALUE.match(line)) for at, line in enumerate(lines, 1) if line[:1] not in (" ", "\t"))
    return [(at, key[1]) for at, key in found if key]


def _dockerfile(lines: list[str]) -> list[tuple[int, str]]:
    found = ((at, line, _STAGE.match(line)) for at, line in enumerate(lines, 1))
    return [(at, stage[1] or line.split()[1]) for at, line, stage in found if stage]


def _makefile(lines: list[str]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for at, line in enumerate(lines, 1):
        if line[:1] in ("\t", " ", "#"):
            continue
        target = _TARGET.match(line)
        if target and (target[2] or not target[1].startswith(".")):
            found.append((at, target[2] or target[1]))
        elif not found and (key := _KEY_VALUE.match(line)):
            found.append((at, key[1]))
    return found


def _cmake(lines: list[str]) -> list[tuple[int, str]]:
    found = ((at, _CMAKE.match(line)) for at, line in enumerate(lines, 1) if line[:1] not in (" ", "\t", "#"))
    return [(at, f"{each[1]} {each[2]}".strip()) for at, each in found if each]


def _gomod(lines: list[str]) -> list[tuple[int, str]]:
    found = ((at, _GO_BLOCK.match(line)) for at, line in enumerate(lines, 1))
    return [(at, f"{each[1]} {each[2]}".strip()) for at, each in found if each]


def _xml(lines: list[str]) -> list[tuple[int, str]]:
    found = ((at, _XML_ELEMENT.match(line)) for at, line in enumerate(lines, 1))
    return [(at, f"{each[2]} {each[3] or ''}".strip()) for at, each in found if each]


_STARTS = {
    "json": _json,
    "yaml": _yaml,
    "toml": _toml,
    "ini": _ini,
    "xml": _xml,
    "dockerfile": _dockerfile,
    "makefile": _makefile,
    "cmake": _cmake,
    "gomod": _gomod,
}
