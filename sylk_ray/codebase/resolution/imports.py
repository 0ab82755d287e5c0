"""To which files of the repository an import leads, in the way of each language.

What leads nowhere is of somebody else: a package that is installed, the language's own library.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from functools import lru_cache

from sylk_ray.codebase.outline import Import, Outline
from sylk_ray.codebase.resolution.manifests import Manifests
from sylk_ray.codebase.resolution.tables import Tables

_JS_ENDINGS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json", ".vue", ".svelte")
_JS_BUILT = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
_PYTHON_ROOTS = ("", "src/", "lib/", "python/")


class Imports:
    """Answers for one state of the repository's files."""

    def __init__(self, tables: Tables, manifests: Manifests) -> None:
        self._tables = tables
        self._manifests = manifests
        self._of_python: dict[tuple[str, str, int], list[str]] = {}
        """Asked for already: folder, module as a path, and leading dots. The files of a folder import the same."""
        by_language: dict[str, Callable[[str, Import, str], list[str]]] = {
            "python": self._python,
            "javascript": self._javascript,
            "typescript": self._javascript,
            "tsx": self._javascript,
            "go": self._go,
            "rust": self._rust,
            "java": self._package,
            "kotlin": self._package,
            "scala": self._package,
            "csharp": self._package,
            "php": self._php,
            "c": self._include,
            "cpp": self._include,
            "ruby": self._ruby,
            "lua": self._lua,
            "bash": self._relative_file,
            "elixir": self._elixir,
            "dart": self._dart,
            "hcl": self._hcl,
            "nix": self._nix,
            **dict.fromkeys(("solidity", "zig", "fish", "vim", "tcl"), self._relative_file),
            **dict.fromkeys(("objective-c", "glsl", "protobuf", "thrift", "erlang"), self._include),
            **dict.fromkeys(
                ("haskell", "purescript", "elm", "clojure", "fsharp", "d", "groovy", "perl"), self._package
            ),
        }
        self._by_language = by_language

    def files(self, outline: Outline, imported: Import) -> list[str]:
        """The files that an import of a module means; a Go or a Java package has several."""
        resolve = self._by_language.get(outline.language)
        return resolve(outline.path, imported, "") if resolve else []

    def submodule(self, outline: Outline, imported: Import, name: str) -> list[str]:
        """The files of a module that is imported as a name of another: ``from . import storage``, ``use a::module``."""
        if outline.language == "python":
            return self._python(outline.path, imported, name)
        if outline.language == "rust":
            return self._rust(outline.path, imported, name)
        if outline.language in ("java", "kotlin", "scala", "php"):
            return [
                path
                for path in self._package_files(_dotted(imported.module)) or ()
                if _stem(path) == name or name in self._tables.tops(path)
            ]
        return []

    def _existing(self, *candidates: str) -> list[str]:
        for each in candidates:
            if each in self._tables.outlines:
                return [each]
        return []

    # --- by language

    def _python(self, path: str, imported: Import, name: str) -> list[str]:
        inner = "/".join(part for part in (imported.module.replace(".", "/"), name) if part)
        asked = (posixpath.dirname(path), inner, imported.relative)
        known = self._of_python.get(asked)
        if known is None:
            known = self._of_python[asked] = self._find_python(*asked)
        return known

    def _find_python(self, folder: str, inner: str, relative: int) -> list[str]:
        if relative:
            for _ in range(relative - 1):
                folder = posixpath.dirname(folder)
            return self._python_module(posixpath.join(folder, inner) if inner else folder)
        parts = folder.split("/") if folder else []
        above = [f"{'/'.join(parts[:count])}/" for count in range(len(parts), 0, -1)]
        for root in dict.fromkeys([*_PYTHON_ROOTS, *(f"{each}src/" for each in above), *reversed(above)]):
            if found := self._python_module(root + inner):
                return found
        return []

    def _python_module(self, stem: str) -> list[str]:
        return self._existing(f"{stem}/__init__.py", f"{stem}.py", f"{stem}.pyi", f"{stem}/__init__.pyi")

    def _javascript(self, path: str, imported: Import, name: str) -> list[str]:
        module = imported.module.split("?")[0]
        if module.startswith("."):
            return self._js_file(_joined(posixpath.dirname(path), module))
        for folder, beginning, instead in self._manifests.aliases:
            if path.startswith(folder) and module.startswith(beginning):
                found = self._js_file(_joined("", instead + module[len(beginning) :]))
                if found:
                    return found
        for package, folder in self._manifests.packages.items():
            if module == package:
                return self._js_file(f"{folder}src/index") or self._js_file(f"{folder}index")
            if module.startswith(f"{package}/"):
                inner = module[len(package) + 1 :]
                return self._js_file(folder + inner) or self._js_file(f"{folder}src/{inner}")
        return []

    def _js_file(self, stem: str | None) -> list[str]:
        if stem is None:
            return []
        plain, ending = posixpath.splitext(stem)
        built = [plain + each for each in _JS_BUILT.get(ending, ())]
        index = [f"{stem}/index{each}" if stem else f"index{each}" for each in _JS_ENDINGS]
        return self._existing(stem, *built, *(stem + each for each in _JS_ENDINGS), *index)

    def _go(self, path: str, imported: Import, name: str) -> list[str]:
        for module, folder in sorted(self._manifests.go_modules.items(), key=lambda each: -len(each[0])):
            if imported.module == module or imported.module.startswith(f"{module}/"):
                within = imported.module[len(module) + 1 :]
                return [each for each in self._tables.folder((folder + within).rstrip("/")) if _is_go(each)]
        return []

    def _rust(self, path: str, imported: Import, name: str) -> list[str]:
        parts = [*imported.module.split("::"), *([name] if name else [])]
        here = _rust_module(path)
        if parts[0] in self._manifests.crates:
            root = f"{self._manifests.crates[parts[0]]}src"
            return self._rust_module(root, parts[1:])
        if parts[0] == "crate":
            return self._rust_module(_crate_root(path), parts[1:])
        if parts[0] in ("self", "super"):
            while parts and parts[0] in ("self", "super"):
                if parts[0] == "super":
                    here = posixpath.dirname(here)
                parts = parts[1:]
            return self._rust_module(here, parts)
        return self._rust_module(here, parts) or self._rust_module(_crate_root(path), parts)

    def _rust_module(self, folder: str, parts: list[str]) -> list[str]:
        stem = posixpath.join(folder, *parts)
        if found := self._existing(f"{stem}.rs", f"{stem}/mod.rs"):
            return found
        return [] if parts else self._existing(posixpath.join(stem, "lib.rs"), posixpath.join(stem, "main.rs"))

    def _package(self, path: str, imported: Import, name: str) -> list[str]:
        """Of a package all files; of a type, its own."""
        wanted = _dotted(imported.module)
        found = self._package_files(wanted)
        if found is None:
            outer, _, last = wanted.rpartition(".")
            found = [each for each in self._package_files(outer) or () if last in self._tables.tops(each)]
        names = {there for there, _ in imported.names}
        if names and "*" not in names:
            chosen = [each for each in found if _stem(each) in names or names & self._tables.tops(each)]
            return chosen or found[:1]
        return [each for each in found if each != path]

    def _package_files(self, package: str) -> list[str] | None:
        files = self._tables.packages.get(package)
        return None if files is None else sorted(files)

    def _php(self, path: str, imported: Import, name: str) -> list[str]:
        return self._relative_file(path, imported, name) if imported.relative else self._package(path, imported, name)

    def _include(self, path: str, imported: Import, name: str) -> list[str]:
        if "::" in imported.module or not imported.module:
            return []
        beside = _joined(posixpath.dirname(path), imported.module)
        if found := self._existing(beside or "", f"include/{imported.module}", f"src/{imported.module}"):
            return found
        return self._tables.only_with_suffix(imported.module)

    def _ruby(self, path: str, imported: Import, name: str) -> list[str]:
        inner = imported.module.removesuffix(".rb")
        if imported.relative or inner.startswith("."):
            return self._existing(f"{_joined(posixpath.dirname(path), inner)}.rb")
        found = self._existing(
            f"lib/{inner}.rb", f"{inner}.rb", f"app/{inner}.rb", f"spec/{inner}.rb", f"test/{inner}.rb"
        )
        return found or self._tables.only_with_suffix(f"lib/{inner}.rb")

    def _lua(self, path: str, imported: Import, name: str) -> list[str]:
        inner = imported.module.replace(".", "/")
        roots = ("", "lua/", "src/", "lib/", f"{posixpath.dirname(path)}/")
        found = self._existing(*(f"{root}{inner}{end}" for root in roots for end in (".lua", "/init.lua")))
        return found or self._tables.only_with_suffix(f"{inner}.lua")

    def _relative_file(self, path: str, imported: Import, name: str) -> list[str]:
        beside = _joined(posixpath.dirname(path), imported.module)
        return self._existing(beside or "", imported.module.removeprefix("./"))

    def _dart(self, path: str, imported: Import, name: str) -> list[str]:
        if imported.module.startswith("package:"):
            _, _, inner = imported.module.partition("/")
            return self._existing(f"lib/{inner}") or self._tables.only_with_suffix(f"lib/{inner}")
        return self._relative_file(path, imported, name)

    def _nix(self, path: str, imported: Import, name: str) -> list[str]:
        beside = _joined(posixpath.dirname(path), imported.module)
        return [] if beside is None else self._existing(beside, f"{beside}/default.nix".lstrip("/"))

    def _hcl(self, path: str, imported: Import, name: str) -> list[str]:
        beside = _joined(posixpath.dirname(path), imported.module) if imported.module.startswith(".") else None
        return [] if beside is None else [each for each in self._tables.folder(beside) if each.endswith(".tf")]

    def _elixir(self, path: str, imported: Import, name: str) -> list[str]:
        return [
            each
            for each in sorted(self._tables.definitions(imported.module))
            if imported.module in self._tables.tops(each)
        ]


def _joined(folder: str, path: str) -> str | None:
    """A normal path; None if it leads out of the root."""
    joined = posixpath.normpath(posixpath.join(folder, path))
    return None if joined.startswith("..") else "" if joined == "." else joined


@lru_cache(maxsize=100_000)
def _stem(path: str) -> str:
    return posixpath.basename(path).split(".")[0]


def _dotted(module: str) -> str:
    return module.replace("\\", ".").replace("::", ".").strip(".")


def _is_go(path: str) -> bool:
    return path.endswith(".go") and not path.endswith("_test.go")


def _rust_module(path: str) -> str:
    """The folder in which a file's own submodules stand."""
    folder, name = posixpath.split(path)
    return folder if name in ("mod.rs", "lib.rs", "main.rs") else posixpath.join(folder, name.removesuffix(".rs"))


def _crate_root(path: str) -> str:
    parts = path.split("/")
    for at in range(len(parts) - 1, -1, -1):
        if parts[at] == "src":
            return "/".join(parts[: at + 1])
    return posixpath.dirname(path)
