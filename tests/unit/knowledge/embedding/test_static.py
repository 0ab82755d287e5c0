"""The embedder that is built in."""

from __future__ import annotations

import hashlib
import math
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from sylk_ray.knowledge import tokens
from sylk_ray.knowledge.embedding import EmbedderUnavailable, Rarity, StaticEmbedder, static
from sylk_ray.knowledge.embedding.embedder import Vectors
from sylk_ray.knowledge.embedding.layer import ONE
from sylk_ray.knowledge.embedding.model_file import SHIPPED, TOP, USUAL_UNIT, name_of, open_model, packed
from sylk_ray.knowledge.embedding.places import PLACES, place_of
from sylk_ray.knowledge.embedding.shipped import NAME
from sylk_ray.knowledge.embedding.static import RAREST
from sylk_ray.knowledge.embedding.vocabulary import Vocabulary
from sylk_ray.knowledge.words import identifiers

LARGEST_FILE = 12_000_000


def test_texts_are_unit_vectors_and_nothing_is_zero() -> None:
    rows = StaticEmbedder().embed(["parse the input", "", "!?", "a"])
    assert rows.shape == (4, 256)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1).round(5).tolist() == [1, 0, 0, 1]
    assert StaticEmbedder().embed([]).shape == (0, 256)


def test_what_says_the_same_in_other_words_is_nearer_than_what_does_not() -> None:
    embedder = StaticEmbedder()
    rows = embedder.embed(["def remove_file(path): os.unlink(path)", "def multiply_matrix(a, b): return a @ b"])
    asked = embedder.embed_query("delete a file from disk")
    assert rows[0] @ asked > rows[1] @ asked + 0.1


def test_each_word_of_a_question_is_met_by_the_nearest_one_of_a_text() -> None:
    texts = ["erase(folder)", "remove(directory) and much else that says nothing of it", "matrix", "", "!?"]
    erase, remove, other, empty, marks = StaticEmbedder().counterparts("remove directory", texts).tolist()
    assert remove == pytest.approx(1, abs=1e-5)
    assert remove > erase > other + 0.1
    assert empty == marks == 0
    assert StaticEmbedder().counterparts("?!", texts).tolist() == [0] * 5
    assert StaticEmbedder().counterparts("remove", []).tolist() == []


def test_a_word_counts_for_more_where_it_is_rarer_than_usual() -> None:
    embedder, text = StaticEmbedder(), "remove the worker"
    plain = embedder.embed_query(text)
    remove, worker = (embedder.embed_query(word) for word in ("remove", "worker"))

    def asked(**rarity: float) -> Vectors:
        return embedder.embed_query(text, Rarity(rarity, documents=4_000))

    usual = {word: model_rarity(word) for word in ("remove", "the", "worker")}
    assert asked(**usual) @ plain > 0.9999
    assert asked(**usual | {"worker": 0.05}) @ worker < plain @ worker - 0.2
    assert asked(**usual | {"worker": 0.05}) @ remove > plain @ remove + 0.1
    assert asked(**usual | {"worker": 9.0}) @ worker > plain @ worker
    assert asked(worker=0.05) @ plain < 0.9
    assert embedder.embed_query(text, Rarity({"worker": 0.05}, documents=1)) @ plain > 0.999
    assert np.array_equal(embedder.embed_query(text, Rarity({}, documents=4_000)), plain)
    assert not embedder.embed_query("?!", Rarity({"worker": 0.05}, documents=4_000)).any()


@pytest.mark.parametrize(("documents", "power"), [(300, 0.5625), (100, 0.375), (1_000_000, 0.75)])
def test_what_is_half_as_rare_counts_for_less_where_there_are_more_documents(documents: int, power: float) -> None:
    embedder, model = StaticEmbedder(), open_model()
    rows = np.asarray([model.words.index(word) for word in ("remove", "worker", "text")])
    rarity = Rarity({"remove": model_rarity("remove"), "worker": model_rarity("worker") / 2}, documents)
    counts = embedder._here(rarity, rows)  # noqa: SLF001
    assert counts.tolist() == [RAREST, round(RAREST / 2**power), RAREST]


def test_what_has_no_row_of_its_own_is_as_rare_as_can_be() -> None:
    embedder, text = StaticEmbedder(), "qzxjvv worker"
    rarest = math.log(2 * 4_000 + 2)
    same = embedder.embed_query(text, Rarity({"qzxjvv": rarest, "worker": model_rarity("worker")}, documents=4_000))
    assert same @ embedder.embed_query(text) > 0.9999
    common = embedder.embed_query(text, Rarity({"qzxjvv": 0.1}, documents=4_000))
    assert common @ embedder.embed_query("worker") > same @ embedder.embed_query("worker") + 0.1


def model_rarity(word: str) -> float:
    model = open_model()
    return int(model.usual[model.words.index(word)]) / USUAL_UNIT


def test_what_is_usual_is_that_of_the_stem() -> None:
    assert model_rarity("parse") == model_rarity("parsing") < model_rarity("parenthesis")
    assert model_rarity("return") < 1.5


def test_a_text_has_the_same_vector_whatever_else_is_embedded() -> None:
    one, other = StaticEmbedder(), StaticEmbedder()
    other.embed(["something else entirely", "parse"])
    assert np.array_equal(one.embed(["parse the input"]), other.embed(["parse the input"]))
    batch = one.embed(["x y z", "parse the input"])
    assert np.array_equal(batch[1], one.embed(["parse the input"])[0])


def test_many_texts_have_the_vectors_that_each_has_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "TOGETHER", 7)
    monkeypatch.setattr(static, "SUMMED", 3)
    monkeypatch.setattr(static, "MOST", 40)
    texts = [SHIPPED.with_name(name).read_text() for name in ("static.py", "vocabulary.py", "places.py")]
    texts = [text[at : at + 30 * at % 900] for text in texts for at in range(0, 1_500, 60)] + ["", "Größe—x"]
    embedder = StaticEmbedder()
    assert np.array_equal(embedder.embed(texts), np.stack([plainly(text) for text in texts]))


def plainly(text: str) -> Vectors:
    """One text after the definition, in Python's whole numbers."""
    model, vocabulary = open_model(), Vocabulary(open_model().words)
    counts = Counter(row for identifier in identifiers(text) for row in vocabulary.rows_of(identifier))
    weights = {
        row: int(model.of_documents[row])
        * math.isqrt(math.isqrt(min(times, 4096) << 32))
        * int(model.places[place_of(place)])
        for place, (row, times) in enumerate(list(counts.items())[: static.MOST])
    }
    total = max(sum(weights.values()), 1)
    summed = sum((weight * (1 << 17) // total * model.vectors[row].astype(int) for row, weight in weights.items()), 0)
    return plainly_seen(plainly_unit(np.zeros(256, int) + summed))


def plainly_unit(row: npt.NDArray[np.int64]) -> Vectors:
    return (row / (np.sqrt(float(row @ row)) or 1)).astype(np.float32)


def plainly_seen(row: Vectors) -> Vectors:
    """A vector through the layer, in the same way."""
    if not row.any():
        return row
    model = open_model()
    shift, gain = model.scales.tolist()
    whole = np.asarray([round(float(number) * ONE) for number in row])
    sums = model.inner.astype(int) @ whole + model.bias
    said = np.asarray([min(max(round(int(each) / 2**shift), 0), TOP) for each in sums])
    return plainly_unit(model.outer.astype(int) @ said + whole * gain)


def test_it_gives_the_same_numbers_everywhere_to_the_last_bit() -> None:
    embedder = StaticEmbedder()
    rows = np.concatenate([embedder.embed(TEXTS), [embedder.embed_query(text) for text in TEXTS]])
    assert hashlib.sha256(rows.astype("<f4").tobytes()).hexdigest() == GOLDEN


TEXTS = [
    "golden vector of the parser",
    "def parseHTTPRequest_v2(raw: bytes) -> Request:\n    return Request.from_bytes(raw)",
    "unforeseenword qzxj 123456 Größe 読む",
    " ".join(f"word{number}" for number in range(5000)),
]
GOLDEN = "873a3008433ac42889505ac7cfcfb9038536e484be8bee42a47cf6f78ce335cf"


def test_no_sum_leaves_what_float32_is_exact_for() -> None:
    words = open_model().words[:6000]
    long = [" ".join(words), " ".join(reversed(words)), " ".join([*words, *words[:3000]])]
    assert np.array_equal(StaticEmbedder().embed(long), np.stack([plainly(text) for text in long]))


def test_no_sum_of_the_layer_leaves_it_either() -> None:
    """However a vector lies: its length times a row's, and as many units as there are saying as much as they can."""
    model = open_model()
    inner, outer = (np.linalg.norm(table.astype(float), axis=1).max() for table in (model.inner, model.outer))
    assert (ONE + 16) * inner + np.abs(model.bias).max() < 2**24
    assert TOP * len(model.bias) ** 0.5 * outer < 2**24
    assert (ONE + 16) * int(model.scales[1]) < 2**31


def test_the_layers_units_speak_without_reaching_their_top() -> None:
    """Of each word alone, which is as far from others as a vector can be."""
    model = open_model()
    words = model.vectors.astype(np.float32)
    sums = words / np.linalg.norm(words, axis=1, keepdims=True) * ONE @ model.inner.T.astype(np.float32) + model.bias
    said = sums / 2.0 ** int(model.scales[0])
    assert np.mean(said > TOP) < 0.001
    assert np.quantile(said.max(axis=0), 0.1) > TOP / 8


def test_the_name_is_that_of_the_file() -> None:
    raw = SHIPPED.read_bytes()
    assert StaticEmbedder().name == StaticEmbedder(SHIPPED).name == NAME == name_of(raw)
    assert len(raw) <= LARGEST_FILE


def test_the_file_is_whole() -> None:
    model = open_model()
    words = model.words
    assert model.vectors.shape == (len(words), 256)
    assert len(model.of_questions) == len(model.of_documents) == len(set(words)) == len(words)
    assert model.places.shape == model.places_asked.shape == (PLACES,)
    units = len(model.bias)
    assert (model.inner.shape, model.outer.shape, model.scales.shape) == ((units, 256), (256, units), (2,))
    weights = (model.of_questions, model.of_documents, model.places_asked, model.places, model.usual)
    assert min(int(each.min()) for each in weights) > 0


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


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"none\.safetensors") as caught:
        StaticEmbedder(tmp_path / "none.safetensors").embed(["x"])
    assert "Install" in caught.value.hint
    with pytest.raises(EmbedderUnavailable):
        print(StaticEmbedder(tmp_path / "none.safetensors").name)


@pytest.mark.parametrize(
    "content", [b"", b"\x02\0\0\0\0\0\0\0{}", b"\xff" * 100, b"\x10\x27\0\0\0\0\0\0" + b"[" * 10_000]
)
def test_a_damaged_file_is_an_embedder_that_is_not_there(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "damaged").write_bytes(content)
    with pytest.raises(EmbedderUnavailable):
        StaticEmbedder(tmp_path / "damaged").embed_query("x")


@pytest.mark.parametrize(
    "wrong",
    [
        {"scales": np.zeros(3, np.int32)},
        {"scales": np.asarray([-2000, 1], np.int32)},
        {"scales": np.asarray([11, 2**31 - 1], np.int32)},
        {"inner": np.zeros((2, 5), np.int8)},
        {"inner": np.ones((2, 4), np.int32)},
        {"outer": np.ones((4, 2), np.int32)},
        {"vectors": np.ones((2, 4), np.uint8)},
        {"outer": np.zeros((2, 4), np.int8)},
        {"bias": np.zeros(3, np.int32)},
        {"bias": np.asarray([0, -(2**31)], np.int32)},
        {"vectors": np.zeros(4, np.int8)},
        {"places": np.ones(1, np.int32)},
        {"places_asked": np.ones(1, np.int32)},
        {"usual": np.ones(3, np.uint8)},
        {"questions": np.asarray([1, 2**23], np.int32)},
        {"documents": np.asarray([-5, 9], np.int32)},
        {"places_asked": np.full(PLACES, 257, np.int32)},
        {"words": np.frombuffer(b"a", np.uint8)},
        {"words": np.frombuffer(b"a\n\xff", np.uint8)},
    ],
    ids=str,
)
def test_so_is_one_whose_parts_do_not_fit(tmp_path: Path, wrong: dict[str, npt.NDArray[np.int32]]) -> None:
    small: dict[str, npt.NDArray[np.generic]] = {
        "vectors": np.ones((2, 4), np.int8),
        "questions": np.ones(2, np.int32),
        "documents": np.ones(2, np.int32),
        "usual": np.ones(2, np.uint8),
        "places": np.ones(PLACES, np.int32),
        "places_asked": np.ones(PLACES, np.int32),
        "inner": np.ones((2, 4), np.int8),
        "bias": np.zeros(2, np.int32),
        "outer": np.ones((4, 2), np.int8),
        "scales": np.asarray([1, 1], np.int32),
        "words": np.frombuffer(b"a\nb", np.uint8),
    }
    (tmp_path / "well").write_bytes(packed(small, {}))
    well = StaticEmbedder(tmp_path / "well")
    assert well.embed_query("a").shape == (well.dimensions,) == (4,)
    assert well.name.startswith("sylk-code-4/")
    (tmp_path / "damaged").write_bytes(packed(small | wrong, {}))
    with pytest.raises(EmbedderUnavailable, match="cannot be read"):
        StaticEmbedder(tmp_path / "damaged").embed_query("a")


def test_unknown_words_are_cut_into_the_likeliest_known_ones() -> None:
    vocabulary = Vocabulary(["the", "under", "score", "und", "er", "s", "u"])
    assert [vocabulary.words[row] for row in vocabulary.rows_of_word("underscore")] == ["under", "score"]
    assert [vocabulary.words[row] for row in vocabulary.rows_of("under_theUnders")] == ["under", "the", "under", "s"]
    assert list(vocabulary.rows_of_word("!?")) == []
    assert [vocabulary.words[row] for row in vocabulary.rows_of_word("s!u")] == ["s", "u"]


def test_places_are_told_apart_by_powers_of_two() -> None:
    assert [place_of(number) for number in (0, 1, 2, 3, 4, 7, 8, 10**6)] == [0, 1, 2, 2, 3, 3, 4, PLACES - 1]
