"""How well free text is understood that the rules were not tuned on. Do not tune on what fails here."""

from __future__ import annotations

from tests.unit.routing.labelled import score, utterances


def test_the_labelled_set_is_large_and_a_third_of_it_is_held_out():
    tuned, held_out = utterances(held_out=False), utterances(held_out=True)
    assert len(tuned) + len(held_out) >= 450
    assert abs(len(held_out) / (len(tuned) + len(held_out)) - 1 / 3) < 0.01
    assert {each.target for each in held_out} == {each.target for each in tuned}
    assert len({each.text for each in tuned + held_out}) == len(tuned) + len(held_out)


def test_the_target_of_held_out_texts_is_found():
    assert score(utterances(held_out=True)).target >= 0.92


def test_the_intent_of_held_out_texts_is_found():
    assert score(utterances(held_out=True)).intent >= 0.88


def test_held_out_paraphrases_fold_to_one_subject():
    assert score(utterances(held_out=True)).paraphrase >= 0.85


def test_what_is_confident_is_nearly_always_right():
    assert score(utterances(held_out=True)).confident_right >= 0.9


def test_texts_that_the_rules_are_tuned_on_are_understood_better():
    tuned = score(utterances(held_out=False))
    assert tuned.target >= 0.97
    assert tuned.intent >= 0.97
    assert tuned.paraphrase >= 0.97
