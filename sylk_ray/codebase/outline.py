"""What reading one source file gives: its symbols, its imports, what it refers to, and its parts.

Lines count from 1 and both ends are included. Everything is plain data, the same for every language. There are hundreds
of thousands of the smallest parts, which hold no cycle, so the collector is not made to look for one (``gc=False``).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class SymbolKind(StrEnum):
    """What a definition defines."""

    FUNCTION = "function"
    METHOD = "method"
    TYPE = "type"
    """A class, struct, interface, trait, enum, record, protocol or type alias."""
    CONSTANT = "constant"
    """A constant, or a variable of the file's top level or of a type."""
    MODULE = "module"
    """A namespace, package or module that is written as a block."""


class ReferenceKind(StrEnum):
    """In what way a name is used."""

    CALL = "call"
    INHERIT = "inherit"
    """The base class, trait or interface of a type."""
    USE = "use"


class Symbol(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A definition."""

    name: str
    qualified: str
    """With the names that it stands within, joined by dots: ``Parser.parse``."""
    kind: SymbolKind
    start_line: int
    end_line: int
    """Of the whole definition, its decorators, attributes and documentation above it included."""
    signature: str
    """Its first line or lines up to the body, in one line of at most 300 characters."""
    doc: str = ""
    """Its docstring or the comment right above it, without the comment's marks."""
    exported: bool = True
    """False for what the language or its convention hides: ``private``, ``_name``, ``static`` in C."""


class Import(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One imported module, or names of one."""

    module: str
    """As written, without quotes: ``os.path``, ``./view``, ``net/http``, ``crate::parser``, ``stdio.h``."""
    names: tuple[tuple[str, str], ...] = ()
    """(name there, name here). Empty when the module itself is imported; ``("*", "*")`` for all names."""
    alias: str = ""
    """The name that the module has here, where it is given one."""
    line: int
    relative: int = 0
    """Python's leading dots."""


class Reference(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A name that is used."""

    name: str
    """The last part: ``parse`` in ``parser.parse()``."""
    receiver: str = ""
    """What stands before it: ``parser``, ``self``, ``os.path``; empty for a plain name."""
    kind: ReferenceKind
    line: int
    within: str = ""
    """The qualified name of the definition that it stands in; empty at the top level."""


class Binding(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A name whose type the code says: an annotated parameter or field, or what a constructor's result is put in."""

    name: str
    """``store``, or ``self.store`` for a field, in whatever way the language writes its own object."""
    type: str
    """The type's plain name, its arguments left out: ``Store``, ``storage.Store``."""
    within: str = ""
    """The qualified name of the function, or for a field of the type; empty at the top level."""


class Part(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A stretch of a file that no symbol covers: a section of a document, a block of a configuration, plain text."""

    title: str = ""
    """The headings above it joined by `` > ``, or the configuration's key path."""
    start_line: int
    end_line: int


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """One file, read."""

    path: str
    """Relative to the root, with forward slashes."""
    language: str
    """A name of ``languages``, ``markdown``, a configuration format, or ``text``."""
    lines: int
    package: str = ""
    """The package or module that the file says that it belongs to (Go, Java, Kotlin, PHP, C#), else empty."""
    doc: str = ""
    """What it says of itself: a module docstring, a comment at its top that is no licence, a first paragraph."""
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[Import, ...] = ()
    references: tuple[Reference, ...] = ()
    bindings: tuple[Binding, ...] = ()
    parts: tuple[Part, ...] = ()
    declares: bool = False
    """What it has is defined by another file: functions are declared and none has a body, in a header of C or a file
    whose types are interfaces alone, or it is called as such files are (``.pyi``, ``.d.ts``)."""
    broken: tuple[tuple[int, int], ...] = ()
    """Stretches of lines that could not be parsed; the rest was."""
