"""Where the files of installed packages are: some carry a model and no code."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def folder_of(package: str) -> Path:
    """Where an installed package's files are."""
    found = importlib.util.find_spec(package)
    assert found is not None
    assert found.submodule_search_locations is not None
    return Path(found.submodule_search_locations[0])
