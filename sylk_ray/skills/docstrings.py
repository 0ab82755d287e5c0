"""What a docstring says of a function and of each of its parameters, in Google's or Sphinx's form."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

_SECTION = re.compile(r"(Args|Arguments|Parameters|Returns?|Raises|Yields):\s*\Z")
_PARAMETERS = {"Args", "Arguments", "Parameters"}
_ENTRY = re.compile(r"\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)\Z")
_FIELD = re.compile(r":(\w+)(?:\s+([^:]*))?:\s*(.*)\Z")


class Docstring(NamedTuple):
    """The text before and between the sections, and the parameters' descriptions in one line each."""

    description: str
    parameters: dict[str, str]


def parse(docstring: str) -> Docstring:
    """Returns and raises are left out: a model sees what comes back."""
    prose: list[str] = []
    parameters: dict[str, str] = {}
    section = current = ""
    indent = 0
    for line in inspect.cleandoc(docstring).splitlines():
        depth = len(line) - len(line.lstrip())
        if header := _SECTION.match(line):
            section, current, indent = header[1], "", 0
        elif field := _FIELD.match(line):
            section, current = field[1], ""
            if section == "param" and field[2]:
                current = field[2].split()[-1]
                parameters[current] = field[3]
        elif section and line and not depth:
            section = ""
            prose.append(line)
        elif section in _PARAMETERS and line and (not current or depth <= indent):
            entry = _ENTRY.match(line.strip())
            current, indent = (entry[1] if entry else ""), depth
            if entry:
                parameters[current] = entry[2]
        elif section and current and line:
            parameters[current] = f"{parameters[current]} {line.strip()}".strip()
        elif not section:
            prose.append(line)
    return Docstring("\n".join(prose).strip(), parameters)
