"""A knowledge base as the settings say."""

from __future__ import annotations

from pathlib import Path

import pytest

from sylk_ray.errors import InputError
from sylk_ray.knowledge.configured import open_knowledge
from sylk_ray.knowledge.embedding import RemoteEmbedder, StaticEmbedder


def test_without_settings_the_embedder_is_built_in(tmp_path: Path) -> None:
    with open_knowledge(tmp_path) as base:
        assert isinstance(base.embedder, StaticEmbedder)
        assert base.directory == tmp_path / "knowledge"
    assert (tmp_path / ".gitignore").exists()


def test_settings_name_a_service_that_embeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYLK_HOME", str(tmp_path))
    (tmp_path / "settings.yaml").write_text(
        "knowledge: {embedder: {base_url: 'http://127.0.0.1:9/v1', model: m, dimensions: 64}}"
    )
    with open_knowledge(tmp_path) as base:
        assert isinstance(base.embedder, RemoteEmbedder)
        assert (base.embedder.dimensions, base.embedder.name) == (64, "m@http://127.0.0.1:9/v1/embeddings/64")


@pytest.mark.parametrize("text", ["knowledge: {vectors: nowhere}", "knowledge: {embeder: {}}"])
def test_wrong_settings_are_named(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYLK_HOME", str(tmp_path))
    (tmp_path / "settings.yaml").write_text(text)
    with pytest.raises(InputError, match="knowledge"):
        open_knowledge(tmp_path)
