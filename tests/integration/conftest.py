"""What integration tests work on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.sessions.conftest import new_repository


@pytest.fixture
def repo(tmp_path) -> Path:
    """A small Python project whose path has spaces and letters beyond ASCII."""
    return new_repository(
        tmp_path / "my próject",
        {
            "shop.py": "import os\n\n\ndef path(name):\n    return os.path.join('shop', os.path.join('data', name))\n",
            "test_shop.py": "from shop import path\n\n\ndef test_path():\n    assert str(path('a')) == 'shop/data/a'\n",
        },
    )
