"""The knowledge base of a state directory, as its settings say."""

from __future__ import annotations

import os
from pathlib import Path

from sylk_ray.home import SETTINGS, make_home
from sylk_ray.knowledge.base import KnowledgeBase
from sylk_ray.knowledge.embedding import Embedder, StaticEmbedder

FOLDER = "knowledge"
_SETTING = "SYLK_KNOWLEDGE"


def open_knowledge(home: Path) -> KnowledgeBase:
    """Open it; this process owns it until it is closed.

    Raises InputError for wrong settings, and what opening raises: StoreInUse, KnowledgeDamaged, KnowledgeUnavailable;
    OSError where the directory cannot be made.
    """
    make_home(home)
    settings = home / SETTINGS
    if not settings.exists() and not any(name.startswith(_SETTING) for name in os.environ):
        # The settings take a tenth of a second to read, a search from the shell a third.
        return KnowledgeBase(home / FOLDER)
    from sylk_ray.config import load_settings

    given = load_settings(home=home).knowledge
    embedder: Embedder | None = None
    if given.embedder.base_url:
        from sylk_ray.knowledge.embedding.remote import RemoteEmbedder

        embedder = RemoteEmbedder(
            given.embedder.base_url,
            given.embedder.model,
            api_key_env=given.embedder.api_key_env,
            dimensions=given.embedder.dimensions,
            timeout_s=given.embedder.timeout_s,
        )
    return KnowledgeBase(home / FOLDER, embedder=embedder, former=[StaticEmbedder()], vectors_at=given.vectors or None)
