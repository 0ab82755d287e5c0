"""What is measured with, and how."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sylk_ray.codebase.reading import read
from training.embedder import library
from training.embedder.library import body_of
from training.embedder.measuring import QUESTIONS, asked_about, score, standard_library
from training.embedder.pairs import Pair, pairs_of
from training.embedder.preparing import Once

FUNCTION = '''def {name}(path):
    """{said}"""
    with open(path) as file:
        lines = file.readlines()
    return [line.strip() for line in lines]


'''


def test_of_a_language_each_definition_is_there_once_and_without_its_documentation() -> None:
    commented = FUNCTION.replace("    with", "    # A person may have gone away in the meantime.\n    with")
    said = [f"Read the lines of a file number {number} and strip them." for number in range(QUESTIONS // 2)]
    code = "".join(commented.format(name=f"read{number}", said=each) for number, each in enumerate(said))
    code += (
        "def undocumented(path):\n    # Whoever comes back looks for the rest of it.\n    a = 1\n    return a + path\n"
    )
    asked = asked_about("python", list(pairs_of(read("reading.py", code), code)))
    assert asked is not None
    assert len(asked.questions) == len(said)
    assert [document for document in asked.documents if "strip them" in document] == []
    assert len({document.partition("\n")[0] for document in asked.documents}) == len(asked.documents) == len(said) + 1
    assert asked_about("python", []) is None


def test_of_a_library_first_sentences_are_asked_for_code_without_them(tmp_path: Path) -> None:
    said = [f"Read the lines of a file number {number} and strip them." for number in range(6)]
    whole = "".join(FUNCTION.format(name=f"read{number}", said=each) for number, each in enumerate(said))
    (tmp_path / "reading.py").write_text(whole)
    for place in ("test", "site-packages/other"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "more.py").write_text(
            FUNCTION.format(name="other", said="Something that is another's work.")
        )
    asked = standard_library(tmp_path, questions=4, documents=5)
    assert len(asked.questions) == 4
    assert len(asked.documents) == 5
    assert {each.rstrip(".") for each in asked.questions} <= {each.rstrip(".") for each in said}
    for question, document in zip(asked.questions, asked.documents, strict=False):
        number = next(number for number, each in enumerate(said) if each.startswith(question.rstrip(".")))
        assert f"def read{number}(" in document
        assert "strip them" not in document


def test_what_others_have_copied_of_a_library_is_not_learned_from(tmp_path: Path) -> None:
    (tmp_path / "reading.py").write_text(FUNCTION.format(name="read", said="Read the lines of a file and strip them."))
    said = library.said(tmp_path)
    [own] = [pair for pair in library.pairs(tmp_path) if pair.kind == "doc"]
    code = own.document.split("\n", 2)[2]
    once = Once(said)
    assert not once.keeps(own)
    assert not once.keeps(Pair("doc", "read the  lines of a file and strip them", "x\ny\ndef x():", "y", "python"))
    assert not once.keeps(Pair("doc", "Read something", f"read\nvendored.py\n  {code}", "vendored.py", "python"))
    assert once.keeps(Pair("doc", "Read something", f"read\nanother.py\n{code}    # and more", "another.py", "python"))
    gloss = Pair("gloss", "the act of opening", "open", "", "english")
    assert Once(said._replace(bodies=said.bodies | {body_of(gloss)})).keeps(gloss)
    assert Once().keeps(own)


def test_an_order_is_as_good_as_the_places_of_the_answers() -> None:
    found = score(np.asarray([[0.9, 0.1, 0.2], [0.5, 0.4, 0.1], [0.3, 0.3, 0.3]]))
    assert np.allclose(found.mrr, (1 + 1 / 2 + 1 / 3) / 3)
    assert found.recall == 1
    assert np.allclose(found.ndcg, (1 + 1 / np.log2(3) + 1 / np.log2(4)) / 3)
