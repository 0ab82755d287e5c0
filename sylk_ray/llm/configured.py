"""The provider that a model's settings describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sylk_ray.llm.anthropic_messages import ANTHROPIC, AnthropicMessages
from sylk_ray.llm.keys import Key
from sylk_ray.llm.openai_chat import OPENAI, OpenAIChat
from sylk_ray.llm.provider import Provider
from sylk_ray.llm.replay import Recorder, Replay

if TYPE_CHECKING:
    from sylk_ray.config import Model


def provider_of(model: Model) -> Provider:
    """Who serves it. Nothing is asked, or read, yet."""
    if model.recording is not None and model.provider == "replay":
        return Replay(model.recording)
    kind, standard = (AnthropicMessages, ANTHROPIC) if model.provider == "anthropic" else (OpenAIChat, OPENAI)
    key = Key(model.api_key_env, model.api_key_file)
    provider = kind(
        model.model,
        base_url=model.base_url or standard,
        key=key,
        first_token_s=model.first_token_s,
        stall_s=model.stall_s,
    )
    return provider if model.record is None else Recorder(provider, model.model, model.record, key)
