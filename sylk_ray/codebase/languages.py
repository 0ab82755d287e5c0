"""Which language a file is written in, by its name, its extension, its first line, and for C's headers its contents.

A name is one of four sorts: a language with a grammar (``GRAMMARS``), whose symbols are read; one without, whose
definitions are found by the beginnings of its lines (``BY_LINES``); a format (``CONFIGURATION``, ``PROSE``), read by
its keys or headings; or the name of something that is read as plain text.
"""

from __future__ import annotations

import re

_EXTENSIONS = {
    "bash": "sh bash zsh ksh bats",
    "c": "c",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp inl tcc cu cuh",
    "csharp": "cs csx",
    "elixir": "ex exs",
    "go": "go",
    "java": "java",
    "javascript": "js jsx mjs cjs",
    "kotlin": "kt kts",
    "lua": "lua",
    "php": "php phtml php5 php7 inc.php",
    "python": "py pyi pyw bzl star pyx pxd",
    "ruby": "rb rake gemspec ru",
    "rust": "rs",
    "scala": "scala sc sbt",
    "swift": "swift",
    "tsx": "tsx",
    "typescript": "ts mts cts",
    "markdown": "md markdown mdx mkd qmd rmd",
    "rst": "rst rest",
    "asciidoc": "adoc asciidoc asc",
    "text": "txt text",
    "json": "json json5 jsonc webmanifest",
    "yaml": "yaml yml",
    "toml": "toml",
    "ini": "ini cfg conf properties editorconfig desktop service",
    "xml": "xml csproj fsproj vbproj props targets xsd xsl xslt plist resx nuspec config storyboard xib pom",
    "dockerfile": "dockerfile",
    "makefile": "mk mak",
    "cmake": "cmake",
    "clojure": "clj cljs cljc edn bb",
    "css": "css scss sass less",
    "dart": "dart",
    "erlang": "erl hrl escript",
    "fsharp": "fs fsi fsx",
    "graphql": "graphql gql",
    "groovy": "groovy gradle",
    "haskell": "hs lhs",
    "hcl": "tf hcl tfvars nomad",
    "html": "html htm xhtml erb ejs hbs mustache j2 jinja jinja2 tmpl haml slim pug",
    "julia": "jl",
    "nim": "nim nims nimble",
    "nix": "nix",
    "objective-c": "m mm",
    "ocaml": "ml mli mll mly",
    "perl": "pl pm t psgi",
    "powershell": "ps1 psm1 psd1",
    "protobuf": "proto",
    "r": "r",
    "solidity": "sol",
    "sql": "sql ddl psql plsql pks pkb",
    "svelte": "svelte",
    "tcl": "tcl",
    "thrift": "thrift",
    "vim": "vim",
    "vue": "vue",
    "zig": "zig zon",
    "ada": "adb ads",
    "coffeescript": "coffee litcoffee",
    "crystal": "cr",
    "d": "d di",
    "elm": "elm",
    "fish": "fish",
    "fortran": "f f90 f95 f03 f08 for",
    "gdscript": "gd",
    "gleam": "gleam",
    "glsl": "glsl vert frag comp geom hlsl wgsl metal",
    "haxe": "hx",
    "lisp": "lisp lsp el scm ss rkt cl",
    "odin": "odin",
    "pascal": "pas pp dpr lpr",
    "prisma": "prisma",
    "purescript": "purs",
    "systemverilog": "v sv svh vh",
    "vbnet": "vb bas vbs",
    "vhdl": "vhd vhdl",
}
_NAMES = {
    "bash": ".bashrc .bash_profile .zshrc .profile bashrc",
    "ruby": "Gemfile Rakefile Guardfile Vagrantfile Podfile Fastfile Brewfile Capfile Dangerfile",
    "python": "SConstruct SConscript wscript BUILD BUILD.bazel WORKSPACE Tiltfile",
    "groovy": "Jenkinsfile",
    "dockerfile": "Dockerfile Containerfile",
    "makefile": "Makefile makefile GNUmakefile Justfile justfile",
    "cmake": "CMakeLists.txt",
    "gomod": "go.mod go.work",
    "ini": ".gitconfig .gitmodules .npmrc .flake8 .pylintrc .coveragerc"
    " .env.example .env.sample .env.template .env.dist",
    "json": ".babelrc .eslintrc .prettierrc .swcrc composer.json",
    "yaml": ".clang-format .clang-tidy .yamllint",
    "toml": "Pipfile",
    "text": "README LICENSE NOTICE AUTHORS CHANGELOG CONTRIBUTING INSTALL COPYING TODO CODEOWNERS requirements.txt",
}
_INTERPRETERS = {
    "bash": "sh bash zsh ksh dash",
    "javascript": "node nodejs deno bun",
    "lua": "lua luajit",
    "perl": "perl",
    "php": "php",
    "python": "python python2 python3 pypy pypy3 uv",
    "ruby": "ruby jruby",
    "elixir": "elixir",
    "swift": "swift",
    "typescript": "ts-node tsx",
    "tcl": "tclsh wish",
    "clojure": "bb clojure",
    "crystal": "crystal",
    "erlang": "escript",
    "fish": "fish",
    "groovy": "groovy",
    "haskell": "runhaskell runghc stack",
    "julia": "julia",
    "lisp": "guile racket sbcl emacs",
    "nim": "nim",
    "ocaml": "ocaml",
    "powershell": "pwsh",
    "r": "Rscript",
}


def _inverse(table: dict[str, str]) -> dict[str, str]:
    return {each: language for language, names in table.items() for each in names.split()}


_BY_EXTENSION = _inverse(_EXTENSIONS)
_BY_NAME = _inverse(_NAMES)
_BY_INTERPRETER = _inverse(_INTERPRETERS)

GRAMMARS = frozenset(
    {
        *("bash", "c", "cpp", "csharp", "elixir", "go", "java", "javascript", "kotlin", "lua", "php", "python"),
        *("ruby", "rust", "scala", "swift", "tsx", "typescript"),
        *("dart", "haskell", "hcl", "nix", "solidity", "zig"),
    }
)
"""The languages whose symbols are read by a grammar."""
BY_LINES = frozenset(
    {
        *("ada", "clojure", "coffeescript", "crystal", "d", "elm", "erlang", "fish", "fortran", "fsharp", "gdscript"),
        *("gleam", "glsl", "graphql", "groovy", "haxe", "julia", "lisp", "nim", "objective-c", "ocaml", "odin"),
        *("pascal", "perl", "powershell", "prisma", "protobuf", "purescript", "r", "sql", "systemverilog", "tcl"),
        *("thrift", "vbnet", "vhdl", "vim"),
    }
)
"""The languages whose definitions are found by the beginnings of lines."""
PROSE = frozenset({"markdown", "rst", "asciidoc"})
CONFIGURATION = frozenset({"json", "yaml", "toml", "ini", "xml", "dockerfile", "makefile", "cmake", "gomod"})
LANGUAGES = tuple(sorted({*_EXTENSIONS, *_NAMES}))
"""Every name that ``language_of`` may answer."""

PARSED = tuple(sorted({*GRAMMARS, "css", "html", "json", "markdown", "yaml"}))
"""The languages that the parser knows, whether their symbols are read or not."""
_OTHERWISE_CALLED = {
    "bash": "shell",
    "cpp": "c++",
    "csharp": "c#",
    "fsharp": "f#",
    "go": "golang",
    "hcl": "terraform",
    "javascript": "node",
    "objective-c": "objc",
    "python": "python3",
}
ALIASES: dict[str, str] = (
    _inverse(_EXTENSIONS) | _inverse(_OTHERWISE_CALLED) | {each: each for each in (*_EXTENSIONS, *_NAMES)}
)
"""What a language may be called: its name, what else people call it, or an extension; in small letters."""

_SHEBANG = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?:\S*/)?([A-Za-z-]+)")
_CPP_SIGNS = re.compile(
    r"^\s*(?:class\s+\w+|namespace\b|template\s*<|using\s+\w|(?:public|private|protected)\s*:|extern\s+\"C\+\+\")"
    r"|\bstd::|\w::\w|^\s*#\s*include\s*<(?:string|vector|map|memory|utility|functional|cstd\w+|iostream|algorithm)>"
    r"|\b(?:constexpr|noexcept|nullptr|virtual|typename)\b",
    re.MULTILINE,
)
_GUARDED = re.compile(
    r"^[ \t]*#[ \t]*if(?:def[ \t]+__cplusplus|[ \t]+defined\W*__cplusplus).*?^[ \t]*#[ \t]*endif",
    re.MULTILINE | re.DOTALL,
)
_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def language_of(path: str, head: str = "") -> str:
    """The language of a file, ``text`` where nothing says another, and empty where only its contents could.

    ``head`` is the beginning of its contents (some kilobytes), for files without an extension and for ``.h``.
    """
    name = path.rsplit("/", 1)[-1]
    if known := _BY_NAME.get(name):
        return known
    extension = name.rsplit(".", 1)[-1].lower() if "." in name.lstrip(".") else ""
    if extension == "h":
        return _of_header(head)
    if known := _BY_EXTENSION.get(extension):
        return known
    if name.startswith(("Dockerfile.", "Containerfile.")):
        return "dockerfile"
    if name.startswith(("Makefile.", "README.", "LICENSE.")):
        return "makefile" if name[0] == "M" else "text"
    if shebang := _SHEBANG.match(head):
        return _BY_INTERPRETER.get(shebang[1].rstrip("-"), "text")
    return "text" if head else ""


def _of_header(head: str) -> str:
    code = _GUARDED.sub("", _COMMENTS.sub("", head))
    return "cpp" if _CPP_SIGNS.search(code) else "c"
