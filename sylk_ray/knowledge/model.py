"""The words of the knowledge base: nodes of three domains, the edges between them, where they come from.

The names are the specification's (shared words of every agent that stores or asks), as plain string enums so that they
are the same in SQLite, in a payload and on the wire.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class Domain(StrEnum):
    """Whose knowledge it is: of the code, of what was done, of what is written elsewhere."""

    CODE = "code"
    HISTORY = "history"
    ACADEMIC = "academic"


class NodeType(StrEnum):
    """What a node stands for. Each belongs to one domain: ``NODE_TYPES``."""

    FILE = "file"
    FUNCTION = "function"
    TYPE = "type"
    PACKAGE = "package"
    IMPORT = "import"
    CONSTANT = "constant"
    SECTION = "section"
    """A part of a document, of a configuration file or of a plain text."""

    SESSION = "session"
    DECISION = "decision"
    FAILURE = "failure"
    PATTERN = "pattern"
    WORKFLOW = "workflow"

    REPO = "repo"
    DOC = "doc"
    ARTICLE = "article"
    CONCEPT = "concept"
    BEST_PRACTICE = "best_practice"


NODE_TYPES: dict[Domain, frozenset[NodeType]] = {
    Domain.CODE: frozenset(
        {
            NodeType.FILE,
            NodeType.FUNCTION,
            NodeType.TYPE,
            NodeType.PACKAGE,
            NodeType.IMPORT,
            NodeType.CONSTANT,
            NodeType.SECTION,
        }
    ),
    Domain.HISTORY: frozenset(
        {NodeType.SESSION, NodeType.DECISION, NodeType.FAILURE, NodeType.PATTERN, NodeType.WORKFLOW}
    ),
    Domain.ACADEMIC: frozenset(
        {NodeType.REPO, NodeType.DOC, NodeType.ARTICLE, NodeType.CONCEPT, NodeType.BEST_PRACTICE}
    ),
}


class EdgeType(StrEnum):
    """How one node stands to another. Which may cross domains, and how, stands in ``edge_rules``."""

    CALLS = "calls"
    IMPORTS = "imports"
    DEFINES = "defines"
    IMPLEMENTS = "implements"
    CONTAINS = "contains"

    FOLLOWS = "follows"
    CAUSES = "causes"
    RESOLVES = "resolves"

    REFERENCES = "references"
    APPLIES_TO = "applies_to"
    DOCUMENTS = "documents"
    MODIFIED = "modified"
    LED_TO = "led_to"
    USED_PATTERN = "used_pattern"


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is known. Times are seconds since the epoch."""

    id: str
    """Unique over all domains, chosen by who stores it."""
    domain: Domain
    type: NodeType
    scope: str = ""
    """What it belongs to, and is searched and dropped with: a repository's root for code, a session for history."""
    name: str = ""
    """What it is called: a symbol's name, a decision's title."""
    path: str = ""
    """Where it stands within its scope, with forward slashes; files and folders can be asked for by it."""
    content: str = ""
    """What it says; hashed and split into the words that the gate knows it by."""
    metadata: dict[str, Any] = {}
    content_hash: str = ""
    """16 hexadecimal digits of xxh3-64 over the content; computed when it is stored."""
    key: int = 0
    """The store's own number for it, never used twice; 0 before it is stored. It is the id of its point among the
    vectors, and its bit in the gate's bitmaps."""
    created_at: float = 0.0
    updated_at: float = 0.0
    accessed_at: float = 0.0


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """A directed statement about two nodes."""

    source: str
    target: str
    type: EdgeType
    weight: float = 1.0
    """How sure it is, in (0, 1]."""
    metadata: dict[str, Any] = {}
    id: int = 0
    """The store's own number for it; 0 before it is stored."""
    created_at: float = 0.0


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Where a node's content comes from, and who has checked it."""

    node: str
    source_type: str
    source_id: str
    confidence: float = 1.0
    verified_at: float | None = None
    verifier: str = ""
    id: int = 0


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """Two nodes that contradict each other."""

    node_a: str
    node_b: str
    type: str
    detected_at: float = 0.0
    resolution: str = ""
    resolved_at: float | None = None
    id: int = 0
