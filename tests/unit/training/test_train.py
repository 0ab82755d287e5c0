"""Training itself, where torch is installed (the extra ``train``)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sylk_ray.knowledge.embedding import StaticEmbedder
from sylk_ray.knowledge.embedding.vocabulary import Vocabulary
from training.embedder.pairs import Pair
from training.embedder.preparing import Training, as_training
from training.embedder.quantise import as_file
from training.embedder.recipe import Recipe
from training.embedder.tokens import bags

torch = pytest.importorskip("torch")

WORDS = [*"abcdefghijklmnop", "open", "door", "close", "window"]
RECIPE = Recipe(dimensions=16, epochs=2, batch=32, units=8, models=2, threads=1)


def _training() -> Training:
    order = np.random.default_rng(1)
    pairs = [
        Pair("doc", " ".join(order.choice(WORDS, 3)), f"n\np\n{' '.join(order.choice(WORDS, 9))}", f"p{n}", "python")
        for n in range(200)
    ]
    return as_training([pairs], Vocabulary(WORDS))


def _start() -> np.ndarray:
    return np.random.default_rng(2).normal(size=(len(WORDS), 16)).astype(np.float32)


CONCEPTS = 12


def _asked_and_told() -> tuple[list[str], list[str]]:
    return [f"ask{letter}" for letter in "abcdefghijkl"], [f"tell{letter}" for letter in "abcdefghijkl"]


def _of_concepts() -> tuple[Training, list[str], np.ndarray]:
    """Pairs in which each of some words is asked and another one answers it, which nothing tells at the start."""
    order = np.random.default_rng(3)
    asked, told = _asked_and_told()
    words = [*"abcdefghijklmnop", *asked, *told]
    pairs = [
        Pair("doc", asked[n % CONCEPTS], f"n\np\n{told[n % CONCEPTS]} {order.choice(list('mnop'))}", f"p{n}", "python")
        for n in range(CONCEPTS * 40)
    ]
    start = np.random.default_rng(4).normal(size=(len(words), 16)).astype(np.float32)
    return as_training([pairs], Vocabulary(words)), words, start


def _found(vectors: np.ndarray, words: list[str]) -> float:
    """Of which part of the words that are asked the one that answers is the nearest of those that can."""
    asked, told = ([words.index(word) for word in some] for some in _asked_and_told())
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return float(((unit[asked] @ unit[told].T).argmax(axis=1) == np.arange(CONCEPTS)).mean())


def test_training_teaches_which_word_answers_which() -> None:
    from training.embedder.train import trained

    training, words, start = _of_concepts()
    recipe = RECIPE._replace(epochs=8, batch=24, of_a_topic=0, rate=0.05, pull=0.0)
    assert _found(start, words) < 0.4
    assert _found(trained(training, start, [recipe], way=1.0).vectors, words) > 0.9


def test_vectors_are_a_part_of_the_way_from_the_start_and_are_pulled_back_to_it() -> None:
    from training.embedder.train import trained

    training, _, start = _of_concepts()

    def moved(way: float = 1.0, **more: float) -> np.ndarray:
        return trained(training, start, [RECIPE._replace(models=1, **more)], way=way).vectors - start

    whole = moved(pull=0.0)
    assert np.abs(whole).max() > 0.01
    assert np.array_equal(moved(way=0.0), np.zeros_like(start))
    assert np.allclose(moved(way=0.5, pull=0.0), 0.5 * whole, atol=1e-5)
    assert np.abs(moved(pull=100.0)).sum() < 0.8 * np.abs(whole).sum()


def test_the_layer_learns_at_its_own_rate() -> None:
    from training.embedder.train import trained

    training, _, start = _of_concepts()
    still, learns = (trained(training, start, [RECIPE._replace(rate_of_layer=rate)]).outer for rate in (0.0, 0.3))
    assert not still.any()
    assert learns.any()


@pytest.mark.parametrize(("share", "temperature"), [(0.75, 0.07), (0.25, 0.07), (0.75, 1.0)])
def test_the_loss_is_that_of_questions_and_of_documents_by_their_shares(share: float, temperature: float) -> None:
    from training.embedder.train import contrast

    cosines = np.asarray([[0.9, 0.1, 0.2], [0.8, 0.3, 0.1], [0.1, 0.2, 0.7]])
    told = np.exp(cosines / temperature)
    of_questions = -np.log(np.diag(told) / told.sum(axis=1)).mean()
    of_documents = -np.log(np.diag(told) / told.sum(axis=0)).mean()
    found = contrast(torch.from_numpy(cosines), RECIPE._replace(query_share=share, temperature=temperature)).item()
    assert found == pytest.approx(share * of_questions + (1 - share) * of_documents)


def test_what_is_shipped_says_what_was_trained(tmp_path: Path) -> None:
    from training.embedder.train import Model, _picked

    model = Model(_start(), np.full(len(WORDS), 0.01, np.float32), 8)
    training = _training()
    with np.errstate(all="ignore"):
        path = tmp_path / "m.safetensors"
        path.write_bytes(as_file(model.learned(training), WORDS, {}))
    texts = ["open door open", "close the window a b c d", "door"]
    some = np.arange(len(texts))
    told = bags(texts, Vocabulary(WORDS))
    embedder = StaticEmbedder(path)
    asked, documents = (model(side, *_picked(told, some)).detach().numpy() for side in ("queries", "documents"))
    assert (np.einsum("ij,ij->i", embedder.embed(texts), documents) > 0.999).all()
    assert all(embedder.embed_query(text) @ row > 0.999 for text, row in zip(texts, asked, strict=True))


def test_a_model_that_was_trained_is_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from training.embedder import train

    trains = train._train
    ended = False

    def interrupted(*given: object) -> None:
        nonlocal ended
        if list(tmp_path.iterdir()) and not ended:
            ended = True
            raise KeyboardInterrupt
        trains(*given)  # pyright: ignore[reportArgumentType]

    whole = train.trained(_training(), _start(), [RECIPE])
    monkeypatch.setattr(train, "_train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train.trained(_training(), _start(), [RECIPE], kept=tmp_path / "model.pt")
    [first] = tmp_path.iterdir()
    written = first.stat().st_mtime_ns
    resumed = train.trained(_training(), _start(), [RECIPE], kept=tmp_path / "model.pt")
    assert first.stat().st_mtime_ns == written
    assert len(list(tmp_path.iterdir())) == 2
    assert np.allclose(resumed.vectors, whole.vectors, atol=1e-5)
    train.trained(_training(), _start(), [RECIPE._replace(rate=0.001)], kept=tmp_path / "model.pt")
    assert len(list(tmp_path.iterdir())) == 4
