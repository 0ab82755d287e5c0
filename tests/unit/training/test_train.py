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

pytest.importorskip("torch")

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
