"""What is measured with, and how."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sylk_ray.codebase.reading import read
from training.embedder import library
from training.embedder.library import body_of
from training.embedder.measuring import QUESTIONS, Asked, asked_about, score, standard_library
from training.embedder.pairs import Pair, pairs_of
from training.embedder.preparing import Once

FUNCTION = '''def {name}(path):
    """{said}"""
    with open(path) as file:
        lines = file.readlines()
    return [line.strip() for line in lines]


'''


def documented(names: Sequence[str]) -> str:
    commented = FUNCTION.replace("    with", "    # A person may have gone away in the meantime.\n    with")
    return "".join(commented.format(name=name, said=f"Read the lines of what {name} has.") for name in names)


def asked_of(*codes: str) -> Asked | None:
    files = [(f"reading{number}.py", code) for number, code in enumerate(codes)]
    return asked_about("python", [pair for path, code in files for pair in pairs_of(read(path, code), code)])


NAMES = [f"letter{number}" for number in range(QUESTIONS // 2)]


def test_of_a_language_no_document_has_a_sentence_that_is_asked_with() -> None:
    marked = documented(["marked"]).replace('has."""', 'has."""  # noqa: D401')
    again = '''def copied(path):
    # Nobody knows any more where this is from.
    said = """Read the lines
        of what letter7 has."""
    return path + said
'''
    asked = asked_of(documented(NAMES), marked, again)
    assert asked is not None
    assert len(asked.questions) == len(NAMES)
    assert set(asked.questions) == {f"Read the lines of what {name} has" for name in NAMES}
    assert [document for document in asked.documents if "letter7 has" in document] == []
    assert sum(document.startswith("marked\n") for document in asked.documents) == 1


def test_of_a_language_a_definition_without_documentation_is_there_once() -> None:
    own = """class Shelf:
    def bare(self, path):
        # Whoever comes back looks for the rest of it.
        a = 1

        # And goes away again when there is none.
        return a + path
"""
    asked = asked_of(documented(NAMES), own, own)
    assert asked is not None
    assert sum("def bare" in document for document in asked.documents) == 2
    assert len(asked.documents) == len(NAMES) + 2


def test_a_language_with_few_questions_is_not_asked_about() -> None:
    assert asked_of(documented(NAMES[1:])) is None
    assert asked_of() is None


def test_of_a_library_first_sentences_are_asked_for_code_without_them(tmp_path: Path) -> None:
    said = [f"Read the lines of a file number {number} and strip them." for number in range(6)]
    whole = "".join(FUNCTION.format(name=f"read{number}", said=each) for number, each in enumerate(said))
    (tmp_path / "reading.py").write_text(whole)
    for place in ("test", "site-packages/other"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "more.py").write_text(
            FUNCTION.format(name="other", said="Something that is another's work.")
        )
    asked = standard_library(tmp_path, documents=5)
    assert len(asked.questions) == len(asked.documents) == 5
    assert {each.rstrip(".") for each in asked.questions} <= {each.rstrip(".") for each in said}
    for question, document in zip(asked.questions, asked.documents, strict=True):
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
