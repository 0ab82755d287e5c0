"""All packages read, by several processes."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from training.embedder import extract
from training.embedder.packages import Package


def test_what_ends_reading_does_not_wait_for_packages_that_have_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    def extracted(package: Package, cache: Path) -> Path:
        begun.append(package.name)
        if package.name == "p0":
            raise ValueError("damaged")
        time.sleep(0.05)
        return cache

    monkeypatch.setattr(extract, "extracted", extracted)
    monkeypatch.setattr(extract, "ProcessPoolExecutor", partial(ThreadPoolExecutor, 1))
    every = [Package("pypi", f"p{number}", "1", "MIT", "train", ("py",), "") for number in range(20)]
    with pytest.raises(ValueError, match="damaged"):
        extract.extract_all(every, tmp_path)
    assert len(begun) < 10
