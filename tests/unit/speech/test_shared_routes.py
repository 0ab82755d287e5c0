"""What sessions know of each other's routes: whom such a text is for, and no more."""

from __future__ import annotations

from sylk_ray.routing import Intent, Route
from sylk_ray.speech.registry import KnownRoutes, key_of, shareable

TEXT = "how is the job of hunter2 going?"


def test_a_route_is_shared_without_what_it_is_about():
    known = Route(target="orchestrator", subject="hunter2", confidence=0.9, reasons=("it speaks of hunter2",))
    shared = shareable(known)
    assert shared is not None
    assert (shared.target, shared.confidence) == ("orchestrator", 0.9)
    assert "hunter2" not in repr(shared) + key_of(TEXT)


def test_a_route_whose_agent_must_know_what_it_is_about_is_not_shared():
    assert shareable(Route(target="librarian", intent=Intent.LOCATE, subject="auth", confidence=0.9)) is None


def test_the_same_text_is_found_with_other_spaces_and_another_is_not():
    routes = KnownRoutes()
    assert routes.peek(TEXT) is None
    routes.replace({key_of(TEXT): Route(target="orchestrator", confidence=0.9)})
    assert routes.peek(f"  {TEXT.replace(' ', '  ')}\n") == Route(target="orchestrator", confidence=0.9)
    assert routes.peek(TEXT.upper()) is None


async def test_a_session_takes_a_shared_route_where_it_has_none_of_its_own(talk):
    await talk.say(TEXT)
    assert not (await talk.say("hmm, well")).cached
    routes = KnownRoutes()
    routes.replace({key_of("hmm, well"): Route(target="tester", confidence=0.9)})
    talk.cache._shared = routes
    said = await talk.say("hmm, well")
    assert (said.cached, said.answers[0].agent) == (True, "tester")
    assert talk.cache.statistics().fallback_hits == 1
