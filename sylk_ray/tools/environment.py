"""The environment that a tool process gets, and where programs are found in it.

An allow-list: whatever secret the host has in its environment, a tool sees only what was granted by name.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from sylk_ray.messaging.trace import current_trace, traceparent
from sylk_ray.tools.errors import ToolMissing
from sylk_ray.tools.specs import Sandbox
from sylk_ray.tools.toolchains import rustup_home

MARKER = "SYLK_TOOL_RUN"
PRIVATE_FOLDERS = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "cache",
    "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
    "XDG_RUNTIME_DIR": "run",
}
_INHERITED = {"LANG", "TZ"}
_NOT_FOUND = re.compile(
    r"(?:^|[:\s])(?P<program>[^\s:]+): (?:command )?not found"
    r"|cannot execute (?P<executed>[^:\n]+): No such file",
    re.MULTILINE,
)
_HOW_TO_INSTALL = {
    "ruff": "pip install ruff",
    "mypy": "pip install mypy",
    "pytest": "pip install pytest",
    "pyright": "pip install pyright",
    "black": "pip install black",
    "uv": "pip install uv",
    "node": "install Node.js: https://nodejs.org",
    "npm": "install Node.js, which brings npm: https://nodejs.org",
    "npx": "install Node.js, which brings npx: https://nodejs.org",
    "pnpm": "npm install --global pnpm",
    "yarn": "npm install --global yarn",
    "tsc": "npm install typescript",
    "eslint": "npm install eslint",
    "go": "install Go: https://go.dev/dl",
    "gofmt": "install Go: https://go.dev/dl",
    "golangci-lint": "https://golangci-lint.run/welcome/install",
    "cargo": "install Rust: https://rustup.rs",
    "rustc": "install Rust: https://rustup.rs",
    "make": "apt install make",
    "git": "apt install git",
    "java": "apt install default-jdk",
    "mvn": "apt install maven",
    "gradle": "https://gradle.org/install",
    "docker": "https://docs.docker.com/engine/install",
}


def search_path() -> str:
    """The host's PATH, then the folder of this Python, so that tools installed with sylk are found."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    own = str(Path(sys.executable).parent)
    return os.pathsep.join(folders if own in folders else [*folders, own])


def scrubbed_environment(private_dir: Path, sandbox: Sandbox, run_id: str, extra: Mapping[str, str]) -> dict[str, str]:
    """What a tool process may see: harmless names, private folders, the marker, what was granted, and the trace that
    it works for."""
    trace = current_trace()
    inherited = {name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith("LC_")}
    granted = {name: os.environ[name] for name in sandbox.env if name in os.environ}
    private = {name: str(private_dir / folder) for name, folder in PRIVATE_FOLDERS.items()}
    path = search_path()
    rustup = rustup_home(path)
    return {
        "LANG": "C.UTF-8",
        **inherited,
        "PATH": path,
        **({"RUSTUP_HOME": str(rustup)} if rustup else {}),
        "TERM": "dumb",
        "PYTHONDONTWRITEBYTECODE": "1",
        **private,
        **granted,
        **extra,
        **({"TRACEPARENT": traceparent(trace)} if trace else {}),
        MARKER: run_id,
    }


def make_private_folders(private_dir: Path) -> None:
    """The folders that HOME, TMPDIR and XDG_* of a tool process point to."""
    for folder in PRIVATE_FOLDERS.values():
        (private_dir / folder).mkdir(mode=0o700, parents=True, exist_ok=True)


def require_program(program: str, cwd: Path, path: str) -> None:
    """ToolMissing unless the program would be found by a process started in ``cwd`` with this PATH."""
    wanted = str(cwd / program) if "/" in program else program
    if shutil.which(wanted, path=path) is None:
        raise tool_missing(program)


def missing_program(output: str) -> str | None:
    """The program that a shell says it did not find."""
    found = _NOT_FOUND.search(output)
    return (found["program"] or found["executed"]) if found else None


def tool_missing(program: str) -> ToolMissing:
    """The error for a program that is not there, with how to install it where we know."""
    how = _HOW_TO_INSTALL.get(Path(program).name)
    return ToolMissing(
        f"the program {program!r} is not installed",
        hint=(f"Install it ({how})" if how else "Install it")
        + ", or put its folder on the PATH of the process that runs sylk.",
    )
