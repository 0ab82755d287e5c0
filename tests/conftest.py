"""The environment of every test: a state directory of its own, and what Ray reads when it is imported."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from sylk_ray.runtime.cluster.head import ray_environment
from tests.cluster import cluster, kept, packed, shared, start

__all__ = ["cluster", "kept", "packed", "shared", "start"]

TEST_HOME = Path(tempfile.mkdtemp(prefix="sylk-tests-"))

# Set before any test module is imported, for some import Ray, and it reads its settings only then.
os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
os.environ.update(ray_environment(TEST_HOME))


def pytest_unconfigure() -> None:
    shutil.rmtree(TEST_HOME, ignore_errors=True)
