"""What the nodes of each grammar mean: tables of kinds, and small functions where a table does not do."""

from __future__ import annotations

from sylk_ray.codebase.reading.grammars import (
    bash,
    c,
    csharp,
    dart,
    elixir,
    go,
    haskell,
    hcl,
    java,
    javascript,
    kotlin,
    lua,
    nix,
    php,
    python,
    ruby,
    rust,
    scala,
    solidity,
    swift,
    zig,
)
from sylk_ray.codebase.reading.reader import Rules

RULES: dict[str, Rules] = {
    "bash": bash.RULES,
    "c": c.C,
    "cpp": c.CPP,
    "csharp": csharp.RULES,
    "dart": dart.RULES,
    "elixir": elixir.RULES,
    "go": go.RULES,
    "haskell": haskell.RULES,
    "hcl": hcl.RULES,
    "java": java.RULES,
    "javascript": javascript.JAVASCRIPT,
    "kotlin": kotlin.RULES,
    "lua": lua.RULES,
    "nix": nix.RULES,
    "php": php.RULES,
    "python": python.RULES,
    "ruby": ruby.RULES,
    "rust": rust.RULES,
    "scala": scala.RULES,
    "solidity": solidity.RULES,
    "swift": swift.RULES,
    "tsx": javascript.TSX,
    "typescript": javascript.TYPESCRIPT,
    "zig": zig.RULES,
}
"""The rules of every language of ``languages.GRAMMARS``."""

__all__ = ["RULES"]
