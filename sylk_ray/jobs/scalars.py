"""What an unquoted word of a job file means.

The rules are those of YAML 1.2, where only ``true`` and ``false`` are booleans and a date is text. PyYAML's
own rules, of YAML 1.1, turn ``on``, ``no``, ``12:30`` and ``0777`` into something that nobody meant.
"""

from __future__ import annotations

import re
from math import isfinite

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,4})?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}


def plain_value(text: str) -> str | int | float | bool | None:
    """Text, unless it reads as a number, a truth value or nothing at all; never raises."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and not text.lstrip("+-").isdigit():
        number = float(text)
        return number if isfinite(number) else text
    return text
