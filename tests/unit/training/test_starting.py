"""What is known of words before anything is learned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from training.embedder.code_words import FORMS, CodeModel


class _Encoding(NamedTuple):
    ids: list[int]


class _ByLetters:
    """One token for each letter, in the order of the alphabet; blanks and large letters have their own."""

    def encode_batch(self, texts: list[str]) -> list[_Encoding]:
        return [_Encoding([ord(letter) for letter in text]) for text in texts]


def test_a_word_is_the_mean_of_its_tokens_in_each_of_its_forms() -> None:
    vectors = np.random.default_rng(1).normal(size=(128, 8)).astype(np.float32)
    [of_ab] = CodeModel(vectors, _ByLetters()).of_words(["ab"])
    (_, blank), (_, small), (_, blank_large), (_, large) = FORMS
    letters = {letter: vectors[ord(letter)] for letter in " abA"}
    wanted = (
        blank * (letters[" "] + letters["a"] + letters["b"]) / 9
        + small * (letters["a"] + letters["b"]) / 4
        + blank_large * (letters[" "] + letters["A"] + letters["b"]) / 9
        + large * (letters["A"] + letters["b"]) / 4
    )
    assert np.allclose(of_ab, wanted / np.linalg.norm(wanted), atol=1e-6)


def test_words_are_known_in_the_order_of_the_list_and_none_is_longer_than_another() -> None:
    vectors = np.random.default_rng(2).normal(size=(128, 8)).astype(np.float32)
    model = CodeModel(vectors, _ByLetters())
    rows = model.of_words(["lock", "key", "door"])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.allclose(rows[1], model.of_words(["key"])[0])
