"""What is imported is declared: a package that only happens to be installed here is missing on a new machine."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = {"sylk_ray", "actors", "tests", "benchmarks", "training"}


def imported(folder: str) -> dict[str, Path]:
    """The top-level modules that a folder's files import from elsewhere, each with one file that does."""
    found: dict[str, Path] = {}
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            else:
                continue
            found.update((name.split(".")[0], path) for name in names)
    return {name: path for name, path in found.items() if name not in OURS | set(sys.stdlib_module_names)}


def declared(*extras: str) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(each for extra in extras for each in project["optional-dependencies"][extra])]
    return {normal(re.split(r"[\[<>=!~; ]", each)[0]) for each in wanted}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize(
    ("folder", "extras"),
    [("sylk_ray", ()), ("actors", ()), ("benchmarks", ("compare",)), ("tests", ("dev",)), ("training", ("train",))],
)
def test_every_package_that_is_imported_is_declared(folder, extras):
    distributions = packages_distributions()
    # A module can belong to several distributions (starlette comes with fastapi, and is its own).
    undeclared = {
        name: str(path.relative_to(ROOT))
        for name, path in imported(folder).items()
        if not {normal(each) for each in distributions.get(name, [name])} & (declared(*extras) | THROUGH)
    }
    assert undeclared == {}


THROUGH = {"pydantic-core", "starlette", "click"}
"""Parts of what is declared, that cannot be had without: pydantic's, fastapi's and typer's."""
