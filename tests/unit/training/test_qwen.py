"""What a language model of code knows of words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from training.embedder.qwen import FORMS, CodeModel


class _Encoding(NamedTuple):
    ids: list[int]


class _ByLetters:
    """One token for each letter, blanks and large ones apart, in the order of ASCII."""

    def encode_batch(self, texts: list[str]) -> list[_Encoding]:
        return [_Encoding([ord(letter) for letter in text]) for text in texts]


def test_a_word_is_what_its_tokens_mean_in_each_of_its_forms_and_less_the_more_tokens_there_are() -> None:
    vectors = np.random.default_rng(1).normal(size=(128, 8)).astype(np.float32)
    [of_ab] = CodeModel(vectors, _ByLetters()).of_words(["ab"])
    (_, blank), (_, small), (_, blank_large), (_, large) = FORMS
    letters = {letter: vectors[ord(letter)] for letter in " abA"}
    wanted = (
        blank * (letters[" "] + letters["a"] + letters["b"]) / 3 / 3
        + small * (letters["a"] + letters["b"]) / 2 / 2
        + blank_large * (letters[" "] + letters["A"] + letters["b"]) / 3 / 3
        + large * (letters["A"] + letters["b"]) / 2 / 2
    )
    assert np.allclose(of_ab, wanted / np.linalg.norm(wanted), atol=1e-6)


def test_words_are_known_in_the_order_of_the_list_and_none_is_longer_than_another() -> None:
    vectors = np.random.default_rng(2).normal(size=(128, 8)).astype(np.float32)
    model = CodeModel(vectors, _ByLetters())
    rows = model.of_words(["lock", "key", "door"])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.allclose(rows, np.concatenate([model.of_words([word]) for word in ("lock", "key", "door")]))
