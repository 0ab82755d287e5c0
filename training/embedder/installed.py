"""Where the files of installed packages are: some carry a model and no code."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from training.embedder.fetching import Changed, sha256_of


class NotInstalled(Exception):
    """A package of the extra ``train`` is not there."""


def folder_of(package: str) -> Path:
    """Where an installed package's files are. Raises NotInstalled."""
    found = importlib.util.find_spec(package)
    if found is None or found.submodule_search_locations is None:
        raise NotInstalled(f"{package} is not installed; it comes with the extra train")
    return Path(found.submodule_search_locations[0])


def file_of(package: str, name: str, sha256: str) -> Path:
    """One of its files, which is the one that is known. Raises NotInstalled and Changed."""
    path = folder_of(package) / name
    found = sha256_of(path)
    if found != sha256:
        raise Changed(f"{path} has sha256 {found}, and not {sha256}")
    return path
