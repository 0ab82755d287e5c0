"""What is left out of a codebase whatever its ignore files say: by a folder's or a file's name, and by its contents.

Folders count as dependencies or as build output when something in or beside them shows it, not for a name alone: a
``vendor`` without a manifest may well be somebody's own code, and ``build`` may hold the scripts of the build.
"""

from __future__ import annotations

import re
from collections.abc import Set
from fnmatch import translate

from sylk_ray.codebase.languages import CONFIGURATION, PROSE, language_of

HEAD = 8192
"""Bytes at the beginning of a file in which a NUL shows that it is binary, as git has it."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NOTHING: frozenset[str] = frozenset()
_TOOLS = _words(
    """
    .git .hg .svn .jj .bzr .idea .vscode .vs .gradle .terraform .cache .parcel-cache .turbo .next .nuxt
    .svelte-kit .mypy_cache .pytest_cache .ruff_cache .hypothesis .tox .nox .eggs .ipynb_checkpoints __pycache__
    .dart_tool .bundle .stack-work dist-newstyle .nyc_output htmlcov .coverage_html DerivedData .build
    .import-linter_cache
    """
)
_DEPENDENCIES = _words(
    """
    node_modules bower_components jspm_packages site-packages dist-packages .venv .yarn .pnpm-store Pods
    Carthage elm-stuff
    """
)
_SHOWN_WITHIN = {
    "pyvenv.cfg": "a Python environment",
    "CACHEDIR.TAG": "a cache",
    "CMakeCache.txt": "build output",
}
_VENDORED = {"vendor": {"modules.txt", "autoload.php", "bundle", "cache"}, "deps": {"_build"}}
_SHOWN_BESIDE = {
    "target": {"Cargo.toml", "pom.xml", "build.sbt"},
    "dist": {"package.json", "pyproject.toml", "setup.py"},
    "build": {"build.gradle", "build.gradle.kts", "setup.py", "pubspec.yaml"},
    "_build": {"mix.exs", "rebar.config", "dune-project"},
    "deps": {"mix.exs"},
    "coverage": {"package.json"},
}

_LOCKS = _words(
    """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb Cargo.lock poetry.lock
    uv.lock pdm.lock Pipfile.lock Gemfile.lock composer.lock go.sum go.work.sum mix.lock pubspec.lock
    Podfile.lock Package.resolved flake.lock packages.lock.json gradle.lockfile .terraform.lock.hcl deno.lock
    conda-lock.yml stack.yaml.lock cabal.project.freeze Cartfile.resolved paket.lock MODULE.bazel.lock pixi.lock
    """
)
_GENERATED_NAMES = re.compile(
    "|".join(
        translate(each)
        for each in [
            "*.pb.go",
            "*.pb.gw.go",
            "*_pb2.py",
            "*_pb2.pyi",
            "*_pb2_grpc.py",
            "*.pb.cc",
            "*.pb.h",
            "*.pb.swift",
            "*_pb.js",
            "*_pb.ts",
            "*_pb.d.ts",
            "*_pb.rb",
            "*.g.dart",
            "*.freezed.dart",
            "*.designer.cs",
            "*.Designer.cs",
            "*.g.cs",
            "*.g.i.cs",
            "*.generated.*",
            "*_generated.go",
            "zz_generated.*.go",
            "*.min.js",
            "*.min.css",
            "*.min.mjs",
            "*.bundle.js",
            "*-min.js",
            "*.js.map",
            "*.css.map",
            "*.d.ts.map",
        ]
    )
)
_SECRETS = re.compile(
    r"\.env(?:\.(?!example$|sample$|template$|dist$).*)?$|id_(?:rsa|dsa|ecdsa|ed25519)$|\.netrc$|\.htpasswd$"
)
_NO_UTF8 = re.compile("[\\udc80-\\udcff]")
"""What stands for the bytes of a name that are none."""
_DATA = _words(
    """
    csv tsv jsonl ndjson svg ipynb log map snap po pot diff patch pem crt cer key csr p8 dump geojson topojson
    har fasta fastq vcf bed dat out lst stl obj gltf eps ps ai srt vtt cassette approved excalidraw drawio rdf
    ttl nt lock sum tap
    """
)
_BINARY = _words(
    """
    png jpg jpeg gif bmp ico icns tif tiff webp avif heic psd xcf mp3 mp4 m4a ogg oga ogv wav flac avi mov mkv
    webm pdf doc docx xls xlsx ppt pptx odt ods odp zip tar gz tgz bz2 xz zst 7z rar jar war ear whl egg gem
    nupkg deb rpm apk ipa dmg iso so dylib dll exe o a lib obj pyc pyo pyd class wasm node bin db sqlite sqlite3
    mdb parquet arrow feather npy npz pkl pickle pt pth onnx safetensors gguf h5 hdf5 tflite ttf otf woff woff2
    eot keystore jks p12 pfx gpg swp mo dex rlib rmeta
    """
)
_COMMENT_SIGN = r"^[ \t]*(?://|/?\*|#|--|;|<!--|\"\"\"|').{0,200}?"
_GENERATED_MARK = re.compile(
    _COMMENT_SIGN + r"(?:\bcode generated\b.*\bdo not edit|@generated\b|<auto-?generated\b"
    r"|\b(?:auto-?|automatically )generated\b.{0,80}(?:do not|don't|by|from|file)"
    r"|\bgenerated (?:by|from)\b.*\bdo not (?:edit|modify)|\bdo not (?:edit|modify)\b.*\bgenerated\b"
    r"|\bthis file (?:was|is) (?:auto-?|automatically )?generated (?:by|from)\b)",
    re.IGNORECASE | re.MULTILINE,
)
_LONG_LINES = 300
"""Bytes in a line on the average above which code is minified; prose may have one line a paragraph."""
_MANY_DATA = 200_000
"""Bytes above which what is no program is data: a fixture, a word list, a schema's dump."""


def folder_is_left_out(name: str, beside: Set[str]) -> str:
    """Why a folder is left out by its name and what stands beside it; empty if it is not."""
    if name in _TOOLS or name.endswith(".egg-info"):
        return "a tool's own folder"
    if name in _DEPENDENCIES:
        return "dependencies, not code of this repository"
    if beside & _SHOWN_BESIDE.get(name, _NOTHING):
        return "build output"
    return "its name is no UTF-8" if _NO_UTF8.search(name) else ""


def folder_shows_itself(name: str, within: Set[str]) -> str:
    """Why a folder is left out by what it holds; empty if it is not."""
    for file, reason in _SHOWN_WITHIN.items():
        if file in within:
            return reason
    if within & _VENDORED.get(name, _NOTHING):
        return "dependencies, not code of this repository"
    return ""


def name_is_left_out(name: str) -> str:
    """Why a file is left out by its name; empty if it is not."""
    extension = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    if extension in _BINARY:
        return "binary"
    if name in _LOCKS:
        return "a lock file"
    if extension in _DATA:
        return "data"
    if _GENERATED_NAMES.match(name):
        return "generated"
    if _SECRETS.match(name):
        return "may hold secrets"
    return "its name is no UTF-8" if _NO_UTF8.search(name) else ""


def contents_are_left_out(path: str, data: bytes) -> str:
    """Why a file is left out by what it says; empty if it is not."""
    head = data[:HEAD]
    if b"\0" in head:
        return "binary"
    text = text_of(data)
    if text is None:
        return "binary: it is no UTF-8"
    language = language_of(path, text[:HEAD])
    if _GENERATED_MARK.search(head.decode("utf-8", "replace")[:2000]):
        return "generated"
    lines = data.count(b"\n") + 1
    prose = language in PROSE or language == "text"
    if len(data) > 2000 and len(data) / lines > (_LONG_LINES * 20 if prose else _LONG_LINES):
        return "minified, or data: its lines are very long"
    if len(data) > _MANY_DATA and (language in CONFIGURATION or language in {"text", "html"}):
        return "data: too large for a configuration or a text"
    return ""


def text_of(data: bytes) -> str | None:
    """The text of a file: UTF-8, or Latin-1 where but few bytes are not ASCII (old sources); None if it is no text."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        if sum(byte > 127 for byte in data) * 20 > len(data):
            return None
        return None if b"\0" in data else data.decode("latin-1")
