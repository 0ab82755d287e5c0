"""What a file is for, told by its path: so that tests, examples and documents do not stand before their code."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import PurePosixPath

from sylk_ray.codebase.languages import CONFIGURATION


class Role(StrEnum):
    """What a file is for."""

    CODE = "code"
    TEST = "test"
    EXAMPLE = "example"
    DOCUMENT = "document"
    CONFIGURATION = "configuration"
    COPY = "copy"
    """Made of other files, or another's: amalgamated, minified, vendored."""


_TEST_FOLDERS = re.compile(
    r"(^|/)((?i:tests?|specs?|__tests__|__mocks__|mocks?|testing|test-?data|fixtures?|e2e|fuzz(ing|y)?)"
    r"|([^/]*[._-])?test(ing)?[_-]?(support|utils?|helpers?|kit)|[^/]*[._-][Tt]ests?|\w+Tests?)/"
)
_TEST_NAMES = re.compile(
    r"^(test[_-].*|.*[_.-](tests?|specs?|mocks?)(\.[^.]+)+|.*(Tests?|Specs?|IT)\.(java|kt|cs|swift|php|scala)"
    r"|conftest\.py|tests?\.[^.]+|.*\.t)$"
)
_PERLS_TESTS = re.compile(r"(^|/)t/.*\.p[lm]$")
_EXAMPLES = re.compile(
    r"(^|/)([^/]*[._-])?(examples?|samples?|demos?|tutorials?|bench(marks?|es)?|snippets?|playground)/", re.I
)
_DOCUMENTS = re.compile(r"(^|/)(docs?|documentation|[^/]*\.docc|website|wiki|man)/", re.I)
_COPIES = re.compile(
    r"^vendor/|(^|/)(_vendor|_?vendored|third[_-]?party|3rdparty|single[_-](include|header)s?|amalgamat(ed|ion)|_site)/"
    r"|(^|/)[^/]*(amalgamat(ed|ion)|\.min\.)[^/]*$"
)
"""By names that nobody gives to what is one's own."""
_CONFIGURES = re.compile(
    r"^(\.[\w-]*ignore(-revs)?|\.git(attributes|modules)|\.editorconfig|\.mailmap|Doxyfile(\.in)?|.*\.m4|configure\.(ac|in))$"
)
"""Files of tools in formats of their own."""
_PROSE = frozenset({"markdown", "rst", "asciidoc"})
_PROSE_NAMES = re.compile(r".*\.(txt|text|me|man|[1-8])$|^[A-Z]+$")
"""Plain texts; what is in a language that is not known is code."""


def role_of(path: str, language: str) -> Role:
    """The role of a file."""
    pure = PurePosixPath(path)
    if _TEST_FOLDERS.search(path) or _TEST_NAMES.match(pure.name) or _PERLS_TESTS.search(path):
        return Role.TEST
    if _EXAMPLES.search(path):
        return Role.EXAMPLE
    if language in CONFIGURATION:
        return Role.CONFIGURATION
    if language in _PROSE or _DOCUMENTS.search(path) or (language == "text" and _PROSE_NAMES.match(pure.name)):
        return Role.DOCUMENT
    if _COPIES.search(path):
        return Role.COPY
    return Role.CONFIGURATION if _CONFIGURES.match(pure.name) else Role.CODE
