"""From pairs to arrays, and from a trained model to its file."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from sylk_ray.knowledge.embedding import StaticEmbedder
from sylk_ray.knowledge.embedding.model_file import name_of
from sylk_ray.knowledge.embedding.places import PLACES
from sylk_ray.knowledge.embedding.vocabulary import Vocabulary
from training.embedder import extract, vocabulary
from training.embedder.batching import batches
from training.embedder.comparing import HERE, by_words, hybrid, hybrids
from training.embedder.extract import place_of
from training.embedder.measuring import Asked, score
from training.embedder.packages import Package
from training.embedder.pairs import Pair
from training.embedder.preparing import (
    BARE,
    KINDS,
    Once,
    Training,
    as_training,
    chosen,
    loaded,
    of_packages,
    saved,
    training_pairs,
)
from training.embedder.quantise import Learned, as_file, softened
from training.embedder.recipe import Recipe
from training.embedder.tokens import Bags, bags, carried_on, usual
from training.embedder.whole_files import whole

WORDS = ["parse", "text", "open", "door", "a", "b"]


def _pair(query: str, document: str = "name\npath\ncode", kind: str = "doc", path: str = "p") -> Pair:
    return Pair(kind, query, document, path, "python")


def test_words_are_chosen_by_how_many_texts_have_them() -> None:
    found = vocabulary.counted([_pair("parse text"), _pair("parse more"), _pair("12345 parse", "x")])
    assert found["parse"] == 3
    words = vocabulary.chosen(found, size=39)
    assert words[0] == "parse"
    assert "12345" not in words
    assert {*"abcdefghijklmnopqrstuvwxyz0123456789"} <= set(words)
    assert len(set(words)) == len(words) == 39
    assert vocabulary.chosen(Counter({"b" * 30: 9})) == sorted("abcdefghijklmnopqrstuvwxyz0123456789")


def test_texts_become_rows_in_order_with_how_often_each_is_there() -> None:
    made = bags(["parseText text", "", "open"], Vocabulary(WORDS))
    assert (made.rows.tolist(), made.times.tolist(), made.starts.tolist()) == ([0, 1, 2], [1, 2, 1], [0, 2, 2, 3])


def test_the_same_words_are_asked_with_twice_at_most_and_never_for_the_same() -> None:
    once = Once()
    assert once.keeps(_pair("Opens a door", "a\np\none"))
    assert not once.keeps(_pair("opens a  door", "b\nq\none"))
    assert once.keeps(_pair("opens a door", "b\nq\ntwo"))
    assert not once.keeps(_pair("opens a door", "b\nq\nthree"))


def test_a_packages_choice_is_the_same_every_time() -> None:
    package = Package("pypi", "x", "1", "MIT", "train", ("py",), "0")
    pairs = [_pair(f"question {n}", f"n\np\ncode {n}", "section", f"p{n % 7}") for n in range(1200)]
    kept = chosen(package, pairs, Once())
    assert len(kept) == 1000
    assert kept == chosen(package, pairs, Once())
    assert [pair.path for pair in kept] == sorted(pair.path for pair in kept)


def test_arrays_are_read_as_they_were_written(tmp_path: Path) -> None:
    by_package = [[_pair("parse", path="p"), _pair("open a door", path="p"), _pair("text", path="q", kind="name")]]
    made = as_training(by_package, Vocabulary(WORDS))
    assert made.files.tolist() == [0, 2, 3]
    assert [KINDS[each] for each in made.kinds] == ["doc", "doc", "name"]
    with whole(tmp_path / "x.npz") as file:
        saved(made, file)
    assert [each.name for each in tmp_path.iterdir()] == ["x.npz"]
    again = loaded(tmp_path / "x.npz")
    assert again.queries.rows.tolist() == made.queries.rows.tolist() == [0, 2, 4, 3, 1]
    assert again.documents.starts.tolist() == made.documents.starts.tolist()


def test_some_definitions_are_learned_as_code_alone_and_always_the_same_ones() -> None:
    pairs = [_pair("parse", f"open\ndoor\ntext a{'b' * number}") for number in range(400)]
    made, again = (as_training([pairs], Vocabulary(WORDS)) for _ in range(2))
    firsts = made.documents.rows[made.documents.starts[:-1]]
    bare = float(np.mean(firsts == WORDS.index("text")))
    assert BARE - 0.1 < bare < BARE + 0.1
    assert np.mean(firsts == WORDS.index("open")) == 1 - bare
    assert again.documents.rows.tolist() == made.documents.rows.tolist()
    files = as_training([[msgspec.structs.replace(pair, kind="file") for pair in pairs]], Vocabulary(WORDS))
    assert (files.documents.rows[files.documents.starts[:-1]] == WORDS.index("open")).all()


def test_what_is_kept_is_made_anew_when_what_is_learned_from_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = [Package("pypi", name, "1", "MIT", "train", ("py",), name * 16) for name in ("one", "two")]
    (tmp_path / "pairs").mkdir()
    for package in packages:
        question = f"opens the {package.name} door"
        pairs = [_pair(question)]
        place_of(package, tmp_path).write_bytes(msgspec.msgpack.encode(pairs))
    first = vocabulary.of_packages(packages[:1], tmp_path)
    assert "one" in first
    assert "two" not in first
    both = vocabulary.of_packages(packages, tmp_path)
    assert {"one", "two"} <= set(both)
    assert vocabulary.of_packages(packages[:1], tmp_path) == first
    assert len(of_packages(packages[:1], first, tmp_path).kinds) == 1
    assert len(of_packages(packages, first, tmp_path).kinds) == 2
    assert len(of_packages(packages, both, tmp_path).kinds) == 2
    assert len(list(tmp_path.glob("words-*.txt"))) == 2
    assert len(list(tmp_path.glob("training-*.npz"))) == 3
    before = place_of(packages[0], tmp_path)
    monkeypatch.setattr(extract, "reading", lambda: "by other code")
    assert place_of(packages[0], tmp_path) != before


def test_what_is_measured_with_is_not_learned_from(tmp_path: Path) -> None:
    learned, measured = (Package("pypi", part, "1", "MIT", part, ("py",), part * 16) for part in ("train", "dev"))
    (tmp_path / "pairs").mkdir()
    same, copied = _pair("opens the front door", "a\np\none"), _pair("another sentence", "b\nq\nthe same code")
    own = _pair("closes the window", "c\nq\ntwo")
    place_of(learned, tmp_path).write_bytes(msgspec.msgpack.encode([same, copied, own]))
    asked = [_pair("Opens the front  door", "x\ny\nz"), _pair("something", "other\nz\nthe same code")]
    place_of(measured, tmp_path).write_bytes(msgspec.msgpack.encode(asked))
    assert list(training_pairs([learned, measured], tmp_path)) == [[own]]
    assert list(training_pairs([learned], tmp_path)) == [[same, copied, own]]


def test_what_is_interrupted_while_it_is_written_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"

    def interrupted() -> None:
        with whole(path) as file:
            file.write(b"the first half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not path.exists()
    with whole(path) as file:
        file.write(b"all of it")
    assert path.read_bytes() == b"all of it"


def _learned(units: int = 24) -> Learned:
    order = np.random.default_rng(3)
    vectors, inner, outer = (
        order.normal(size=size).astype(np.float32) for size in ((len(WORDS), 16), (units, 16), (16, units))
    )
    weights = order.random(len(WORDS)).astype(np.float32) + 0.5
    places = np.linspace(1, 0.5, PLACES, dtype=np.float32)
    bias = order.normal(size=units).astype(np.float32)
    usual = np.linspace(1, 8, len(WORDS), dtype=np.float32)
    asked = np.linspace(0.7, 1, PLACES, dtype=np.float32)
    return Learned(usual, vectors, weights, weights[::-1].copy(), asked, places, inner / 4, bias, outer / 10)


def _through(learned: Learned, summed: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    whole = 4 * summed / np.linalg.norm(summed)
    made = whole + learned.outer @ np.maximum(learned.inner @ whole + learned.bias, 0)
    return made / np.linalg.norm(made)


def _asked(learned: Learned, first: float) -> npt.NDArray[np.float32]:
    """What is asked with the words parse, so often, and door."""
    says, places = learned.of_questions, learned.places_asked
    return first * says[0] * places[0] * learned.vectors[0] + says[3] * places[1] * learned.vectors[3]


@pytest.mark.parametrize("units", [24, 300])
def test_a_quantised_model_says_what_the_trained_one_does(tmp_path: Path, units: int) -> None:
    learned = _learned(units)
    path = tmp_path / "m.safetensors"
    path.write_bytes(as_file(learned, WORDS, {"by": "a test"}))
    embedder = StaticEmbedder(path)
    exact = _asked(learned, 2**0.25)
    assert _through(learned, exact) @ exact < 0.99 * np.linalg.norm(exact)
    assert embedder.embed_query("parse door parse") @ _through(learned, exact) > 0.9995
    placed = learned.of_documents[1] * learned.places[0] * learned.vectors[1]
    placed += learned.of_documents[2] * learned.places[1] * learned.vectors[2]
    assert embedder.embed(["text open"])[0] @ _through(learned, placed) > 0.9995


def test_a_layer_that_has_learned_nothing_changes_nothing(tmp_path: Path) -> None:
    learned = _learned()
    path = tmp_path / "m.safetensors"
    path.write_bytes(as_file(learned._replace(outer=np.zeros_like(learned.outer)), WORDS, {}))
    exact = _asked(learned, 1.0)
    assert StaticEmbedder(path).embed_query("parse door") @ exact > 0.9999 * np.linalg.norm(exact)


def test_a_layer_that_whole_numbers_cannot_stand_for_is_refused() -> None:
    with pytest.raises(ValueError, match="8 bits"):
        as_file(_learned()._replace(outer=np.full((16, 24), 1e6, np.float32)), WORDS, {})
    with pytest.raises(ValueError, match="513 units"):
        as_file(_learned(513), WORDS, {})
    as_file(_learned()._replace(bias=np.full(24, -1e3, np.float32)), WORDS, {})


def test_words_are_told_as_a_share_of_all_that_could_be_said() -> None:
    asked = Asked("x", ["parse door", "nowhere"], ["door parse", "door", "window"])
    shares = by_words(asked)
    assert (shares[0] < 1.0).all()
    assert shares[0, 0] > shares[0, 1] > shares[0, 2] == 0.0
    assert (shares[1] == 0.0).all()
    # What says nothing else, and says it nearly for ever, has nearly all.
    [[most]] = by_words(Asked("x", ["door"], ["door " * 4_000]))
    assert 0.99 < most < 1.0


def test_a_hybrid_follows_the_words_as_far_as_they_are_there() -> None:
    meaning = np.asarray([[0.1, 0.3, 0.2, 0.0]], np.float32)
    few, many = np.asarray([[0.1, 0, 0.05, 0]], np.float32), np.asarray([[0.9, 0, 0, 0]], np.float32)
    assert hybrid(few, meaning)[0].argmax() == 1
    assert hybrid(many, meaning)[0].argmax() == 0
    both = hybrids({"BM25": many, "ours": meaning, HERE: meaning[:, ::-1]})
    assert [name.removesuffix(" and BM25") for name in both] == ["ours", HERE]
    assert both["ours and BM25"][0, :2] == pytest.approx([0.1 + 0.9 * 0.3, 0.3])
    assert both[f"{HERE} and BM25"][0, :2] == pytest.approx([0.9 * 0.3, 0.2])


def test_another_model_is_called_otherwise() -> None:
    one, other = as_file(_learned(), WORDS, {}), as_file(_learned(), WORDS[::-1], {})
    assert name_of(one) != name_of(other)
    assert name_of(one) == name_of(as_file(_learned(), WORDS, {}))


def test_equal_documents_count_against_a_question() -> None:
    similar = np.asarray([[0.9, 0.1, 0.0], [0.5, 0.5, 0.1]])
    found = score(similar)
    assert found.mrr == pytest.approx((1 + 1 / 2) / 2)
    assert found.recall == 1.0
    assert found.ndcg == pytest.approx((1 + 1 / np.log2(3)) / 2)


def test_what_nothing_was_learned_of_counts_as_what_is_before_it() -> None:
    places = np.linspace(2, 1, PLACES, dtype=np.float32)
    lengths = [5] * 2_000 + [300]
    some = Bags(np.zeros(sum(lengths), np.uint16), np.ones(sum(lengths), np.uint8), np.cumsum([0, *lengths]))
    assert carried_on(places, some).tolist() == [*places[:4].tolist(), *[float(places[3])] * (PLACES - 4)]


def _training(pairs: int, languages: int) -> Training:
    empty = bags([""] * pairs, Vocabulary(WORDS))
    kinds = np.full(pairs, KINDS.index("doc"), np.uint8)
    spoken = (np.arange(pairs) * languages // pairs).astype(np.uint8)
    return Training(empty, empty, kinds, spoken, np.arange(0, pairs + 1, 4))


@pytest.mark.parametrize("alike", [0, 10])
def test_what_is_left_of_each_language_makes_batches_of_several(alike: int) -> None:
    training = _training(1_000, languages=3)
    meant = np.random.default_rng(5).normal(size=(1_000, 8)).astype(np.float16)
    every = list(batches(training, Recipe(epochs=1.0, batch=100, of_a_topic=alike), meant))
    assert [len(each) for each in every] == [100] * 10
    assert sorted(np.concatenate(every).tolist()) == list(range(1_000))
    assert sorted(len(np.unique(training.languages[each])) for each in every)[-2:] == [1, 3]


def test_words_are_as_rare_as_few_texts_have_them() -> None:
    made = bags(["parse text text", "parse", "parse door", ""], Vocabulary(WORDS))
    assert usual(made, len(WORDS)) == pytest.approx([math.log(5 / (times + 0.5)) for times in (3, 1, 0, 1, 0, 0)])


@pytest.mark.parametrize("alike", [0, 10])
def test_an_epoch_has_every_pair_once_in_batches_of_one_language(alike: int) -> None:
    training = _training(1_200, languages=3)
    meant = np.random.default_rng(5).normal(size=(1_200, 8)).astype(np.float16)
    every = list(batches(training, Recipe(epochs=1.0, batch=100, of_a_topic=alike), meant))
    assert sorted(np.concatenate(every).tolist()) == list(range(1_200))
    assert {len(np.unique(training.languages[each])) for each in every} == {1}
    again = batches(training, Recipe(epochs=1.0, batch=100, of_a_topic=alike), meant)
    assert all(np.array_equal(one, other) for one, other in zip(every, again, strict=True))


def test_a_batch_is_of_few_topics_where_it_is_known_what_pairs_mean() -> None:
    training = _training(1_600, languages=1)
    topics = np.arange(1_600) // 4 % 16
    meant = np.eye(16, dtype=np.float16)[topics]

    def pairs_of_one_topic(alike: int) -> float:
        recipe = Recipe(epochs=1.0, batch=200, of_a_topic=alike)
        return float(np.mean([np.bincount(topics[each]).max() for each in batches(training, recipe, meant)]))

    assert pairs_of_one_topic(100) > 60 > 40 > pairs_of_one_topic(0)


@pytest.mark.parametrize(("which", "powers"), [("of_questions", (0.5, 1.0)), ("of_documents", (1.0, 0.5))])
def test_softened_words_add_vectors_as_long_as_before_to_a_power(which: str, powers: tuple[float, float]) -> None:
    learned = _learned()._replace(vectors=np.vstack([np.zeros(16, np.float32), _learned().vectors[1:]]))
    soft = softened(learned, *powers)
    lengths = np.linalg.norm(learned.vectors, axis=1)
    before, after = getattr(learned, which) * lengths, getattr(soft, which) * lengths
    assert after[1:] == pytest.approx(np.sqrt(before[1:]), rel=1e-5)
    assert np.isfinite(getattr(soft, which)).all()
    (other,) = {"of_questions", "of_documents"} - {which}
    assert (getattr(soft, other) == getattr(learned, other)).all()
