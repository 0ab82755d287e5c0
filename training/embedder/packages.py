"""The packages that the embedder learns from, and what it must never see.

``packages.tsv`` names each with its exact version, licence, part in the training and the checksum of its archive;
``never-train-on.txt`` and ``kept-apart.txt`` name projects whose code nobody who is judged by it may have read, and
``copied.txt`` what others have copied of them under names of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).with_name("packages.tsv")
NEVER = (Path(__file__).with_name("never-train-on.txt"), Path(__file__).with_name("kept-apart.txt"))
COPIED = Path(__file__).with_name("copied.txt")
HEAD = "# registry\tname\tversion\tlicence\tpart\textensions\tsha256"
_PERMISSIVE = (
    "Apache-2.0 BSD-2-Clause BSD-3-Clause BSL-1.0 ISC MIT PSF-2.0 PostgreSQL TCL Unlicense WordNet Zlib blessing"
)
PERMISSIVE = frozenset(_PERMISSIVE.split())
_VERSION = re.compile(r"[-_.]?\d[\d.]*$")
KINDS = ("-rs", "-framework")
"""What names are told apart by that packages do not have in theirs."""


class Package(NamedTuple):
    """One of ``packages.tsv``."""

    registry: str
    """``pypi`` for wheels, ``npm``, ``debian`` for upstream's archive of a source package, ``deb`` for a binary one."""
    name: str
    version: str
    """Upstream's, of ``debian``."""
    licence: str
    """By its SPDX name, of the files that are read."""
    part: str
    """``train``, or ``dev`` for what is only measured with."""
    extensions: tuple[str, ...]
    """Of the files that are read."""
    sha256: str
    """Of the archive."""


class Forbidden(Exception):
    """A package that may not be learned from."""


def packages(path: Path = LIST) -> list[Package]:
    """All that are listed. Raises Forbidden."""
    lines = path.read_text("utf-8").splitlines()
    found = [_read(line) for line in lines if line and not line.startswith("#")]
    names = never()
    for package in found:
        if word := forbidden(package.name, names):
            raise Forbidden(f"{package.name} may not be learned from: its name has {word!r}")
        if package.licence not in PERMISSIVE:
            raise Forbidden(f"{package.name} may not be learned from: {package.licence} is no permissive licence")
    return found


def never() -> frozenset[str]:
    """Names of projects whose code must not be read, in small letters."""
    return frozenset[str]().union(*map(_words, NEVER))


def forbidden(name: str, names: frozenset[str]) -> str:
    """Which of the names is in that of a package, in whatever packaging; empty if none is."""
    folded = name.lower()
    parts = set(re.split(r"[^a-z0-9.]+", folded))
    for word in sorted(names):
        if word in folded or word.replace(".", "-") in folded or {word.removesuffix(kind) for kind in KINDS} & parts:
            return word
    return ""


def forbidden_path(parts: Sequence[str], names: frozenset[str]) -> str:
    """Which of the names is a folder or file of a path, with or without a version: a copy of it within another package;
    empty if none is."""
    folded = [part.lower() for part in parts]
    every = {*folded, *(part.partition(".")[0] for part in folded), *("-".join(two) for two in pairwise(folded))}
    every |= {_VERSION.sub("", each) for each in every}
    return next((each for each in sorted(every) if each in names or each in _copied()), "")


@cache
def _copied() -> frozenset[str]:
    return frozenset(_words(COPIED))


def _words(path: Path) -> set[str]:
    lines = path.read_text("utf-8").lower().splitlines()
    return {word for line in lines if not line.startswith("#") for word in line.split()}


def line_of(package: Package) -> str:
    """A package as a line of the list."""
    return "\t".join([*package[:5], " ".join(package.extensions), package.sha256])


def _read(line: str) -> Package:
    registry, name, version, licence, part, extensions, sha256 = line.split("\t")
    return Package(registry, name, version, licence, part, tuple(extensions.split()), sha256)
