"""What the nodes of each grammar mean: tables of kinds, and small functions where a table does not do."""

from __future__ import annotations

from sylk_ray.codebase.reading.grammars import (
    bash,
    c,
    csharp,
    elixir,
    go,
    java,
    javascript,
    kotlin,
    lua,
    php,
    python,
    ruby,
    rust,
    scala,
    swift,
)
from sylk_ray.codebase.reading.reader import Rules

RULES: dict[str, Rules] = {
    "bash": bash.RULES,
    "c": c.C,
    "cpp": c.CPP,
    "csharp": csharp.RULES,
    "elixir": elixir.RULES,
    "go": go.RULES,
    "java": java.RULES,
    "javascript": javascript.JAVASCRIPT,
    "kotlin": kotlin.RULES,
    "lua": lua.RULES,
    "php": php.RULES,
    "python": python.RULES,
    "ruby": ruby.RULES,
    "rust": rust.RULES,
    "scala": scala.RULES,
    "swift": swift.RULES,
    "tsx": javascript.TSX,
    "typescript": javascript.TYPESCRIPT,
}
"""The rules of every language of ``languages.GRAMMARS``."""

__all__ = ["RULES"]
