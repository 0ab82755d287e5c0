"""What a repository's manifests say about how its imports are meant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

NAMES = frozenset({"go.mod", "package.json", "tsconfig.json", "jsconfig.json", "Cargo.toml", "composer.json"})
"""The files that are looked at."""

_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)
_CRATE = re.compile(r"^\[package\][^\[]*?^name\s*=\s*\"([^\"]+)\"", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"(\"(?:\\.|[^\"\\\n])*\")|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING = re.compile(r",(\s*[}\]])")


class Manifests:
    """Of a repository: where each Go module, crate and package stands, and what a path alias leads to."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.go_modules: dict[str, str] = {}
        """Module path to its folder, ``""`` or with a slash at its end; likewise below."""
        self.crates: dict[str, str] = {}
        self.packages: dict[str, str] = {}
        self.aliases: list[tuple[str, str, str]] = []
        """(folder that it holds in, what an import begins with, what stands for that), longest beginnings first."""
        for path, text in texts.items():
            folder, _, name = path.rpartition("/")
            self._add(f"{folder}/" if folder else "", name, text)
        self.aliases.sort(key=lambda each: (-len(each[0]), -len(each[1])))

    def _add(self, folder: str, name: str, text: str) -> None:
        if name == "go.mod" and (found := _MODULE.search(text)):
            self.go_modules[found[1].strip('"')] = folder
        elif name == "Cargo.toml" and (found := _CRATE.search(text)):
            self.crates[found[1].replace("-", "_")] = folder
        elif name == "package.json":
            said = _json(text).get("name")
            if isinstance(said, str) and said:
                self.packages[said] = folder
        elif name in ("tsconfig.json", "jsconfig.json"):
            self._add_paths(folder, _json(text).get("compilerOptions"))

    def _add_paths(self, folder: str, options: object) -> None:
        if not isinstance(options, dict):
            return
        base = options.get("baseUrl")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        root = folder + _folder(base) if isinstance(base, str) else folder
        paths = options.get("paths")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        if isinstance(paths, dict):
            for pattern, targets in paths.items():  # pyright: ignore[reportUnknownVariableType]
                if isinstance(pattern, str) and isinstance(targets, list):
                    for target in targets:  # pyright: ignore[reportUnknownVariableType]
                        if isinstance(target, str):
                            plain = target.removesuffix("*").removeprefix("./")
                            self.aliases.append((folder, pattern.removesuffix("*"), root + plain))
        if isinstance(base, str):
            self.aliases.append((folder, "", root))


def _folder(path: str) -> str:
    plain = path.strip("./")
    return f"{plain}/" if plain else ""


def _json(text: str) -> dict[str, Any]:
    """Of an object, comments and trailing commas allowed; empty if it is broken."""
    plain = _TRAILING.sub(r"\1", _COMMENT.sub(lambda each: each[1] or "", text))
    try:
        return msgspec.json.decode(plain.encode("utf-8", "replace"), type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}
