"""An OpenAI-compatible ``/embeddings`` endpoint: OpenAI, vLLM, Ollama, llama.cpp, LM Studio."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import numpy as np

from sylk_ray.knowledge.embedding.embedder import EmbedderUnavailable, Vectors, to_units

BATCH = 64
"""Texts in one request."""
ATTEMPTS = 5
LONGEST_WAIT_S = 30.0
_AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504})


class RemoteEmbedder:
    """Asks a service, in batches, and again after what passes: refused connections, 429 and 5xx.

    The key comes from the environment variable that is named, and is in no error, log or ``repr``.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str = "",
        dimensions: int | None = None,
        timeout_s: float = 60.0,
        client: httpx.Client | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``dimensions`` asks for shorter vectors where the model can give them; else the model's own are found out."""
        self._url = f"{base_url.rstrip('/')}/embeddings"
        self._model = model
        self._key_env = api_key_env
        self._wanted = dimensions
        self._dimensions = dimensions
        self._client = client or httpx.Client(timeout=timeout_s)
        self._sleep = sleep

    @property
    def name(self) -> str:
        """The endpoint's model, and its dimensions where they were asked for."""
        return f"{self._model}@{self._url}" + (f"/{self._wanted}" if self._wanted else "")

    @property
    def dimensions(self) -> int:
        """Asked for, or found out by one small request. Raises EmbedderUnavailable."""
        if self._dimensions is None:
            self._dimensions = len(self._ask(["dimensions"])[0])
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of documents. Raises EmbedderUnavailable when the service refuses or does not answer."""
        rows = [self._ask(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimensions), np.float32)

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question."""
        return self._ask([text])[0]

    def _ask(self, texts: Sequence[str]) -> Vectors:
        # An empty text is refused by many services.
        body: dict[str, Any] = {"model": self._model, "input": [text or " " for text in texts]}
        if self._wanted:
            body["dimensions"] = self._wanted
        problem = ""
        for attempt in range(ATTEMPTS):
            try:
                answer = self._client.post(self._url, json=body, headers=self._headers())
            except httpx.RequestError as error:
                problem, wait = type(error).__name__, 0.5 * 2**attempt
            else:
                if answer.is_success:
                    return self._read(answer, len(texts))
                problem, wait = f"{answer.status_code} {answer.text[:200]}", _wait(answer, attempt)
                if answer.status_code not in _AGAIN:
                    break
            if attempt + 1 < ATTEMPTS:
                self._sleep(min(wait, LONGEST_WAIT_S))
        raise EmbedderUnavailable(
            f"{self._url} gave no embeddings: {self._without_key(problem)}",
            hint="Look at its address, model and key"
            + (f" (the key is read from {self._key_env})." if self._key_env else "."),
        )

    def _read(self, answer: httpx.Response, count: int) -> Vectors:
        try:
            data = sorted(answer.json()["data"], key=lambda each: each["index"])
            rows = [_vector(each["embedding"]) for each in data]
            if len(rows) != count:
                raise ValueError(f"{len(rows)} vectors for {count} texts")
            return to_units(np.stack(rows))
        except (KeyError, TypeError, ValueError) as error:
            raise EmbedderUnavailable(
                f"{self._url} answered what is no embedding: {error}", hint="Is it an OpenAI-compatible /embeddings?"
            ) from error

    def _headers(self) -> dict[str, str]:
        key = os.environ.get(self._key_env, "") if self._key_env else ""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _without_key(self, text: str) -> str:
        key = os.environ.get(self._key_env, "") if self._key_env else ""
        return text.replace(key, "***") if key else text


def _vector(given: str | list[float]) -> Vectors:
    if isinstance(given, str):
        return np.frombuffer(base64.b64decode(given, validate=True), np.dtype("<f4")).copy()
    return np.asarray(given, np.float32)


def _wait(answer: httpx.Response, attempt: int) -> float:
    """Seconds until the next attempt: what the service asks for, or twice as long each time."""
    given = answer.headers.get("retry-after", "")
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
    except ValueError:
        return 0.5 * 2**attempt
