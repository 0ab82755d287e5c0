"""A general static model to compare with: the token vectors of ``wordllama``, as this project used them before.

Identifiers are split into words, and a word counts by the root of how often it is there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sylk_ray.knowledge.words import identifiers, pieces
from training.embedder.installed import folder_of

_VECTORS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class General:
    """Texts to unit rows of 256 float32."""

    def __init__(self) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = folder_of("wordllama")
        [self._vectors] = load_file(folder / _VECTORS).values()
        self._tokenizer: Any = Tokenizer.from_file(str(folder / _TOKENIZER))

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Questions and documents alike."""
        rows = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        for row, text in zip(rows, texts, strict=True):
            counted = Counter(word for identifier in identifiers(text) for word in pieces(identifier))
            for word, found in zip(
                counted, self._tokenizer.encode_batch(list(counted), add_special_tokens=False), strict=True
            ):
                row += math.sqrt(counted[word]) * self._vectors[found.ids].astype(np.float32).sum(axis=0)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
