"""One pass over what a grammar finds in a file, which makes of it an outline.

The parser looks for the kinds of nodes that a language's rules name, in one search that runs outside of Python, and
gives them in the order of the text. Here they are visited once, with a stack of the definitions that the current one
stands in. What a kind means is said by its handler, of ``rules`` or of the language's own file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec
from ast_grep_py import SgNode

from sylk_ray.codebase.outline import (
    Binding,
    Import,
    Outline,
    Reference,
    ReferenceKind,
    Symbol,
    SymbolKind,
)
from sylk_ray.codebase.reading import names
from sylk_ray.codebase.reading.source import SLASHES, CommentStyle, Source
from sylk_ray.codebase.reading.stretches import touching_as_one
from sylk_ray.codebase.reading.uncovered import uncovered_parts

MOST_OF_A_SIGNATURE = 300
_CONSTRUCTOR_TARGET = re.compile(
    r"(?:^|[\s({;])((?:(?:self|this)\.|this->|\$this->|@)?[$\w]+)(?:\s*:\s*[^=:;{}\n]{1,60})?\s*:?=\s*(?:await\s+|new\s+|&|try\s+)*$"
)
_BEFORE_A_CONSTRUCTOR = ("=", "&", "await", "new", "try")
"""What a text ends with that ``_CONSTRUCTOR_TARGET`` finds something in, white space aside."""
_STUBS = (".d.ts", ".d.mts", ".d.cts", ".pyi")
"""What files are called that declare what another one defines."""
_AFTER_A_DECLARATION = "; \t\r\n"
_CALLABLE = frozenset({SymbolKind.FUNCTION, SymbolKind.METHOD})
_MAKERS = frozenset({"new", "default", "create", "make", "build", "from"})


class Span(msgspec.Struct):
    """Where a node stands: offsets of characters, lines and the column from 0."""

    start: int
    end: int
    line: int
    end_line: int
    column: int


class Frame(msgspec.Struct):
    """What is being read within: a definition, or with an empty name a function without one."""

    end: int
    qualified: str
    kind: SymbolKind | None
    body_column: int = -1
    language_object: str = ""
    hidden: bool = False


Handler = Callable[["Reader", SgNode, Span], None]


class Rules(msgspec.Struct, frozen=True):
    """What a language's nodes mean."""

    grammar: str
    handlers: dict[str, Handler]
    comments: CommentStyle = SLASHES
    exported: Callable[[str, str], bool] = lambda name, signature: True
    """Of a name and its signature."""
    parameter: re.Pattern[str] | None = None
    """Finds the annotated names of a signature: groups ``name`` and ``type``."""
    closing: Callable[[Reader], None] | None = None
    """Run at the end of a file."""
    body: str = "body"
    """The field that a definition's body has."""
    prepared: Callable[[str], str] = lambda text: text
    """A text as the parser takes it: with blanks in place of what it would not understand."""
    conditions: bool = False
    """Whether parts of a text hang on conditions (``#if``)."""
    declares: Callable[[str, Sequence[Symbol]], bool] | None = None
    """Of a file's path and symbols, where functions are declared and none has a body: whether another file defines
    them. None where a function without a body is defined all the same."""
    capitals_are_types: bool = True
    """Whether what is called with a capital letter is a constructor."""


def span_of(node: SgNode) -> Span:
    """Where a node stands."""
    found = node.range()
    start, end = found.start, found.end
    return Span(start.index, end.index, start.line, end.line, start.column)


class Reader:
    """The outline of one file in the making."""

    def __init__(self, path: str, language: str, source: Source, rules: Rules) -> None:
        self.path = path
        self.language = language
        self.source = source
        self.text = source.text
        self.rules = rules
        self.package = ""
        self.doc = ""
        self.symbols: list[Symbol] = []
        self.imports: list[Import] = []
        self.references: list[Reference] = []
        self.bindings: dict[tuple[str, str], str] = {}
        self.stack: list[Frame] = []
        self.public: set[str] = set()
        """Names that a statement of their own exports."""
        self.covered: list[tuple[int, int]] = []
        self.wrapper: Span | None = None
        self.hidden = False
        """Whether what follows in the current type is private (Ruby)."""
        self.has_declarations = False
        self.has_bodies = False
        """Both of functions, with a name or without."""
        self._broken: list[tuple[int, int]] = []

    # --- reading

    def read(self, root: SgNode) -> Outline:
        """Visits what the rules name, and returns the outline."""
        handlers = self.rules.handlers
        stack = self.stack
        found = root.find_all(any=[{"kind": kind} for kind in (*handlers, "ERROR")])
        for node in found:
            at = span_of(node)
            while stack and stack[-1].end <= at.start:
                stack.pop()
            kind = node.kind()
            if kind == "ERROR":
                self._broken.append((at.line + 1, at.end_line + 1))
            else:
                handlers[kind](self, node, at)
        if self.rules.closing:
            self.rules.closing(self)
        return self._outline()

    def _outline(self) -> Outline:
        lines = len(self.source.lines) - (self.source.lines[-1] == "")
        doc, first, after = self.source.top(self.rules.comments)
        if not self.doc and not any(each.start_line <= after and each.end_line > first for each in self.symbols):
            self.doc = doc
        tops = [(each.start_line, each.end_line) for each in self.symbols]
        return Outline(
            path=self.path,
            language=self.language,
            lines=lines,
            package=self.package,
            doc=self.doc,
            symbols=tuple(self.symbols),
            imports=tuple(self.imports),
            references=tuple(self.references),
            bindings=tuple(Binding(name=name, type=of, within=within) for (within, name), of in self.bindings.items()),
            parts=uncovered_parts(self.source.lines[:lines], tops + self.covered, self.rules.comments),
            declares=self._declares(),
            broken=touching_as_one(
                (first, min(last, max(lines, 1))) for first, last in self._broken if first <= max(lines, 1)
            ),
        )

    def _declares(self) -> bool:
        told = self.rules.declares
        return self.path.endswith(_STUBS) or bool(
            told and self.has_declarations and not self.has_bodies and told(self.path, self.symbols)
        )

    # --- where it is

    @property
    def within(self) -> str:
        """The qualified name of the definition that is being read, empty at the top level."""
        for frame in reversed(self.stack):
            if frame.kind is not None:
                return frame.qualified
        return ""

    @property
    def in_function(self) -> bool:
        """Whether what is read is local: the innermost frame is a function, with a name or without."""
        return bool(self.stack) and (self.stack[-1].kind is None or self.stack[-1].kind in _CALLABLE)

    @property
    def type_frame(self) -> Frame | None:
        """The innermost type, if it stands before any function."""
        return self.stack[-1] if self.stack and self.stack[-1].kind is SymbolKind.TYPE else None

    def enclosing_type(self) -> str:
        """The qualified name of the type that is being read within, functions passed over."""
        return next((each.qualified for each in reversed(self.stack) if each.kind is SymbolKind.TYPE), "")

    def qualified(self, name: str) -> str:
        """A name with those that it stands within."""
        within = self.within
        return f"{within}.{name}" if within else name

    # --- what handlers say

    def scope(self, at: Span) -> None:
        """A function without a name begins: what it assigns is its own."""
        self.nameless(at)
        self.has_bodies = True

    def nameless(self, at: Span) -> None:
        """What follows stands within something that has no name."""
        self.stack.append(Frame(at.end, "", None))

    def enter(self, at: Span, qualified: str, kind: SymbolKind) -> None:
        """What follows stands within a definition that is no symbol here (Rust's ``impl``, Swift's ``extension``)."""
        self.stack.append(Frame(at.end, qualified, kind))

    def define(
        self,
        node: SgNode,
        at: Span,
        kind: SymbolKind,
        name: str,
        *,
        qualified: str = "",
        body: int = 0,
        doc: str = "",
        exported: bool | None = None,
        enter: bool = True,
        uses: bool = True,
    ) -> Symbol:
        """A definition, which what follows up to its end stands within unless ``enter`` is False.

        ``body`` is the offset at which its signature ends; without one the field of the body is asked for. Without a
        name it is of no use, and forgotten.
        """
        start, line = at.start, at.line
        if self.wrapper and self.wrapper.start <= start and at.end <= self.wrapper.end:
            line = self.wrapper.line
            if self.wrapper.end - at.end <= 2 and at.line == self.wrapper.line:
                start = self.wrapper.start
        self.wrapper = None
        if kind is SymbolKind.FUNCTION and self.type_frame:
            kind = SymbolKind.METHOD
        if not body:
            inner = node.field(self.rules.body)
            body = inner.range().start.index if inner else at.end
        longest = MOST_OF_A_SIGNATURE * (2 if kind is SymbolKind.CONSTANT else 4)
        signature = " ".join(self.text[start : min(body, start + longest)].split())
        signature = signature.rstrip("{ ").removesuffix(" do").removesuffix("=").rstrip()[:MOST_OF_A_SIGNATURE]
        above, first = self.source.above(line, self.rules.comments)
        symbol = Symbol(
            name=name,
            qualified=qualified or self.qualified(name),
            kind=kind,
            start_line=first + 1,
            end_line=max(at.end_line + 1 - (self.text[at.end - 1 : at.end] == "\n"), at.line + 1),
            signature=signature,
            doc=doc or above,
            exported=not self.hidden and self.rules.exported(name, signature) if exported is None else exported,
        )
        if not name:
            # The grammar has put in what the text lacks.
            return symbol
        self.symbols.append(symbol)
        if kind in _CALLABLE:
            has_body = bool(self.text[body : at.end].strip(_AFTER_A_DECLARATION))
            self.has_bodies |= has_body
            self.has_declarations |= not has_body
        if uses and kind is not SymbolKind.MODULE:
            self._use_types(symbol, at.line + 1)
        if enter:
            self.stack.append(Frame(at.end, symbol.qualified, kind))
        return symbol

    def _use_types(self, symbol: Symbol, line: int) -> None:
        signature = symbol.signature
        if symbol.kind is SymbolKind.CONSTANT:
            signature = signature.partition("=")[0]
        for used in names.types_in(signature):
            if used != symbol.name:
                self.references.append(Reference(name=used, kind=ReferenceKind.USE, line=line, within=symbol.qualified))
        if self.rules.parameter:
            for annotated in self.rules.parameter.finditer(signature):
                if symbol.kind is SymbolKind.CONSTANT:
                    self.bind(annotated["name"], annotated["type"], self.within)
                else:
                    self.bind(annotated["name"], annotated["type"], symbol.qualified)

    def bind(self, name: str, of: str, within: str) -> None:
        """A name's type is known; the first that is said holds."""
        self.bindings.setdefault((within, name.lstrip("$@")), of)

    def call(self, callee: str, at: Span, *, new: bool = False) -> None:
        """A call, by the text of what is called."""
        before, name = names.called(callee)
        if not name:
            return
        self.reference(name, before, ReferenceKind.CALL, at.line + 1)
        made = name if (name[0].isupper() and not name.isupper()) or new else ""
        if name in _MAKERS and before[:1].isupper():
            made = before
        if made and (new or (before != names.ELSE and self.rules.capitals_are_types)):
            first = max(at.start - 90, 0)
            # Looked for only where it can be: most results are not put in anything.
            may_be = self.text[first : at.start].rstrip().endswith(_BEFORE_A_CONSTRUCTOR)
            target = _CONSTRUCTOR_TARGET.search(self.text, first, at.start) if may_be else None
            if target:
                self._bind_target(target[1], f"{before}.{made}" if before and made == name else made)

    def _bind_target(self, target: str, made: str) -> None:
        target = target.replace("->", ".").replace("$", "")
        field = target.startswith(("self.", "this.", "@"))
        self.bind(target, made, self.enclosing_type() if field else self.within)

    def reference(self, name: str, before: str, kind: ReferenceKind, line: int, within: str | None = None) -> None:
        """A name is used."""
        here = self.within if within is None else within
        self.references.append(Reference(name=name, receiver=before, kind=kind, line=line, within=here))

    def inherit(self, list_of_types: str, line: int, within: str) -> None:
        """A type has base types, by the text of their list."""
        for base in names.bases(list_of_types):
            before, name = names.called(base.lstrip("\\"))
            if name:
                self.reference(name, before, ReferenceKind.INHERIT, line, within)

    def imported(
        self, module: str, at: Span, imported: Iterable[tuple[str, str]] = (), alias: str = "", relative: int = 0
    ) -> None:
        """A module or names of it are imported."""
        self.covered.append((at.line + 1, at.end_line + 1))
        self.imports.append(
            Import(module=module, names=tuple(imported), alias=alias, line=at.line + 1, relative=relative)
        )
