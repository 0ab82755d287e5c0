"""Unit tests may not start Ray: importing it is already a mistake in the design."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def no_ray() -> None:
    yield
    ray = sys.modules.get("ray")
    assert ray is None or not ray.is_initialized(), "a unit test started Ray"
