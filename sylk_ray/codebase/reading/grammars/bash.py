"""What the nodes of shell scripts mean."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from sylk_ray.codebase.outline import ReferenceKind
from sylk_ray.codebase.reading.reader import Reader, Rules, Span
from sylk_ray.codebase.reading.rules import CONSTANT, FUNCTION, defines
from sylk_ray.codebase.reading.source import HASHES


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BUILT_IN = _words(
    """
    echo printf cd set unset export local return exit shift read test [ [[ : true false eval exec trap wait kill
    cat grep sed awk rm mv cp mkdir ls find sort cut tr head tail tee xargs basename dirname chmod touch sleep
    pwd pushd popd declare readonly typeset command type ulimit umask getopts let
    """
)
_COMMAND_AFTER = re.compile(r"[ \t]+(?![ \t#;\n]|&&|\|\|)\S")
_SOURCED = re.compile(r"(?:source|\.)\s+([^\s;&|]+|\"[^\"]*\"(?:[^\s;&|]*))")
_FILE = re.compile(r"(?:.*\$[({][^/]*[)}]\"?|\$\w+|.*\$\([^)]*\))\"?/")


def _command(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None:
        return
    word = name.text()
    if word in ("source", "."):
        found = _SOURCED.match(reader.text, at.start, at.end)
        line = reader.text[at.start : at.end].strip()
        written = line.split(None, 1)[1] if found and " " in line else ""
        path = _FILE.sub("./", written).strip("\"'")
        if path and not re.search(r"[$\s]", path):
            reader.imported(path, at, [("*", "*")])
    elif word not in _BUILT_IN and re.fullmatch(r"[\w:.-]+", word):
        reader.reference(word, "", ReferenceKind.CALL, at.line + 1)


def _variable(reader: Reader, node: SgNode, at: Span) -> None:
    name = node.field("name")
    if name is None or reader.stack or name.kind() != "variable_name":
        return
    start = at.start - at.column
    if re.fullmatch(r"(?:(?:readonly|export|declare|typeset)\s+(?:-\w+\s+)*)?", reader.text[start : at.start]):
        line = Span(start, at.end, at.line, at.end_line, 0)
        if not _prefixes_a_command(reader, at):
            reader.define(node, line, CONSTANT, name.text(), body=at.end, enter=False, uses=False)


def _prefixes_a_command(reader: Reader, at: Span) -> bool:
    return _COMMAND_AFTER.match(reader.text, at.end) is not None


RULES = Rules(
    grammar="bash",
    handlers={
        "function_definition": defines(FUNCTION),
        "variable_assignment": _variable,
        "command": _command,
    },
    comments=HASHES,
    exported=lambda name, signature: not name.startswith("_"),
)
