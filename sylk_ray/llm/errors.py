"""How asking a model fails."""

from __future__ import annotations

from typing import ClassVar

from sylk_ray.errors import InputError, SylkError


class ModelError(SylkError):
    """A model gave no answer."""

    code = "model_error"
    again: ClassVar[bool] = False
    """Whether the same request may go well later."""
    ill: ClassVar[bool] = False
    """Whether it tells that the provider is not well."""
    after_s: float | None = None
    """How long the provider asks to wait."""


class ModelUnavailable(ModelError):
    """Its provider cannot be reached, fails, or breaks off."""

    code = "model_unavailable"
    again = True
    ill = True


class ModelBusy(ModelError):
    """Its provider has had enough requests, or tokens, for now."""

    code = "model_busy"
    again = True


class ModelRefused(ModelError):
    """Its provider does not take the request; the message says why, in the provider's words."""

    code = "model_refused"


class KeyRefused(ModelRefused):
    """Its provider does not take the key, or there is none."""

    code = "model_key_refused"


class ContextTooLong(ModelRefused):
    """The conversation does not fit the model's window."""

    code = "model_context_too_long"


class ModelTooSlow(ModelError):
    """There was no whole answer by the deadline."""

    code = "model_too_slow"


class UnknownRequest(ModelRefused):
    """A recording has no answer to this request; the message says how it differs from the nearest that it has."""

    code = "model_request_not_recorded"


class KeyMissing(ModelError):
    """The key that the settings speak of is not there, or is open to others."""

    code = "model_key_missing"
    exit_code = 2


class NoModel(InputError):
    """No model is configured, or none of that name."""

    code = "no_model"


HOW_TO_SET_ONE = (
    "set one in settings.yaml, for example\n"
    '  models: {fast: {base_url: "http://127.0.0.1:11434/v1", model: "qwen3-coder:30b"}}\n'
    "and try it with `sylk models test`"
)
