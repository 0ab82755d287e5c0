"""Where training starts: what two language models know of each word alone, reduced to the model's dimensions.

One is of sentences: to it a mutex is near to being mute. The other one is of code, and knows that it locks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sylk_ray.knowledge.embedding.embedder import Vectors, to_units
from training.embedder.minilm import MiniLM
from training.embedder.qwen import code_model
from training.embedder.whole_files import named_by, whole

OF_CODE = 384
"""Principal components of what the model of code knows."""
CODE_COUNTS = 0.7
"""The length of those, where what the model of sentences says has length 1."""


def start_of_words(words: Sequence[str], cache: Path) -> Vectors:
    """The same as ``start_of``, kept until anything that it is made of is another."""
    made_by = [Path(__file__).with_name(name).read_bytes() for name in ("starting.py", "minilm.py", "qwen.py")]
    path = named_by(cache / "start.npy", made_by, list(words))
    if not path.exists():
        with whole(path) as file:
            np.save(file, start_of(words))
    return np.load(path)


def start_of(words: Sequence[str]) -> Vectors:
    """Of each word what both know, one beside the other. [words, 384 + OF_CODE]."""
    of_sentences = MiniLM().embed(words)
    of_sentences = to_units(of_sentences - of_sentences.mean(axis=0))
    return np.concatenate([of_sentences, CODE_COUNTS * reduced(code_model().of_words(words), OF_CODE)], axis=1)


def reduced(rows: Vectors, dimensions: int) -> Vectors:
    """The principal components of rows, without the mean, of length 1."""
    centred = rows - rows.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T.astype(np.float64) @ centred.astype(np.float64))
    return to_units(centred @ directions[:, ::-1][:, :dimensions].astype(np.float32))
