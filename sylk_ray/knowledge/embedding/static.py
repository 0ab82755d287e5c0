"""The embedder that is built in: a learned vector a token, summed. No network, no accelerator, no training.

The vectors and the tokenizer are those of the package ``wordllama`` (token vectors of a large model, reduced to 256
dimensions and trained for the similarity of general English text, MIT licence), which carries them in its wheel. Only
its data files are read: importing it takes a second, and can download.

Identifiers are split into words first, as the model knows prose and not code; a word counts by the root of how often it
occurs, so that a loop variable does not drown what a function is about.
"""

from __future__ import annotations

import importlib.util
import json
import math
import mmap
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sylk_ray.knowledge.embedding.embedder import EmbedderUnavailable, Vectors, to_units
from sylk_ray.knowledge.words import STOP_WORDS, counted_identifiers, pieces

_PACKAGE = "wordllama"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
REMEMBERED = 100_000
"""Words whose tokens are kept."""


class StaticEmbedder:
    """Texts to unit vectors of 256 float32. Loads in a tenth of a second when it is first used."""

    name = "wordllama-l2-supercat-256/words"
    dimensions = 256

    def __init__(self) -> None:
        self._tokens: dict[str, list[int]] = {}
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of documents, one a row; a text without words is a row of zeros."""
        counted = [_counted(text) for text in texts]
        tokens = self._learn({word for counts in counted for word in counts})
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, counts in zip(rows, counted, strict=True):
            self._sum({word: math.sqrt(times) for word, times in counts.items()}, tokens, row)
        return to_units(rows)

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, without the words that say nothing."""
        every = _counted(text)
        told = {word: float(times) for word, times in every.items() if word not in STOP_WORDS}
        asked = told or {word: float(times) for word, times in every.items()}
        tokens = self._learn(set(asked))
        row = np.zeros((1, self.dimensions), np.float32)
        self._sum(asked, tokens, row[0])
        return to_units(row)[0]

    def _sum(self, weights: dict[str, float], tokens: Mapping[str, list[int]], row: Vectors) -> None:
        every: list[int] = []
        scale: list[float] = []
        for word, weight in weights.items():
            ids = tokens[word]
            every += ids
            scale += [weight] * len(ids)
        if every:
            np.dot(np.asarray(scale, np.float32), self._vectors[every].astype(np.float32), out=row)

    def _learn(self, words: set[str]) -> Mapping[str, list[int]]:
        """The tokens of at least these words."""
        with self._lock:
            fresh = sorted(words - self._tokens.keys())
            if fresh:
                found = self._tokenizer.encode_batch(fresh, add_special_tokens=False)
                known = self._tokens
                if len(known) > REMEMBERED:
                    known = {word: known[word] for word in words & known.keys()}
                # A new dictionary, so that a thread which sums by the old one keeps its words.
                self._tokens = known | {word: each.ids for word, each in zip(fresh, found, strict=True)}
            return self._tokens

    @cached_property
    def _vectors(self) -> npt.NDArray[np.float16]:
        return _read_safetensors(_file(_WEIGHTS))

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(_file(_TOKENIZER)))


def _counted(text: str) -> Counter[str]:
    counted: Counter[str] = Counter()
    for identifier, times in counted_identifiers(text).items():
        for word in pieces(identifier):
            counted[word] += times
    return counted


def _file(name: str) -> Path:
    found = importlib.util.find_spec(_PACKAGE)
    folders = found.submodule_search_locations if found else None
    path = Path(folders[0], name) if folders else None
    if path is None or not path.is_file():
        raise EmbedderUnavailable(
            f"the built-in embedder's file {name} is missing", hint=f"Install it again: pip install {_PACKAGE}"
        )
    return path


def _read_safetensors(path: Path) -> npt.NDArray[np.float16]:
    """The one matrix of a safetensors file, mapped and not read: pages come as tokens are used."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    size = int.from_bytes(mapped[:8], "little")
    header: dict[str, Any] = json.loads(mapped[8 : 8 + size])
    [matrix] = [entry for name, entry in header.items() if name != "__metadata__"]
    first, last = matrix["data_offsets"]
    numbers = np.frombuffer(mapped, np.dtype(np.float16), (last - first) // 2, 8 + size + first)
    return numbers.reshape(matrix["shape"])
