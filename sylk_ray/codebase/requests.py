"""What a codebase is asked, and what it answers: plain data, the same in a process, on a socket and between agents.

``root`` is the absolute path of an indexed folder everywhere; paths in answers are relative to it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["function", "type", "file", "any"]
Status = Literal["found", "no_matches"]
Thoroughness = Literal["quick", "moderate", "thorough"]
Elsewhere = Literal["history", "academic"]
"""The domains beside the code: what was done, and what is known of the world."""
MemoryKind = Literal["workflow", "decision", "failure", "pattern", "session", "concept"]
"""``concept`` is of the academic domain, all others are history."""


class Request(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Anything that can be asked. On the wire it is a map whose ``type`` is the class's name."""


class Search(Request, frozen=True, kw_only=True, tag=True):
    """Where something is, in words, by a symbol's name or a path."""

    query: str
    root: str
    k: int = 10
    kind: Kind = "any"
    language: str = ""
    path: str = ""
    """A glob that paths must match; empty means any."""
    budget: int = 4000
    """Tokens of all snippets together, at most."""


class SmartSearch(Request, frozen=True, kw_only=True, tag=True):
    """As ``Search``, with as many results as the budget and the thoroughness are worth."""

    query: str
    root: str
    budget: int = 2000
    thoroughness: Thoroughness = "moderate"


class FindSymbol(Request, frozen=True, kw_only=True, tag=True):
    """The definitions of a name: plain, or qualified from the right (``Parser.parse``)."""

    name: str
    root: str
    kind: Literal["function", "type", "constant", "any"] = "any"
    limit: int = 20


class FindUsages(Request, frozen=True, kw_only=True, tag=True):
    """Where a definition, or a module from elsewhere, is called, inherited, imported or named."""

    name: str
    root: str
    limit: int = 100


class Dependencies(Request, frozen=True, kw_only=True, tag=True):
    """What a symbol, file or module depends on, or in ``reverse`` what depends on it."""

    name: str
    root: str
    reverse: bool = False
    depth: int = 1
    limit: int = 200


class SimilarSymbols(Request, frozen=True, kw_only=True, tag=True):
    """Definitions whose meaning is near to one's."""

    name: str
    root: str
    k: int = 10


class Structure(Request, frozen=True, kw_only=True, tag=True):
    """The definitions in a file, or the files in a folder with theirs."""

    path: str
    root: str


class ListFiles(Request, frozen=True, kw_only=True, tag=True):
    """Indexed files whose paths match a glob."""

    pattern: str
    root: str
    limit: int = 500


class GetFile(Request, frozen=True, kw_only=True, tag=True):
    """Lines of an indexed file, both ends included."""

    path: str
    root: str
    start_line: int | None = None
    end_line: int | None = None


class Index(Request, frozen=True, kw_only=True, tag=True):
    """Take in what has changed under a root; ``only`` names the paths, all without it."""

    root: str
    only: list[str] | None = None
    renew: bool = True
    """Whether to make vectors anew that are of another embedder than the one that there is now; until then the old ones
    are searched, if that embedder is at hand, or else words alone."""


class Known(Request, frozen=True, kw_only=True, tag=True):
    """Whether a root is indexed."""

    root: str


class Forget(Request, frozen=True, kw_only=True, tag=True):
    """Drop all that is known of a root."""

    root: str


class Explain(Request, frozen=True, kw_only=True, tag=True):
    """Whether a path is indexed, and what says so."""

    path: str
    root: str


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was done, decided or found out while a codebase was worked on."""

    id: str
    """Chosen by who remembers it; the same again takes its place."""
    domain: Elsewhere
    kind: MemoryKind
    title: str
    text: str
    session: str
    task: str = ""
    at: float = 0.0
    """Unix time in seconds."""


class Remember(Request, frozen=True, kw_only=True, tag=True):
    """Keep memories of a codebase, and note how far each session's history has been read for them."""

    root: str
    memories: list[Memory]
    through: dict[str, int] = {}
    """The number of the last event by session."""


class ReadThrough(Request, frozen=True, kw_only=True, tag=True):
    """How far each session's history has been read for memories."""

    root: str


class Recall(Request, frozen=True, kw_only=True, tag=True):
    """What was done, or found out, that has to do with a question. A codebase need not be indexed for it."""

    query: str
    root: str
    domain: Elsewhere = "history"
    session: str = ""
    """Of this session alone; of all that have worked on the codebase when it is empty."""
    kinds: list[MemoryKind] = []
    """Empty means any."""
    k: int = 5


class Preflight(Request, frozen=True, kw_only=True, tag=True):
    """In which domains there seems to be something on a topic, before anything is planned (6.20)."""

    topic: str
    root: str


class Stats(Request, frozen=True, kw_only=True, tag=True):
    """How much is known, and what it costs."""


class Verify(Request, frozen=True, kw_only=True, tag=True):
    """Whether all parts agree; ``mend`` makes them."""

    mend: bool = False


class Vacuum(Request, frozen=True, kw_only=True, tag=True):
    """Give back the room of what was deleted, and build the indexes of vectors."""


AnyRequest = (
    Search
    | SmartSearch
    | FindSymbol
    | FindUsages
    | Dependencies
    | SimilarSymbols
    | Structure
    | ListFiles
    | GetFile
    | Index
    | Known
    | Forget
    | Remember
    | ReadThrough
    | Recall
    | Preflight
    | Explain
    | Stats
    | Verify
    | Vacuum
)


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Anything that can be answered."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One snippet that a search found."""

    path: str
    start_line: int
    end_line: int
    symbol: str
    """Qualified; empty for what is no definition."""
    kind: str
    """``function``, ``method``, ``type``, ``constant``, ``module``, ``section`` or ``file``."""
    language: str
    score: float
    """1 for the best of a search, then falling."""
    why: list[str]
    snippet: str


class SearchAnswer(Answer, frozen=True, kw_only=True, tag=True):
    """What a search found, the best first."""

    query: str
    status: Status
    took_ms: float
    tokens: int
    """Of all snippets."""
    also_exists_in: list[str]
    """Other domains where words of the question occur."""
    results: list[Result]
    hint: str = ""
    """What to do when there is nothing."""
    budget: int = 0


class SymbolFound(msgspec.Struct, frozen=True, kw_only=True):
    """A definition, or a file or module where that was asked for."""

    path: str
    start_line: int
    end_line: int
    symbol: str
    kind: str
    language: str
    signature: str = ""
    doc: str = ""


class Symbols(Answer, frozen=True, kw_only=True, tag=True):
    """Definitions that were asked for."""

    name: str
    symbols: list[SymbolFound]
    near: list[str] = []
    """Names that are nearly the same, where there is none of this one."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """One use of a definition."""

    path: str
    line: int
    within: str
    """The definition that it stands in; empty at the top level."""
    how: str
    """``calls``, ``imports``, ``implements`` or ``references``."""
    of: str
    """The qualified name of what is used, with its path: ``src/a.py#Parser.parse``."""
    confidence: float
    text: str = ""
    """The line."""


class Usages(Answer, frozen=True, kw_only=True, tag=True):
    """Where a name is used, the surest first."""

    name: str
    definitions: list[SymbolFound]
    usages: list[Usage]
    near: list[str] = []


class Dependency(msgspec.Struct, frozen=True, kw_only=True):
    """One edge on the way from what was asked for."""

    source: str
    target: str
    how: str
    confidence: float
    depth: int
    """Steps from what was asked for; 1 for its own."""


class DependencyGraph(Answer, frozen=True, kw_only=True, tag=True):
    """What depends on what. Names are ``path#symbol``, ``path`` or a module from elsewhere."""

    name: str
    reverse: bool
    roots: list[str]
    edges: list[Dependency]
    near: list[str] = []


class Outlined(Answer, frozen=True, kw_only=True, tag=True):
    """Definitions by file."""

    path: str
    files: dict[str, list[SymbolFound]]


class Files(Answer, frozen=True, kw_only=True, tag=True):
    """Paths, in order."""

    paths: list[str]


class FileText(Answer, frozen=True, kw_only=True, tag=True):
    """Lines of a file."""

    path: str
    start_line: int
    end_line: int
    lines: int
    """That the file has."""
    text: str


class Indexed(Answer, frozen=True, kw_only=True, tag=True):
    """What an indexing has done."""

    root: str
    files: int
    added: int
    changed: int
    removed: int
    symbols: int
    broken: list[str]
    seconds: float


class KnownAnswer(Answer, frozen=True, kw_only=True, tag=True):
    """Whether a root is indexed."""

    known: bool


class Forgotten(Answer, frozen=True, kw_only=True, tag=True):
    """How many nodes were dropped."""

    root: str
    nodes: int


class Explained(Answer, frozen=True, kw_only=True, tag=True):
    """Whether a path is indexed."""

    path: str
    counts: bool
    reason: str
    rule: str


class Remembered(Answer, frozen=True, kw_only=True, tag=True):
    """How many memories were new, or other than before."""

    root: str
    changed: int


class ReadThroughAnswer(Answer, frozen=True, kw_only=True, tag=True):
    """The number of the last event that was read, by session."""

    root: str
    through: dict[str, int]


class RecallAnswer(Answer, frozen=True, kw_only=True, tag=True):
    """The memories that have to do with a question most, the best first."""

    query: str
    status: Status
    took_ms: float
    memories: list[Memory]
    hint: str = ""
    """What to do when there is nothing."""


class DomainCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a domain has something that says most of the topic's words."""

    exists: bool
    hint: str


class PreflightAnswer(Answer, frozen=True, kw_only=True, tag=True):
    """What a planner can build on."""

    topic: str
    domains: dict[str, DomainCheck]
    planning_hints: list[str]


class StatsAnswer(Answer, frozen=True, kw_only=True, tag=True):
    """How much is known."""

    roots: dict[str, int]
    """Nodes by root."""
    nodes: dict[str, dict[str, int]]
    edges: dict[str, int]
    vectors: dict[str, int]
    """By domain."""
    pending: int
    bytes: dict[str, int]
    """On the disk: ``store``, ``vectors``, ``gate``."""
    embedder: str
    gate: dict[str, float]
    """By domain and what is counted since the owner began: ``code.noes``, ``code.maybes``, ``code.in_vain``…"""


class Verified(Answer, frozen=True, kw_only=True, tag=True):
    """What is wrong; nothing for a whole knowledge base."""

    well: bool
    problems: list[str]
    mended: int = 0


class Vacuumed(Answer, frozen=True, kw_only=True, tag=True):
    """Bytes on the disk before and after."""

    before: int
    after: int


AnyAnswer = (
    SearchAnswer
    | Symbols
    | Usages
    | DependencyGraph
    | Outlined
    | Files
    | FileText
    | Indexed
    | KnownAnswer
    | Forgotten
    | Remembered
    | ReadThroughAnswer
    | RecallAnswer
    | PreflightAnswer
    | Explained
    | StatsAnswer
    | Verified
    | Vacuumed
)


class Progressed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """How far a request is that takes long."""

    stage: str
    done: int
    total: int
